//! Sentences about an experiment.

use run::{Effect, Estimate, Evidence, Proof, ProofMetric};

use super::response::RATE;
use crate::number::{figure, percent};

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
        "behind-cpu" => "the upstream's CPU",
        RATE => "the offered rate",
        "behind-quota" => "the upstream's CPU quota",
        _ => "something untested",
    }
}

/// Returns the beginning of a sentence about a lever of turns.
pub(super) fn with_lever(lever: &str) -> &'static str {
    match lever {
        "sources" => "with twice the source addresses",
        "client-threads" => "with more threads of the generator",
        "window" => "with half of the bytes in flight",
        "request-bytes" => "with requests a third larger on the link",
        "quick-ack" => "with immediate ACKs",
        "keep-alive" => "with kept connections",
        "descriptors" => "with twice as many file descriptors",
        _ => "with the lever",
    }
}

/// Returns the line of the headline: the dose, and the change of throughput or response time.
pub(super) fn effect_sentence(proof: &Proof) -> String {
    let Some(m) = &proof.measured else { return String::new() };
    let predicted = match &proof.prediction {
        Some(p) if is_to_change(p, m) => format!(" (predicted: {})", change(proof.of, p, m)),
        Some(_) => " (predicted: no change)".into(),
        None => String::new(),
    };
    let what = proof.of.name();
    format!("taking away {} of {} {}{predicted}", percent(m.dose), in_words(&m.lever), moved(what, m.ratio))
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
fn moved(figure: &str, ratio: f64) -> String {
    match ratio {
        r if r < 0.99 => format!("cut {figure} by {}", percent(1.0 - r)),
        r if r > 1.01 => format!("raised {figure} by {}", percent(r - 1.0)),
        _ => format!("did not change {figure}"),
    }
}

/// Returns the sentence about parts that together surely exceed 1.
pub(super) fn dependent_sentence(of: ProofMetric, shares: &[(String, Estimate)]) -> String {
    let (largest, shares) = (shares.first().map_or(REMAINDER, |(lever, _)| lever), shares_sentence(of, shares));
    if !["server-cpu", "client-cpu", "behind-cpu"].contains(&largest) {
        return format!("slowing {} also slowed something else: {shares}", in_words(largest));
    }
    format!(
        "slowing one CPU also slowed the other (a shared core or hypervisor, or very few requests in flight): {shares}"
    )
}

pub(super) fn shares_sentence(of: ProofMetric, shares: &[(String, Estimate)]) -> String {
    let one = |(at, (lever, e)): (usize, &(String, Estimate))| {
        format!("{}{} {}", in_words(lever), if at == 0 { " explains" } else { "" }, part(e))
    };
    let all = shares.iter().enumerate().map(one).collect::<Vec<_>>().join(", ");
    match of.is_throughput() {
        true => all,
        false => format!("of the growth of {} when everything slows down, {all}", of.name()),
    }
}

/// Returns a part with its interval: `32 % (0 to 64 %)`.
pub(super) fn part(e: &Estimate) -> String {
    let whole = |x: f64| figure((100.0 * x).round() + 0.0);
    format!("{} % ({} to {} %)", whole(e.value), whole(e.low), whole(e.high))
}

pub(super) fn evidence(shares: &[(String, Estimate)]) -> Vec<Evidence> {
    let line = |(lever, e): &(String, Estimate)| Evidence {
        text: format!("experiment: {} explains {}", in_words(lever), part(e)),
        counter: format!("elasticity.{lever}"),
        value: Some(e.value),
        ..Evidence::default()
    };
    shares.iter().take(1).map(line).collect()
}
