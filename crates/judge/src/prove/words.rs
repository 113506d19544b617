//! Sentences about an experiment.

use run::{Effect, Estimate, Evidence, Proof, ProofMetric};

use super::response::RATE;
use crate::number::percent;

/// Name of the part that no lever touched.
pub(super) const REMAINDER: &str = "remainder";

/// Returns the resource that a lever slows, in words.
pub(super) fn in_words(lever: &str) -> &'static str {
    match lever {
        "server-cpu" => "the server's CPU",
        "client-cpu" => "the generator's CPU",
        "quota" => "the server's CPU quota",
        "disk" => "the server's disk",
        "link" => "the link",
        "worker" => "the server's workers",
        "behind-cpu" => "the CPU of what the server waits for",
        RATE => "the offered rate",
        "behind-quota" => "the CPU quota of what the server waits for",
        _ => "what no lever touched",
    }
}

/// Returns the beginning of a sentence about a lever of turns.
pub(super) fn with_lever(lever: &str) -> &'static str {
    match lever {
        "sources" => "with twice the source addresses",
        "client-threads" => "with more threads of the generator",
        "window" => "with half of the bytes in flight",
        "request-bytes" => "with requests that put a third more on the link",
        "quick-ack" => "with acknowledgements at once",
        "keep-alive" => "with connections that are kept",
        "descriptors" => "with twice as many descriptors",
        _ => "with the lever",
    }
}

/// Returns the line of the headline: the dose, and the change of throughput or response time.
pub(super) fn effect_sentence(proof: &Proof) -> String {
    let Some(m) = &proof.measured else { return String::new() };
    let predicted = match &proof.prediction {
        Some(p) if is_to_change(p, m) => format!(" (predicted {})", change(proof.of, p, m)),
        Some(_) => " (predicted: no change)".into(),
        None => String::new(),
    };
    let what = proof.of.name();
    format!("with {} of {} taken away, {what} {}{predicted}", percent(m.dose), in_words(&m.lever), moved(m.ratio))
}

/// Returns whether the verdict predicts a change for the lever that was seen. If its own lever could not be pulled, it predicts no change for
/// the others.
fn is_to_change(predicted: &Effect, measured: &Effect) -> bool {
    predicted.lever == measured.lever && predicted.ratio != 1.0
}

/// Returns the predicted throughput at the measured dose, as a share of that without: it follows the verdict's own lever and no other.
pub(super) fn expected(predicted: &Effect, measured: &Effect) -> f64 {
    if is_to_change(predicted, measured) { 1.0 - measured.dose } else { 1.0 }
}

fn change(of: ProofMetric, predicted: &Effect, measured: &Effect) -> String {
    if of.is_throughput() { percent(1.0 - expected(predicted, measured)) } else { percent(predicted.ratio - 1.0) }
}

/// Returns the change of a figure in words.
fn moved(ratio: f64) -> String {
    match ratio {
        r if r < 0.99 => format!("fell by {}", percent(1.0 - r)),
        r if r > 1.01 => format!("rose by {}", percent(r - 1.0)),
        _ => "stayed".into(),
    }
}

/// Returns the sentence about parts that together surely exceed 1.
pub(super) fn dependent_sentence(of: ProofMetric, shares: &[(String, Estimate)]) -> String {
    let (largest, shares) = (shares.first().map_or(REMAINDER, |(lever, _)| lever), shares_sentence(of, shares));
    if !["server-cpu", "client-cpu", "behind-cpu"].contains(&largest) {
        return format!("the lever took more of {} than was measured of it: {shares}", in_words(largest));
    }
    format!(
        "the CPUs are not independent of each other (one core, one hypervisor, or so few requests under way that what stops one side \
         stops the other): {shares}"
    )
}

pub(super) fn shares_sentence(of: ProofMetric, shares: &[(String, Estimate)]) -> String {
    let one =
        |(lever, e): &(String, Estimate)| format!("{} {:.2} ({:.2} to {:.2})", in_words(lever), e.value, e.low, e.high);
    let all = shares.iter().map(one).collect::<Vec<_>>().join(", ");
    match of.is_throughput() {
        true => format!("throughput follows this share of a change of speed: {all}"),
        false => format!("shares of the growth of {} when everything is slower: {all}", of.name()),
    }
}

pub(super) fn evidence(shares: &[(String, Estimate)]) -> Vec<Evidence> {
    let line = |(lever, e): &(String, Estimate)| Evidence {
        text: format!("elasticity of {}: {:.2} ({:.2} to {:.2})", in_words(lever), e.value, e.low, e.high),
        counter: format!("elasticity.{lever}"),
        value: Some(e.value),
        ..Evidence::default()
    };
    shares.iter().take(1).map(line).collect()
}
