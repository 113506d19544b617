//! Effect of the weighed slots on the proof and on the verdict.

use run::{Bottleneck, Estimate, NextBottleneck, Proof, ProofMetric, ProofOutcome};

use super::suspects::{SUSPECTS, Suspect, suspect_of};
use super::words::{
    REMAINDER, dependent_sentence, effect_sentence, evidence, expected, in_words, part, shares_sentence,
};
use crate::rules::RULES;

/// Greatest confidence of a verdict when two resources are too close to tell apart.
pub(super) const CLOSE: f64 = 0.6;
/// Greatest sure distance of the measured from the predicted throughput, as a share of that before, in a proof.
const ASTRAY: f64 = 0.1;
/// Confidence of a verdict that an experiment has shown.
pub(super) const SHOWN: f64 = 0.95;

/// Returns the row that tries the verdict: that of the lever with the prediction.
pub(super) fn suspect(proof: &Proof, verdict: &Bottleneck) -> Option<&'static Suspect> {
    suspect_of(verdict, proof.prediction.as_ref().map(|p| p.lever.as_str()))
}

pub(super) fn lever_of(proof: &Proof, verdict: &Bottleneck) -> Option<&'static str> {
    suspect(proof, verdict).map(|suspect| suspect.lever)
}

pub(super) fn proven(proof: &mut Proof, verdict: &mut Bottleneck, shares: &[(String, Estimate)]) {
    proof.outcome = ProofOutcome::Proven;
    proof.why = effect_sentence(proof);
    verdict.confidence = verdict.confidence.max(SHOWN);
    verdict.evidence.extend(evidence(shares));
}

/// Returns the bottleneck that throughput shows when it follows a lever.
fn bottleneck_of(lever: &str) -> &'static str {
    let named = SUSPECTS.iter().find(|suspect| suspect.lever == lever).map(|suspect| suspect.bottleneck);
    named.unwrap_or("server-concurrency")
}

pub(super) fn refuted(
    proof: &mut Proof,
    verdict: &mut Bottleneck,
    shares: &[(String, Estimate)],
    lever: &str,
    predicted: bool,
) {
    let id = bottleneck_of(lever);
    proof.outcome = if predicted { ProofOutcome::Refuted } else { ProofOutcome::Proven };
    proof.why = match predicted {
        true => {
            format!("the counters pointed to {}, but {}", verdict.id, shares_sentence(ProofMetric::Throughput, shares))
        }
        false => effect_sentence(proof),
    };
    verdict.missing.clear();
    verdict.sentence = match lever {
        REMAINDER => "requests wait for something that is neither the server's nor the generator's CPU".into(),
        "worker" => "throughput depends on the number of running workers".into(),
        _ => format!("throughput depends on {}", in_words(lever)),
    };
    (verdict.id, verdict.confidence) = (id.into(), SHOWN);
    // The upstream that the verdict named did not carry it.
    let behind = SUSPECTS.iter().any(|suspect| suspect.behind.is_some() && suspect.lever == lever);
    verdict.waits_for = verdict.waits_for.take().filter(|_| behind);
    verdict.evidence = evidence(shares);
    let advice = RULES.iter().find(|r| r.id == id).map_or(&[][..], |r| r.advice);
    verdict.advice = advice.iter().map(|a| (*a).to_string()).collect();
    verdict.ruled_out.retain(|r| r.id != id);
    verdict.next = None;
}

/// Concludes from parts that add up to more than 1: a lever slows more than its own resource, so no part is reliable.
pub(super) fn dependent(proof: &mut Proof, verdict: &mut Bottleneck, shares: &[(String, Estimate)]) {
    undecided(proof, verdict, dependent_sentence(ProofMetric::Throughput, shares));
}

/// Concludes nothing from an experiment: the verdict is no surer than one of two that are too close.
fn undecided(proof: &mut Proof, verdict: &mut Bottleneck, why: String) {
    (proof.outcome, proof.why) = (ProofOutcome::Inconclusive, why);
    verdict.confidence = verdict.confidence.min(CLOSE);
}

/// Returns whether a lever slows what the verdict names.
pub(super) fn has_own_lever(proof: &Proof, verdict: &Bottleneck) -> bool {
    let predicted = proof.prediction.as_ref().filter(|p| p.ratio != 1.0);
    suspect(proof, verdict).is_some_and(|suspect| predicted.is_some_and(|p| p.lever == suspect.lever))
}

/// Concludes where throughput followed nothing that was slowed, as the verdict predicts, and the named resource itself was not slowed.
pub(super) fn only_others(proof: &mut Proof, verdict: &mut Bottleneck, shares: &[(String, Estimate)]) {
    proof.outcome = ProofOutcome::Inconclusive;
    proof.why = format!("the suspect itself could not be slowed; {}", effect_sentence(proof));
    verdict.evidence.extend(evidence(shares));
}

/// Returns whether throughput surely differed from the prediction. With most of a CPU taken by the lever and other programs, an elasticity
/// near 0 goes with a fall of throughput by a third: the shares support the verdict, the throughput does not.
pub(super) fn is_astray(proof: &Proof) -> bool {
    let (Some(measured), Some(predicted)) = (&proof.measured, &proof.prediction) else { return false };
    let expected = expected(predicted, measured);
    let nearest = expected.max(measured.low).min(measured.high);
    (nearest - expected).abs() > ASTRAY
}

/// Concludes where something else changed throughput as much as a lever does, or where the prediction failed.
pub(super) fn doubted(proof: &mut Proof, verdict: &mut Bottleneck, shares: &[(String, Estimate)], doubt: String) {
    undecided(proof, verdict, format!("{doubt}: {}", shares_sentence(ProofMetric::Throughput, shares)));
}

pub(super) fn close(proof: &mut Proof, verdict: &mut Bottleneck, shares: &[(String, Estimate)]) {
    doubted(proof, verdict, shares, "too close to tell".into());
    verdict.evidence.extend(evidence(shares));
    if verdict.id == "unknown" {
        verdict.missing.push("a surer experiment: run `loadline prove` for longer, on a quiet machine".into());
    }
    let own = lever_of(proof, verdict);
    let other = shares.iter().map(|(lever, _)| lever.as_str()).find(|l| own != Some(l) && *l != REMAINDER);
    let large = |l: &&str| shares.iter().find(|(lever, e)| lever == l && e.high > 0.2);
    let Some((other, share)) = other.as_ref().and_then(large) else { return };
    let why = format!("{} also explains {}", in_words(other), part(share));
    verdict.next = Some(NextBottleneck { id: bottleneck_of(other).into(), rate: None, why });
}
