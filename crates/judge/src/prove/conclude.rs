//! Comparison of predictions with results, and its effect on the verdict.

use run::{
    Bottleneck, Certainty, Effect, Elasticity, Estimate, Proof, ProofMetric, ProofOutcome, ProofTrial, Run, RunnerUp,
};

use super::outcome::{
    CLOSE, SHOWN, close, dependent, doubted, has_own_lever, is_astray, lever_of, only_others, proven, refuted, suspect,
};
use super::steadiness::{doubt, steadiness};
use super::suspects::{SUSPECTS, suspect_of};
use super::turns::{PredictionCheck, check, effect};
use super::words::{REMAINDER, effect_sentence, shares_sentence, with_lever};
use super::{Estimates, estimate};
use crate::Facts;
use crate::number::figure;
use crate::single::good;

/// Verdicts that name nothing to predict.
const NAMES_NOTHING: [&str; 2] = ["unknown", "not-saturated"];
/// Least share of the whole for a resource that limits the server, however sure a smaller share is.
pub(super) const MOST: f64 = 0.5;
/// Excess over 1 that all parts together may surely have without a doubt of each. A little more is normal: the fixed work of each period of
/// a quota makes the rest dearer.
pub(super) const EXCESS: f64 = 0.25;
/// Greatest confidence of a verdict that an experiment contradicted without supporting another.
const REFUTED: f64 = 0.3;

/// Predicts the effect of `lever` by the verdict, before it is tried; `None` where the verdict names nothing.
pub fn predicted(run: &Run, lever: &str, dose: f64) -> Proof {
    let id = run.findings.bottleneck.id.as_str();
    if NAMES_NOTHING.contains(&id) {
        return Proof::default();
    }
    let suspect = suspect_of(&run.findings.bottleneck, Some(lever)).filter(|suspect| suspect.lever == lever);
    let ratio = suspect.map_or(1.0, |suspect| (suspect.ratio)(run, dose));
    let lever = lever.to_string();
    let prediction = Effect { lever, dose, ratio, low: ratio, high: ratio, at: String::new() };
    Proof { prediction: Some(prediction), why: "the experiment was not run".into(), ..Proof::default() }
}

/// Predicts by the counters the effect of `lever` when it takes `dose` of the second suspect: no effect while the rest allows the completed
/// rate. `None` where another lever tries that suspect, or none does.
pub fn runner_up(run: &Run, lever: &str, dose: f64) -> Option<RunnerUp> {
    let next = run.findings.bottleneck.next.as_ref()?;
    SUSPECTS.iter().find(|s| s.bottleneck == next.id && s.lever == lever && s.behind.is_none())?;
    let completed = run.picked(|picks| picks.decisive).map(good).filter(|rate| *rate > 0.0)?;
    let ratio = (next.rate? * (1.0 - dose) / completed).min(1.0);
    let prediction = Effect { lever: lever.into(), dose, ratio, low: ratio, high: ratio, at: String::new() };
    Some(RunnerUp { bottleneck: next.id.clone(), prediction, measured: None })
}

/// Concludes from the proof's trials, and changes the argued verdict where they say so. Without a trial both stay.
pub(super) fn conclude(_facts: &Facts<'_>, proof: &mut Proof, verdict: &mut Bottleneck) {
    proof.effects = proof.switched.iter().filter_map(|trial| effect(trial).ok()).collect();
    let said = in_turns(proof, verdict);
    if said != Some(PredictionCheck::Confirmed) {
        in_slots(proof, verdict, said);
    }
    if !proof.trials.is_empty() || said.is_some() {
        verdict.sureness = Certainty::from_confidence(verdict.confidence);
    }
}

/// Compares the verdict with the turns with and without its own lever; `None` without turns.
fn in_turns(proof: &mut Proof, verdict: &mut Bottleneck) -> Option<PredictionCheck> {
    let suspect = suspect(proof, verdict)?;
    let measured = proof.effects.iter().rfind(|effect| effect.lever == suspect.lever)?.clone();
    let predicted = proof.prediction.as_ref().filter(|p| p.lever == suspect.lever)?.ratio;
    let said = check(&measured, predicted);
    let found = format!(
        "throughput was {} times as high ({} to {}; predicted {})",
        figure(measured.ratio),
        figure(measured.low),
        figure(measured.high),
        figure(predicted)
    );
    proof.why = format!("{}, {found}", with_lever(suspect.lever));
    (proof.outcome, verdict.confidence) = match said {
        PredictionCheck::Confirmed => (ProofOutcome::Proven, verdict.confidence.max(SHOWN)),
        PredictionCheck::Refuted if suspect.refutes => (ProofOutcome::Refuted, verdict.confidence.min(REFUTED)),
        PredictionCheck::Refuted | PredictionCheck::Open => (ProofOutcome::Inconclusive, verdict.confidence.min(CLOSE)),
    };
    proof.measured = Some(measured);
    Some(said)
}

