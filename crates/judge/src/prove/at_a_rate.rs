//! Experiment at a fixed offered rate. Each lever slows a resource, so the response time grows. Each resource's share
//! of the longer response time is compared with a prediction.
//!
//! The server is not saturated, so the experiment does not test the server's limit. The experiment therefore does not
//! change the verdict from the counters.

use run::{
    Bottleneck, Effect, Elasticity, Estimate, Intensity, Objective, Proof, ProofMetric, ProofOutcome, ProofTrial, Run,
    Trial,
};

use super::parts::{REMAINDER, largest};
use super::response::{self, RATE};
use super::same_cpus::own_share;
use super::shares_text::shares_sentence;
use super::turns::effect as effect_of;
use super::words::{dependent_sentence, effect_sentence, evidence, slows_upstream_sentence};
use crate::Facts;
use crate::context::single::{closed, r1_us};
use crate::number::ratio;
use crate::thresholds::{BUSIEST, EXCESS, MOST};
use crate::what_if::{Slowed, slowed};

/// Levers whose effect is predicted. Each lever has the IDs of the parts of the queueing network that it slows.
const PREDICTED: &[(&str, &[&str])] = &[
    ("server-cpu", &["server-cpu", "server-single-thread"]),
    ("client-cpu", &["client-cpu"]),
    ("disk", &["server-disk"]),
];

/// Load of a server at a fixed rate, with all levers off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtRate {
    /// Offered rate, requests per second.
    pub offered: f64,
    /// Completed rate, divided by offered rate.
    pub kept: f64,
    /// Utilization of the busiest resource, 0 to 1: the larger of an estimate from the counters and an estimate from
    /// the response time.
    pub busy: f64,
    /// Response time with a single client, seconds.
    pub alone_s: f64,
    /// Median response time at the trial's rate, seconds.
    pub response_s: f64,
}

/// Returns the figure of the response time that the objective limits. If the objective limits several figures, returns
/// the highest percentile. If the objective limits no figure of the response time, returns the median.
pub fn answer_of(objective: &Objective) -> ProofMetric {
    match () {
        () if objective.p99_9_us.is_some() => ProofMetric::P999,
        () if objective.p99_us.is_some() => ProofMetric::P99,
        () if objective.p50_us.is_none() && objective.mean_us.is_some() => ProofMetric::Mean,
        () => ProofMetric::P50,
    }
}

/// Returns the last open-loop trial that is not part of an experiment. The counters of this trial led to the run's
/// verdict.
fn argued(run: &Run) -> Option<&Trial> {
    run.trials.iter().rfind(|t| !t.kind.is_auxiliary() && matches!(t.intensity, Intensity::Open { .. }))
}

/// Returns the last trial with a single client.
fn alone(run: &Run) -> Option<&Trial> {
    run.trials.iter().rfind(|t| closed(t) && t.intensity.in_flight() == Some(1.0))
}

/// Describes the load of a server at a fixed rate. Returns `None` unless the run has both a trial with one client and a
/// trial at a rate.
pub fn at_rate(run: &Run) -> Option<AtRate> {
    let (trial, alone_us) = (argued(run)?, r1_us(alone(run)?)?);
    let network = network(run);
    let counted = network.as_ref().map_or(0.0, |network| network.busiest());
    let waits = ratio(alone_us, trial.latency_us.mean).map_or(0.0, |short| (1.0 - short).clamp(0.0, BUSIEST));
    Some(AtRate {
        offered: trial.rates.offered_rate,
        kept: ratio(trial.rates.completed_rate, trial.rates.offered_rate)?,
        busy: counted.max(waits),
        alone_s: alone_us / 1e6,
        response_s: trial.latency_us.p50 / 1e6,
    })
}

fn network(run: &Run) -> Option<Slowed> {
    let facts = Facts { unloaded: alone(run), ..Facts::of(run) };
    slowed(&facts, argued(run)?)
}

/// Predicts the lever with the largest effect at `dose` (the share of its resource that a lever takes), and the size of
/// this effect. The prediction uses a queueing network that is built from the counters. The queueing network predicts
/// the factor by which the mean grows, and assumes this factor for percentiles, too.
pub fn predicted_at_rate(run: &Run, of: ProofMetric, dose: f64) -> Proof {
    let why = "the experiment was not run".to_string();
    let proof = Proof { of, why, ..Proof::default() };
    let Some(network) = network(run) else { return proof };
    let whole = network.all(dose) - 1.0;
    let each = PREDICTED.iter().map(|(lever, parts)| (*lever, network.part(parts, dose)));
    let Some((lever, ratio)) = each.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|_| whole.is_finite() && whole > 0.0)
    else {
        return proof;
    };
    let prediction = Effect { lever: lever.into(), dose, ratio, low: ratio, high: ratio, at: String::new() };
    Proof { prediction: Some(prediction), predicted_share: Some((ratio - 1.0) / whole), ..proof }
}

