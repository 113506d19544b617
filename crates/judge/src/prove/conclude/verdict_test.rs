//! Comparison of the levers' effects with the verdict, and with other resources that may be the limit. A lever is a
//! temporary change that an experiment makes, such as slowing a CPU.

use run::{Bottleneck, Effect, LOAD_LEVER, Proof, ProofTrial, SOURCES_LEVER};

use super::own_turns::{OwnTurns, suspect};
use crate::Facts;
use crate::context::single::failed_share;
use crate::in_flight::delayed::delayed_answers;
use crate::in_flight::upstreams;
use crate::number::percent;
use crate::prove::cpu_limit::{CpuLimit, CpuSigns};
use crate::prove::decision::{Kind, MoreLoad, Own, Rival, Saturation, Subject};
use crate::prove::parts::{self, largest, part_of};
use crate::prove::saturated;
use crate::prove::steadiness::doubt;
use crate::prove::suspects::{Suspect, bottleneck_of, ids_of};
use crate::prove::turns::{PredictionCheck, check};
use crate::prove::utilization::load_of;
use crate::prove::watched::WatchedShare;
use crate::prove::words;
use crate::rules::{RULES, Tier};
use crate::thresholds::{ASTRAY, EXCESS, EXCLUDED, MOST_FAIL, WORKS};

/// Returns true if the effect of the verdict's lever was predicted. If the lever was tested in turns, its effect must
/// not exceed the prediction by far. If the verdict is that the load is too small, the effect of a larger load must
/// confirm the prediction.
pub(super) fn is_predicted(proof: &Proof, lever: Option<&str>, verdict: &Bottleneck, turns: Option<&OwnTurns>) -> bool {
    if subject(verdict) != Subject::Load {
        let exceeded = turns.is_some_and(|turns| turns.check == PredictionCheck::Exceeded);
        return !exceeded && proof.prediction.as_ref().is_some_and(|p| Some(p.lever.as_str()) == lever);
    }
    let predicted = proof.predictions.iter().rfind(|predicted| predicted.lever == LOAD_LEVER);
    let both = proof.effect(LOAD_LEVER).zip(predicted);
    both.is_some_and(|(effect, predicted)| check(effect, predicted.ratio) == PredictionCheck::Confirmed)
}

/// Describes the sign of a limit that delays answers, if the verdict names workers. Unread requests do not distinguish
/// this limit from a lack of workers, because a server that limits its rate may also stop reading.
pub(super) fn may_be_a_limit(facts: &Facts<'_>, verdict: &Bottleneck) -> Option<String> {
    delayed_answers(facts).filter(|_| verdict.id == "server-concurrency").map(|delayed| delayed.text)
}

/// Returns the subject of a verdict: a cause, the load, or nothing known.
pub(super) fn subject(verdict: &Bottleneck) -> Subject {
    match verdict.id.as_str() {
        "unknown" => Subject::Unknown,
        "not-saturated" => Subject::Load,
        _ => Subject::Cause,
    }
}

/// Returns true if the verdict's rule recognizes a specific cause by signs of this cause.
pub(super) fn names_a_cause(verdict: &Bottleneck) -> bool {
    RULES.iter().any(|rule| rule.id == verdict.id && rule.tier < Tier::LeftOver)
}

/// Classifies the effect of the verdict's lever (which slows the resource that the verdict names). `watched` is the
/// watched server's share of the requests.
pub(super) fn own(
    proof: &Proof,
    effects: &[Effect],
    verdict: &Bottleneck,
    turns: Option<&OwnTurns>,
    watched: WatchedShare,
) -> Own {
    let Some(suspect) = suspect(proof, verdict) else { return Own::NoLever };
    match turns.map(|turns| turns.check) {
        Some(PredictionCheck::Confirmed | PredictionCheck::Exceeded) => return Own::Follows,
        Some(PredictionCheck::Refuted) if suspect.refutes => return Own::Small,
        Some(PredictionCheck::Refuted) => return Own::NoLever,
        Some(PredictionCheck::Open) => return Own::Partly,
        None => {}
    }
    let Some(part) = part_of(proof, suspect.lever) else { return Own::Unused };
    let is_largest = largest(proof).as_deref() == Some(suspect.lever);
    match part.basis {
        run::ElasticityBasis::Open => Own::Slack,
        _ if part.estimate.high < EXCLUDED => Own::Small,
        _ if !is_largest => Own::Partly,
        _ if is_as_predicted(effects, suspect.lever, watched) => Own::Follows,
        _ => Own::Astray,
    }
}

