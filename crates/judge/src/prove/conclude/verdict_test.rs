//! Comparison of the levers' effects with the verdict, and with other resources that may be the limit. A lever is a
//! temporary change that an experiment makes, such as slowing a CPU.

use run::{Bottleneck, Effect, LOAD_LEVER, Proof};

use super::own_turns::{OwnTurns, suspect};
use crate::Facts;
use crate::prove::cpu_limit::{CpuLimit, CpuSigns};
use crate::prove::decision_inputs::{MoreLoad, Own, Rival, Saturation, Subject};
use crate::prove::parts::{self, largest, part_of};
use crate::prove::saturated;
use crate::prove::suspects::{Suspect, bottleneck_of, ids_of};
use crate::prove::turns::{PredictionCheck, check};
use crate::prove::watched::WatchedShare;
use crate::rules::{RULES, Tier};
use crate::thresholds::{ASTRAY, EXCLUDED};

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

#[cfg(test)]
mod tests {
    use run::ProofOutcome;

    use crate::planted::proofs::{full, slots, tried_on, verdict};

    /// This test imitates a server whose answers take 40 ms. The closed loop ended with 50 clients, which used a tenth
    /// of the server's only thread. The open loop filled the thread with 900 requests in flight. The experiment with 50
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
}