/// Evaluates the time slots of an experiment at a fixed rate. A slot is a short time in which each lever is either on
/// or off.
pub(super) fn conclude(facts: &Facts<'_>, proof: &mut Proof, verdict: &mut Bottleneck) {
    proof.effects = proof.switched.iter().filter_map(|trial| effect_of(trial).ok()).collect();
    let Some(trial) = ProofTrial::of_speeds(&proof.trials) else { return };
    let found = match response::estimate(trial, proof.of) {
        Ok(found) => found,
        Err(why) => return (proof.outcome, proof.why) = (ProofOutcome::Inconclusive, why),
    };
    let own = || trial.levers.iter().filter(|l| l.lever != RATE);
    let effect = |j: usize| {
        let (lever, dose, e) = (trial.levers[j].lever.clone(), found.doses[j], found.ratios[j]);
        Effect { lever, dose, ratio: e.value, low: e.low, high: e.high, at: String::new() }
    };
    let effects: Vec<Effect> = (0..trial.levers.len()).map(effect).collect();
    proof.elasticities = own()
        .zip(&found.elasticities)
        .map(|(l, e)| Elasticity {
            lever: l.lever.clone(),
            host: l.host.clone(),
            estimate: *e,
            ..Elasticity::default()
        })
        .collect();
    proof.remainder = Some(found.remainder);
    let wanted = proof.prediction.as_ref().map(|p| p.lever.clone()).unwrap_or_default();
    let largest = || effects.iter().filter(|e| e.lever != RATE).max_by(|a, b| a.ratio.total_cmp(&b.ratio));
    proof.measured = effects.iter().find(|e| e.lever == wanted).or_else(largest).cloned();
    proof.effects.extend(effects);
    weighed(facts, proof, verdict, &wanted);
}

/// Size of the measured effect of a lever, compared with its prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EffectSize {
    AsPredicted,
    /// The logarithm of the effect is surely more than 1.5 times the logarithm of the prediction.
    Larger,
    /// The logarithm of the effect is surely less than half of the logarithm of the prediction, or there may be no
    /// effect.
    Smaller,
}

impl EffectSize {
    /// Returns the end of the sentence about the effect.
    fn words(self) -> &'static str {
        match self {
            Self::AsPredicted => "",
            Self::Larger => ", more than predicted: fewer requests are handled in parallel than the model assumes",
            Self::Smaller => ", less than predicted",
        }
    }
}

/// Compares the size of the measured effect with the prediction, on a logarithmic scale.
fn size(proof: &Proof) -> EffectSize {
    let Some((measured, predicted)) = proof.measured.as_ref().zip(proof.prediction.as_ref()) else {
        return EffectSize::Smaller;
    };
    let halfway = predicted.ratio.max(1.0).sqrt();
    match () {
        () if measured.low > predicted.ratio * halfway => EffectSize::Larger,
        () if measured.high < halfway || measured.low <= 1.0 => EffectSize::Smaller,
        () => EffectSize::AsPredicted,
    }
}

/// Compares the measured shares with the prediction, and sets the outcome. The remainder is the share that no lever
/// explains. If only a small share was predicted for the lever, a large remainder supports the verdict, but does not
/// prove it.
fn weighed(facts: &Facts<'_>, proof: &mut Proof, verdict: &mut Bottleneck, lever: &str) {
    let carries = proof.predicted_share.is_some_and(|share| share >= MOST);
    let told = shares_sentence(proof);
    let found = largest(proof);
    let is_dependent = proof.remainder.is_some_and(|remainder| remainder.high < -EXCESS);
    let is_predicted = proof.prediction.is_some();
    (proof.outcome, proof.why) = match found.as_deref() {
        _ if is_dependent => (ProofOutcome::Inconclusive, format!("{}: {told}", dependent_sentence(proof))),
        None => (ProofOutcome::Inconclusive, format!("too close to tell: {told}")),
        Some(found) if slows_more(facts, proof, found) => {
            (ProofOutcome::Inconclusive, format!("{}: {told}", slows_upstream_sentence(found)))
        }
        Some(found) if carries && found == lever => match size(proof) {
            EffectSize::AsPredicted => (ProofOutcome::Proven, format!("{}; {told}", effect_sentence(proof))),
            other => (ProofOutcome::Supported, format!("{}{}; {told}", effect_sentence(proof), other.words())),
        },
        Some(REMAINDER) if is_predicted && !carries => {
            (ProofOutcome::Supported, format!("{}; {told}", effect_sentence(proof)))
        }
        Some(_) if is_predicted => {
            (ProofOutcome::Refuted, format!("{}, against the prediction: {told}", effect_sentence(proof)))
        }
        Some(_) => (ProofOutcome::Supported, told),
    };
    verdict.evidence.extend(evidence(proof));
}

/// Returns true if the lever also slows upstreams on the same CPUs, and the upstreams' part of the effect matters. The
/// check moves the upstreams' part of the lever's effect to the remainder. The upstreams' part matters if the lever's
/// own resource is no longer certainly the largest part.
fn slows_more(facts: &Facts<'_>, proof: &Proof, lever: &str) -> bool {
    let own_share = own_share(facts, lever);
    let times = |e: Estimate, share: f64| Estimate { value: e.value * share, low: e.low * share, high: e.high * share };
    let (elasticities, remainder) = (proof.elasticities.clone(), proof.remainder);
    let mut rest = Proof { elasticities, remainder, ..Proof::default() };
    for part in rest.elasticities.iter_mut().filter(|part| part.lever == lever) {
        let upstreams = times(part.estimate, 1.0 - own_share);
        part.estimate = times(part.estimate, own_share);
        rest.remainder.iter_mut().for_each(|remainder| {
            remainder.value += upstreams.value;
            remainder.low += upstreams.low;
            remainder.high += upstreams.high;
        });
    }
    own_share < 1.0 && largest(&rest).as_deref() != Some(lever)
}

#[cfg(test)]
mod tests;
