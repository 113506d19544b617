//! Reasons why the time slots of an experiment prove nothing.

use run::{Effect, Proof};

use crate::Facts;
use crate::context::single::failed_share;
use crate::in_flight::upstreams;
use crate::number::percent;
use crate::prove::steadiness::doubt;
use crate::prove::utilization::load_of;
use crate::prove::{parts, words};
use crate::thresholds::{ASTRAY, EXCESS, MOST_FAIL, WORKS};

/// Returns the failed share of the experiment's requests, if most of them failed. The time slots count answers of any
/// status, so they show how fast the server fails.
fn mostly_failed(facts: &Facts<'_>, proof: &Proof) -> Option<f64> {
    let loads = proof.trials.iter().filter_map(|trial| load_of(facts, trial));
    loads.filter_map(failed_share).reduce(f64::max).filter(|failed| *failed > MOST_FAIL)
}

/// Returns the reason why the time slots of the experiment prove nothing, if any.
pub(super) fn doubts(facts: &Facts<'_>, proof: &Proof, effects: &[Effect]) -> Option<String> {
    if let Some(failed) = mostly_failed(facts, proof) {
        let share = percent(failed);
        return Some(format!(
            "{share} of the requests of the experiment failed, so its throughput is that of failures"
        ));
    }
    if proof.remainder.is_some_and(|remainder| remainder.high < -EXCESS) {
        return Some(words::dependent_sentence(proof));
    }
    if let Some(lever) = slows_more(facts, proof) {
        return Some(words::slows_upstream_sentence(lever));
    }
    proof.steadiness.as_ref().and_then(|steadiness| doubt(steadiness, parts::least_dose(proof, effects)))
}

/// Returns a lever that probably also slowed an upstream on the server's machine, if any. The utilization of a lever's
/// resource is normally an upper bound of the elasticity. If a lever also slows an upstream, the elasticity exceeds the
/// utilization of the lever's resource by more than the model's error. The lever on the upstream that the server waits
/// for slows this upstream on purpose, so only another upstream counts.
pub(super) fn slows_more<'a>(facts: &Facts<'_>, proof: &'a Proof) -> Option<&'a str> {
    let trial = run::ProofTrial::of_speeds(&proof.trials)?;
    let working = || facts.upstreams.iter().filter(|load| load.cpu_used.is_some_and(|used| used >= WORKS));
    let slowed = upstreams::waits_for(facts).unwrap_or_default();
    let may_slow = |lever: &str| match lever {
        "behind-cpu" => working().any(|load| !upstreams::is_named(&slowed, &load.behind)),
        _ => working().next().is_some(),
    };
    let more = |part: &&run::Elasticity| {
        let wanted = trial.lever(&part.lever).and_then(|lever| lever.wanted);
        may_slow(&part.lever)
            && part.basis.is_measured()
            && wanted.is_some_and(|wanted| part.estimate.low > wanted + ASTRAY)
    };
    proof.parts().find(more).map(|part| part.lever.as_str())
}

#[cfg(test)]
mod tests {
    use run::ProofOutcome;

    use crate::planted::proofs::{full, slots, tried_on, verdict};

    /// This test repeats a situation that was observed with nginx, which answers 502 if its upstream takes no more
    /// requests. At the experiment's load, 98 % of the answers had status 502, and cost only CPU time. Throughput
    /// followed the speed of the CPU, although the good answers did not.
    #[test]
    fn an_experiment_whose_requests_fail_finds_no_cause() {
        let with = |failed: f64| {
            let mut run = full();
            let mut load = run.trials[run.trials.len() - 1].clone();
            (load.kind, load.label) = (run::TrialKind::Proof, "proof".into());
            let tally = &mut load.measured.tally;
            tally.unexpected_status = (tally.completed as f64 * failed) as u64;
            run.trials.push(load);
            tried_on(run, verdict("unknown", 0.0), |proof, _| {
                let trial = slots("server-cpu", 0.95, 0.02);
                proof.trials.push(run::ProofTrial { label: "proof".into(), ..trial });
            })
        };
        let (proof, after) = with(0.98);
        assert_eq!((proof.outcome, after.id.as_str()), (ProofOutcome::Inconclusive, "unknown"), "{}", proof.why);
        assert!(proof.why.contains("98 % of the requests of the experiment failed"), "{}", proof.why);
        assert_ne!(with(0.0).1.id, "unknown");
    }
}