/// Decides whether the resource that throughput depends on is full: shown, refuted by a larger load, or open. The
/// examined resource is that of the verdict's lever if throughput follows this lever, or if there is no rival. If there
/// is a rival and throughput does not follow the verdict's lever, the examined resource is that of the lever `rival`. A
/// verdict that needs no full resource always gives `Shown`.
pub(super) fn saturation(
    facts: &Facts<'_>,
    suspect: Option<&Suspect>,
    (own, rival): (Own, Option<&str>),
    more_load: MoreLoad,
) -> Saturation {
    let suspect = suspect.filter(|_| own == Own::Follows || rival.is_none());
    let lever = suspect.map(|suspect| suspect.lever).or(rival);
    match more_load {
        _ if suspect.is_some_and(|suspect| !suspect.needs_saturation) => Saturation::Shown,
        MoreLoad::Raised => Saturation::Refuted,
        MoreLoad::Unchanged => Saturation::Shown,
        _ if lever.is_none_or(|lever| saturated::is_seen(facts, lever)) => Saturation::Shown,
        _ => Saturation::Open,
    }
}

/// Returns true if the measured throughput agrees with the prediction. The interval of the measured throughput must
/// contain the prediction, or miss the prediction by at most the model's error. The interval of the measured change
/// must also exclude "no effect". For a lever on the watched server, the throughput of this server counts.
pub(super) fn is_as_predicted(effects: &[Effect], lever: &str, watched: WatchedShare) -> bool {
    let Some(effect) = parts::effect_of(effects, lever) else { return false };
    agrees(&watched.own(effect), 1.0 - effect.dose)
}

/// Returns true if the measured interval contains the `expected` ratio, up to the model's error, and excludes "no
/// effect".
fn agrees(measured: &Effect, expected: f64) -> bool {
    let nearest = expected.max(measured.low).min(measured.high);
    (nearest - expected).abs() <= ASTRAY && measured.high < 1.0
}

/// Returns true if the measurement confirms a prediction of the effect of the rival's lever. The prediction was made
/// before the experiment, for the verdict or for the next bottleneck. The measurement confirms the prediction if the
/// measured interval contains it, up to the model's error.
pub(super) fn is_rival_predicted(proof: &Proof, effects: &[Effect], rival: Option<&str>) -> bool {
    let of_next = proof.runner_up.as_ref().map(|next| &next.prediction);
    let predicted = proof.prediction.iter().chain(of_next).find(|effect| Some(effect.lever.as_str()) == rival);
    let measured = rival.and_then(|lever| parts::effect_of(effects, lever));
    predicted.zip(measured).is_some_and(|(predicted, measured)| agrees(measured, predicted.ratio))
}

/// Compares the verdict with the measured kind of limit. The lever `server-cpu` shows a kind of CPU limit. The lever of
/// more source addresses shows a limit for each address, whose kind is open if the server may choose an upstream by the
/// address. If the lever on the disk shows that the disk could do more work, it is open whether a faster disk helps.
/// With any other lever, the verdict counts as agreeing.
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

