//! Causes of waiting that an experiment refuted.

use run::{Proof, WaitCause, WaitFinding};

use crate::Facts;
use crate::context::view::names;
use crate::thresholds::UNWANTED;

/// Leaves out computing threads of the server if slowing the server's CPU hardly changed throughput. No request waits
/// for these threads, because they poll, or do other work. Keeps causes that name commands of a database, because
/// slowing the server's CPU does not slow the database.
pub(crate) fn without_refuted(
    findings: Vec<WaitFinding>,
    facts: &Facts<'_>,
    proof: Option<&Proof>,
) -> Vec<WaitFinding> {
    let is_refuted = proof.is_some_and(|proof| {
        let server_cpu = proof.elasticities.iter().find(|elasticity| elasticity.lever == "server-cpu");
        server_cpu.is_some_and(|e| e.basis.is_measured() && e.estimate.high <= UNWANTED)
    });
    let own = facts.server().filter(|_| is_refuted).map_or(&[][..], |view| view.side.processes.as_slice());
    let is_own = |finding: &WaitFinding| own.iter().any(|name| names(&finding.process, name));
    let polls =
        |finding: &WaitFinding| finding.cause == WaitCause::SerialCpu && finding.session.is_none() && is_own(finding);
    findings.into_iter().filter(|finding| !polls(finding)).collect()
}

#[cfg(test)]
mod tests {
    use run::{Elasticity, ElasticityBasis, Estimate, SessionState};

    use super::*;
    use crate::planted::PlantedRun;

    /// The figures of this test come from a server that polls all the time, and answers 6 requests every 10 ms.
    #[test]
    fn a_computing_thread_is_no_cause_if_slowing_its_cpu_changes_nothing() {
        let run = PlantedRun::new(10_000.0, 600.0).run();
        let left = |process: &str, session: Option<SessionState>, high: f64, basis: ElasticityBasis| {
            let estimate = Estimate { value: -0.05, low: -0.19, high };
            let e = Elasticity { lever: "server-cpu".into(), host: String::new(), estimate, basis };
            let proof = Proof { elasticities: vec![e], ..Proof::default() };
            let cause = WaitCause::SerialCpu;
            let finding = WaitFinding { cause, process: process.into(), session, ..WaitFinding::default() };
            without_refuted(vec![finding], &Facts::of(&run), Some(&proof)).len()
        };
        let measured = ElasticityBasis::Measured;
        assert_eq!(left("srv:100", None, 0.08, measured), 0);
        assert_eq!(left("srv:100", None, 0.4, measured), 1, "the CPU may matter");
        assert_eq!(left("srv:100", None, 0.08, ElasticityBasis::Wanted), 1, "a bound by the use of the CPU");
        assert_eq!(left("redis:7", Some(SessionState::Running), 0.08, measured), 1, "another process");
    }
}