/// Concludes from the shares that slots show. `turns` is the earlier result of the verdict's own lever.
fn in_slots(proof: &mut Proof, verdict: &mut Bottleneck, turns: Option<PredictionCheck>) {
    let Some(trial) = ProofTrial::of_speeds(&proof.trials) else { return };
    let found = match estimate(trial) {
        Ok(found) => found,
        Err(why) => {
            if turns.is_none() {
                (proof.outcome, proof.why) = (ProofOutcome::Inconclusive, why);
            }
            return;
        }
    };
    proof.elasticities = (trial.levers.iter().zip(&found.elasticities))
        .map(|(l, e)| Elasticity {
            lever: l.lever.clone(),
            host: l.host.clone(),
            estimate: *e,
            ..Elasticity::default()
        })
        .collect();
    proof.remainder = Some(found.remainder);
    proof.steadiness = steadiness(trial);
    let of_turns = turns.is_some().then(|| proof.why.clone());
    if of_turns.is_none() {
        proof.measured = measured(proof, &found);
    }
    let second = second(proof, &found);
    proof.runner_up.iter_mut().for_each(|runner_up| runner_up.measured = second.clone());
    let shares = shares(proof);
    // A refuted share stands for nothing; a lever that was not pulled belongs to the remainder.
    let refuted_before =
        turns == Some(PredictionCheck::Refuted) && suspect(proof, verdict).is_some_and(|suspect| suspect.refutes);
    let pulled = lever_of(proof, verdict).filter(|lever| shares.iter().any(|(pulled, _)| pulled == lever));
    let argued = if refuted_before { "" } else { pulled.unwrap_or(REMAINDER) };
    let predicts = proof.prediction.is_some();
    let doubt = proof.steadiness.as_ref().and_then(doubt);
    match weigh(&shares, argued, predicts) {
        _ if found.remainder.high < -EXCESS => dependent(proof, verdict, &shares),
        _ if doubt.is_some() => doubted(proof, verdict, &shares, doubt.unwrap_or_default()),
        Weighed::Proven if turns.is_none() && pulled.is_none() && has_own_lever(proof, verdict) => {
            only_others(proof, verdict, &shares);
        }
        Weighed::Proven if of_turns.is_none() && is_astray(proof) => {
            let doubt = format!("{}, so the prediction failed", effect_sentence(proof));
            doubted(proof, verdict, &shares, doubt);
        }
        Weighed::Proven => proven(proof, verdict, &shares),
        Weighed::Other(lever) => refuted(proof, verdict, &shares, &lever, predicts),
        Weighed::Close => close(proof, verdict, &shares),
    }
    if let Some(before) = of_turns.filter(|_| proof.measured.is_some()) {
        proof.why = format!("{before}; {}", shares_sentence(ProofMetric::Throughput, &shares));
    }
}

/// Returns the measured effect of the predicted lever; without a prediction that of the lever with the largest elasticity.
fn measured(proof: &Proof, found: &Estimates) -> Option<Effect> {
    let wanted = proof.prediction.as_ref().map(|p| p.lever.as_str());
    let by_size =
        || (0..found.ratios.len()).max_by(|a, b| found.elasticities[*a].value.total_cmp(&found.elasticities[*b].value));
    let at = proof.elasticities.iter().position(|e| Some(e.lever.as_str()) == wanted).or_else(by_size)?;
    Some(effect_at(found, at, proof.elasticities[at].lever.clone()))
}

/// Returns the measured effect of the second suspect's lever.
fn second(proof: &Proof, found: &Estimates) -> Option<Effect> {
    let lever = &proof.runner_up.as_ref()?.prediction.lever;
    let at = proof.elasticities.iter().position(|e| e.lever == *lever)?;
    Some(effect_at(found, at, lever.clone()))
}

fn effect_at(found: &Estimates, at: usize, lever: String) -> Effect {
    let ratio = found.ratios[at];
    Effect { lever, dose: found.doses[at], ratio: ratio.value, low: ratio.low, high: ratio.high, at: String::new() }
}

/// Returns every resource and the remainder, the largest first.
pub(super) fn shares(proof: &Proof) -> Vec<(String, Estimate)> {
    let mut shares: Vec<(String, Estimate)> = proof.parts().map(|e| (e.lever.clone(), e.estimate)).collect();
    shares.extend(proof.remainder.map(|r| (REMAINDER.into(), r)));
    shares.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
    shares
}

pub(super) enum Weighed {
    Proven,
    /// Another resource, or the remainder.
    Other(String),
    Close,
}

/// Returns the resource whose interval lies above those of all others.
pub(super) fn weigh(shares: &[(String, Estimate)], argued: &str, predicts: bool) -> Weighed {
    let Some(((top, of_top), others)) = shares.split_first() else { return Weighed::Close };
    let stands_out = of_top.value >= MOST && others.iter().all(|(_, e)| of_top.low > e.high);
    match stands_out {
        false => Weighed::Close,
        true if predicts && top == argued => Weighed::Proven,
        true => Weighed::Other(top.clone()),
    }
}

#[cfg(test)]
mod tests;