/// Compares the verdict with another resource that explains most of the throughput. If too few workers compute at the
/// same time, throughput also follows the CPU's speed, so the CPU does not count as a separate cause.
///
/// `effects` are the effects of all levers, and `watched` is the watched server's share of the requests.
pub(super) fn compare(
    rival: Option<&str>,
    signs: Option<&CpuSigns>,
    verdict: &Bottleneck,
    (effects, watched): (&[Effect], WatchedShare),
) -> Rival {
    let Some(lever) = rival else { return Rival::None };
    let limit = signs.filter(|_| lever == "server-cpu").map(CpuSigns::limit);
    let (id, serial) = match limit {
        Some(limit) => limit.bottleneck().unwrap_or(("server-cpu", false)),
        None => (bottleneck_of(lever), false),
    };
    match id {
        _ if limit == Some(CpuLimit::Open) && verdict.id == "server-concurrency" => Rival::None,
        id if id != verdict.id && is_as_predicted(effects, lever, watched) => Rival::Other,
        id if id != verdict.id => Rival::Astray,
        _ if serial && !verdict.serial || lever == "worker" => Rival::Refines,
        _ => Rival::None,
    }
}

/// Returns true if the levers exclude the CPUs of client and server, and all other slowed resources. The resource of
/// the verdict's lever `own` need not be excluded.
pub(super) fn excludes_others(proof: &Proof, own: Option<&str>) -> bool {
    let is_out = |lever: &str| part_of(proof, lever).is_some_and(|part| part.estimate.high < EXCLUDED);
    let others = || proof.parts().filter(|part| Some(part.lever.as_str()) != own);
    ["server-cpu", "client-cpu"].iter().all(|lever| is_out(lever)) && others().all(|part| is_out(&part.lever))
}

/// Returns the IDs of the bottlenecks that the small effects of their levers exclude. `more_load` is the effect of a
/// larger load.
pub(super) fn excluded(proof: &Proof, turns: Option<&OwnTurns>, more_load: MoreLoad) -> Vec<&'static str> {
    let small = proof.parts().filter(|part| part.estimate.high < EXCLUDED);
    let refuted = turns.filter(|turns| turns.suspect.refutes && turns.check == PredictionCheck::Refuted);
    let of_slots = small.flat_map(|part| ids_of(&part.lever));
    let of_load = (more_load == MoreLoad::Unchanged).then_some("not-saturated");
    of_slots.chain(refuted.map(|turns| turns.suspect.bottleneck)).chain(of_load).collect()
}

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

    /// Planted after nginx that answers 502 to what its upstream does not take. At the experiment's load, 98 % of the
    /// answers were such pages, which cost only CPU time. Throughput followed the speed of the CPU, although the good
    /// answers did not.
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

    /// Modelled on a server whose answers take 40 ms. The closed loop ended with 50 clients, which used a tenth of the
    /// server's only thread. The open loop filled the thread with 900 requests in flight. The experiment with 50
    /// clients called the full thread refuted, and named another cause with a confidence of 0.85.
    #[test]
    fn an_experiment_with_a_light_load_refutes_nothing() {
        let with = |heaviest: f64| {
            let mut run = full();
            let mut light = run.trials[0].clone();
            (light.kind, light.label) = (run::TrialKind::Proof, "proof, 50 connections".into());
            let mut heavy = run.trials.iter().rfind(|trial| trial.kind == run::TrialKind::Search).unwrap().clone();
            let best = run.trials.iter().map(|trial| trial.rates.completed_rate).fold(0.0, f64::max);
            light.rates.completed_rate = best;
            (heavy.rates.completed_rate, heavy.rates.concurrency) = (heaviest * best, 899.2);
            run.trials.extend([heavy, light]);
            tried_on(run, verdict("server-single-thread", 0.8), |proof, lever| {
                proof.trials.push(slots(lever, 0.05, 0.02));
            })
        };
        let (proof, after) = with(10.0);
        assert_eq!(
            (proof.outcome, after.id.as_str()),
            (ProofOutcome::NotTested, "server-single-thread"),
            "{}",
            proof.why
        );
        assert!(proof.why.contains("--connections 900"), "{}", proof.why);
        assert_eq!(with(1.3).0.outcome, ProofOutcome::Refuted);
    }

    /// An SSD can serve 32 requests at the same time. Four workers keep it busy all the time, but do not fill it, so it
    /// also serves the requests of the lever. An earlier version of loadline wrongly took this as proof that the disk
    /// is the limit.
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
