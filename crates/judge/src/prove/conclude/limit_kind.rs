//! Kind of the limit that the levers show, compared with the kind that the verdict names. Examples of kinds are a lack
//! of CPUs, serial work, a limit for each address, and a full disk.

use run::{Bottleneck, Proof, ProofTrial, SOURCES_LEVER};

use crate::Facts;
use crate::in_flight::delayed::delayed_answers;
use crate::prove::cpu_limit::CpuSigns;
use crate::prove::decision_inputs::Kind;
use crate::thresholds::ASTRAY;

/// Describes the sign of a limit that delays answers, if the verdict names workers. Unread requests do not distinguish
/// this limit from a lack of workers, because a server that limits its rate may also stop reading.
pub(super) fn may_be_a_limit(facts: &Facts<'_>, verdict: &Bottleneck) -> Option<String> {
    delayed_answers(facts).filter(|_| verdict.id == "server-concurrency").map(|delayed| delayed.text)
}

/// Compares the verdict with the measured kind of limit. The lever `server-cpu` shows a kind of CPU limit. The lever of
/// more source addresses shows a limit for each address. The kind of this limit is open if the server may choose an
/// upstream by the address. If the lever on the disk shows that the disk could do more work, it is open whether a
/// faster disk helps. With any other lever, the verdict counts as agreeing.
pub(super) fn kind(
    (facts, proof): (&Facts<'_>, &Proof),
    lever: Option<&str>,
    signs: Option<&CpuSigns>,
    verdict: &Bottleneck,
) -> Kind {
    match lever {
        Some("server-cpu") => {}
        Some(SOURCES_LEVER) if may_have_affinity(facts) => return Kind::Open,
        Some("disk") if work_of_room(proof, "disk").is_some() => return Kind::Open,
        _ => return Kind::Agrees,
    }
    match signs.and_then(|signs| signs.limit().bottleneck()) {
        None => Kind::CountOpen,
        Some(found) if found == (verdict.id.as_str(), true) && signs.is_some_and(CpuSigns::lacks_count) => {
            Kind::ByCounters
        }
        Some((id, serial)) if id == verdict.id && serial == verdict.serial => Kind::Agrees,
        Some(_) => Kind::Differs,
    }
}

/// Returns how much more work the resource of a lever did while the lever was on, as a factor. Returns `None` unless
/// the factor exceeds 1 by more than the model's error. A full resource does no more work with a lever than without it.
pub(super) fn work_of_room(proof: &Proof, lever: &str) -> Option<f64> {
    let trial = ProofTrial::of_lever(&proof.trials, lever)?;
    trial.lever(lever)?.work.filter(|work| *work > 1.0 + ASTRAY)
}

/// Returns true if the server has upstreams, and its refusals do not name a rate limit. More source addresses then
/// raise throughput also if the server chooses one of its upstreams by the address (session affinity).
fn may_have_affinity(facts: &Facts<'_>) -> bool {
    let has_upstreams = facts.server().is_none_or(|view| !view.side.behind.is_empty());
    has_upstreams && !facts.refusals.is_named
}

#[cfg(test)]
mod tests {
    use run::ProofOutcome;

    use crate::planted::proofs::{full, in_turns_on, slots, tried_on, unread, verdict};

    /// HAProxy with `balance source` refuses requests of an address if the backend for this address has no space for
    /// them. A second address uses a second backend, so throughput doubles, as with a limit for each address.
    #[test]
    fn a_second_address_that_helps_a_proxy_may_reach_another_upstream() {
        let with = |is_proxy: bool| {
            let mut run = unread(1.5);
            let upstream = || run::Upstream { address: "10.0.0.8:8000".into(), depth: 1, ..Default::default() };
            let sides = run.trials.iter_mut().filter_map(|trial| trial.server.as_mut()).filter(|_| is_proxy);
            sides.for_each(|side| side.behind.push(upstream()));
            in_turns_on(run, "server-rate-limit", 2.0).0
        };
        let (proxy, one) = (with(true), with(false));
        assert_eq!(proxy.outcome, ProofOutcome::Inconclusive, "{}", proxy.why);
        assert!(proxy.why.contains("session affinity"), "{}", proxy.why);
        assert_eq!(one.outcome, ProofOutcome::Proven, "{}", one.why);
    }

    /// An SSD can serve 32 requests at the same time. Four workers keep the SSD busy all the time, but do not fill it,
    /// so it also serves the lever's requests. An earlier version of loadline wrongly took the effect of the lever as
    /// proof that the disk is the limit.
    #[test]
    fn a_disk_that_does_more_work_with_the_lever_had_room() {
        let with = |work: Option<f64>| {
            tried_on(full(), verdict("server-disk", 0.9), |proof, lever| {
                let mut trial = slots(lever, 1.0, 0.01);
                trial.levers.iter_mut().filter(|slots| slots.lever == lever).for_each(|slots| slots.work = work);
                proof.trials.push(trial);
            })
            .0
        };
        let (room, full, unknown) = (with(Some(1.6)), with(Some(0.9)), with(None));
        assert_eq!(room.outcome, ProofOutcome::Inconclusive, "{}", room.why);
        assert!(room.why.contains("it had room"), "{}", room.why);
        assert_eq!((full.outcome, unknown.outcome), (ProofOutcome::Proven, ProofOutcome::Proven), "{}", full.why);
    }
}
