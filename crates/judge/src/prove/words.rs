//! Sentences about an experiment. A lever is a temporary change that an experiment makes, such as slowing a CPU.

use run::{
    Bottleneck, CPU_COUNT_LEVER, Effect, ElasticityBasis, Evidence, LOAD_LEVER, NextBottleneck, Proof, ProofMetric,
    ProofTrial, SOURCES_LEVER,
};

use super::observed::observation;
use super::part_text::{part, spans_whole};
use super::parts::{REMAINDER, part_of, shares};
use super::response::RATE;
use super::suspects::bottleneck_of;
use crate::Facts;
use crate::number::{figure, percent, rate};
use crate::thresholds::{MAX_PREDICTED_FACTOR, UNWANTED};
use crate::waits;

/// Clause about a limit of each source address, if session affinity explains it as well as a rate limit.
pub(super) const AFFINITY_OPEN: &str = "whether the server limits the rate of each address, or sends the requests of an address to one of \
     several upstreams (session affinity), is open";

/// Returns the clause about a disk that moved `work` times the bytes while the lever also used it.
pub(super) fn room_clause(work: f64) -> String {
    format!(
        "but the disk moved {} times the bytes meanwhile, so it had room: whether more requests at a time, or a faster disk, \
         would help is open",
        figure(work)
    )
}

/// Reason why an effect of a slower resource is no proof.
pub(super) const NOT_FULL: &str = "neither a plateau nor a queue shows that something is full";
/// Sentence for an experiment without a larger load.
pub(super) const LOAD_UNTESTED: &str = "twice the load was not tested";
/// Words for the measurement that is still missing if the experiment found no sign that a resource is full.
pub(super) const MISSING_LOAD: &str =
    "a larger load, to see if throughput still grows: run `loadline find`, or `loadline prove` with more --connections";

/// Returns the name of the resource that a lever changes.
pub(super) fn in_words(lever: &str) -> &'static str {
    match lever {
        "server-cpu" => "the server's CPU",
        "client-cpu" => "the generator's CPU",
        "quota" => "the server's CPU quota",
        "disk" => "the server's disk",
        "link" => "the link",
        "worker" => "the server's workers",
        "window" => "the TCP window",
        SOURCES_LEVER => "the number of source addresses",
        "quick-ack" => "the delay of acknowledgements",
        "keep-alive" => "accepting connections",
        "descriptors" => "the number of descriptors",
        "request-bytes" => "the link",
        CPU_COUNT_LEVER => "the number of the server's CPUs",
        LOAD_LEVER => "the load",
        "behind-cpu" => "the upstream's CPU",
        RATE => "the offered rate",
        "behind-quota" => "the upstream's CPU quota",
        _ => "something untested",
    }
}

/// Returns the beginning of a sentence about a lever that was tested in turns (pairs of loads without and with the
/// lever).
pub(super) fn with_lever(lever: &str) -> &'static str {
    match lever {
        SOURCES_LEVER => "with twice the source addresses",
        "client-threads" => "with more threads of the generator",
        "window" => "with half of the bytes in flight",
        "request-bytes" => "with requests a third larger on the link",
        "quick-ack" => "with immediate ACKs",
        "keep-alive" => "with kept connections",
        "descriptors" => "with twice as many file descriptors",
        LOAD_LEVER => "with twice the load",
        _ => "with the lever",
    }
}

/// Returns the headline of an experiment: the share of the resource that the lever took, and the resulting change of
/// throughput or response time. If threads hardly needed the resource, the headline gives an upper bound of the share
/// of throughput that the resource explains.
pub(super) fn effect_sentence(proof: &Proof) -> String {
    let Some(m) = &proof.measured else { return String::new() };
    let part = part_of(proof, &m.lever).filter(|part| part.basis == ElasticityBasis::Wanted);
    if let Some(part) = part {
        let (most, what) = (percent(part.estimate.high), proof.of.name());
        return format!(
            "{} explains at most {most} of {what}: it was wanted only {most} of the time",
            in_words(&m.lever)
        );
    }
    let predicted = match &proof.prediction {
        Some(p) if is_to_change(p, m) => format!(" (predicted: {})", change(proof.of, p, m)),
        Some(_) => " (predicted: no change)".into(),
        None => String::new(),
    };
    let what = proof.of.name();
    format!("taking away {} of {} {}{predicted}", percent(m.dose), in_words(&m.lever), moved(what, m.ratio))
}

/// Returns true if the verdict predicts an effect of the measured lever (a slowdown of a resource). Levers on resources
/// other than the verdict's should have no effect.
fn is_to_change(predicted: &Effect, measured: &Effect) -> bool {
    predicted.lever == measured.lever && predicted.ratio != 1.0
}

/// Returns the predicted change in percent. The prediction for throughput is a fall in proportion to the measured dose.
fn change(of: ProofMetric, predicted: &Effect, measured: &Effect) -> String {
    percent(if of.is_throughput() { 1.0 - predicted.at_dose(measured.dose).ratio } else { predicted.ratio - 1.0 })
}

/// Describes the change of a figure in words.
fn moved(figure: &str, ratio: f64) -> String {
    match ratio {
        r if r < 0.99 => format!("cut {figure} by {}", percent(1.0 - r)),
        r if r > 1.01 => format!("raised {figure} by {}", percent(r - 1.0)),
        _ => format!("did not change {figure}"),
    }
}

/// Returns a sentence about the effect of a lever that was tested in turns.
pub(super) fn turned(effect: &Effect, predicted: Option<f64>) -> String {
    let at_least = |ratio: f64| if ratio >= MAX_PREDICTED_FACTOR { "at least " } else { "" };
    let predicted =
        predicted.map_or(String::new(), |ratio| format!("; predicted {}{}", at_least(ratio), figure(ratio)));
    let (ratio, low, high) = (figure(effect.ratio), figure(effect.low), figure(effect.high));
    format!("{}, throughput was {ratio} times as high ({low} to {high}{predicted})", with_lever(&effect.lever))
}

/// Returns a sentence about the effect of a larger load; empty if no larger load was tested.
pub(super) fn load_sentence(proof: &Proof) -> String {
    proof.effect(LOAD_LEVER).map_or(String::new(), |effect| turned(effect, None))
}

/// Returns the end of a sentence about a larger load, if another load of the run completed more (`most` requests per
/// second).
pub(super) fn beyond_sentence(most: f64) -> String {
    format!(", but another load of this run completed {}, and the limit is not below that", rate(most))
}

/// Returns a sentence about the effect of more source addresses; empty if more source addresses were not tested.
pub(super) fn sources_sentence(proof: &Proof) -> String {
    proof.effect(SOURCES_LEVER).map_or(String::new(), |effect| turned(effect, None))
}

/// Returns a sentence about the lever on the resource that the verdict names, if this lever was not used.
pub(super) fn unused_sentence(proof: &Proof, lever: Option<&str>) -> String {
    let untried = proof.untried.iter().find(|untried| Some(untried.lever.as_str()) == lever);
    match untried {
        Some(untried) => format!("the lever {} was not used: {}", untried.lever, untried.why),
        None => "the suspected resource could not be slowed".into(),
    }
}

/// Returns a sentence about a lever (a slowdown of a resource) without a sufficient effect. Either the lever took much
/// less of its resource than planned, or a quota may have hidden the lever's effect.
pub(super) fn slack_sentence(proof: &Proof, lever: &str) -> String {
    let slots = ProofTrial::of_speeds(&proof.trials).and_then(|trial| trial.lever(lever));
    let ordered =
        slots.and_then(|slots| slots.ordered).map_or(String::new(), |share| format!(" instead of {}", percent(share)));
    let took = proof.measured.as_ref().filter(|m| m.lever == lever).map_or(0.0, |m| m.dose);
    if let Some(wanted) = slots.and_then(|slots| slots.wanted).filter(|wanted| is_beyond(proof, lever, *wanted)) {
        let fell = proof.measured.as_ref().map_or(String::new(), |m| moved(proof.of.name(), m.ratio));
        return format!(
            "the lever on {} {fell}, but the observed processes wanted it only {} of the time: other processes also \
             use it",
            in_words(lever),
            percent(wanted)
        );
    }
    if slots.is_some_and(|slots| super::estimate::is_given(slots, took)) {
        let (whose, took) = (in_words(lever), percent(took));
        return format!(
            "the lever on {whose} took {took} of it, but a quota hides the effect, or its users were not slowed"
        );
    }
    format!("the lever on {} took {} of it{ordered}, too little to show an effect", in_words(lever), percent(took))
}

/// Returns true if throughput certainly fell by more than the lever's resource can explain. `wanted` is the share of
/// the time for which threads wanted the lever's resource.
fn is_beyond(proof: &Proof, lever: &str, wanted: f64) -> bool {
    let measured = proof.measured.as_ref().filter(|m| m.lever == lever);
    measured.is_some_and(|m| m.high < (1.0 - m.dose).powf(wanted))
}

/// Returns a sentence about a direct observation that agrees with the verdict; empty without one. The verdict's
/// sentence already says what sampled threads wait for, so the observation of waiting threads is not repeated.
pub(super) fn seen(facts: &Facts<'_>, verdict: &Bottleneck) -> String {
    let counted = || verdict.counted.first().map(|c| format!("{} {} of {}", figure(c.count), c.what, c.of));
    match observation(facts, verdict) {
        Some(evidence) if evidence.counter == waits::EVIDENCE => "sampled threads show the queue".into(),
        Some(evidence) => format!("seen directly: {}", evidence.text),
        None => counted().map_or_else(String::new, |text| format!("seen directly: {text}")),
    }
}

/// Returns the sentence for the case that no share of throughput is clearly the largest.
pub(super) fn close_sentence(shares: &str) -> String {
    if shares.is_empty() { "too close to tell".into() } else { format!("too close to tell: {shares}") }
}

/// Returns the sentence about a resource that may have become the limit only because of the lever. Without the lever,
/// the resource was in use for the share `used` of the time.
pub(super) fn filled_sentence(lever: &str, used: f64) -> String {
    format!(
        "{} was in use only {} of the time without the lever, so it may limit only with the lever: a smaller dose, or a \
         lever on another full resource, would decide",
        in_words(lever),
        percent(used)
    )
}

/// Joins the non-empty parts of a sentence.
pub(super) fn joined(parts: &[String]) -> String {
    parts.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join("; ")
}

/// Returns a sentence about levers that depend on each other: the shares of throughput that these levers show certainly
/// add up to more than 1.
pub(super) fn dependent_sentence(proof: &Proof) -> String {
    let largest = shares(proof).first().map_or(REMAINDER.to_string(), |(lever, _)| lever.clone());
    match largest.as_str() {
        "server-cpu" | "client-cpu" | "behind-cpu" => "slowing one CPU also slowed the other (a shared core or \
                                                       hypervisor, or very few requests in flight)"
            .into(),
        lever => format!("slowing {} also slowed something else", in_words(lever)),
    }
}

/// Returns a sentence about a lever that also slowed something other than its own resource.
pub(super) fn slows_upstream_sentence(lever: &str) -> String {
    format!("slowing {} also slowed an upstream on the same CPUs", in_words(lever))
}

/// Returns a line of evidence about the largest measured share of throughput. A share that may be anything is no
/// evidence.
pub(super) fn evidence(proof: &Proof) -> Option<Evidence> {
    let is_measured = |lever: &str| part_of(proof, lever).is_none_or(|part| part.basis.is_measured());
    let (lever, e) = shares(proof).into_iter().find(|(lever, e)| is_measured(lever) && !spans_whole(e))?;
    Some(Evidence {
        text: format!("experiment: {} explains {}", in_words(&lever), part(&e)),
        counter: format!("elasticity.{lever}"),
        value: Some(e.value),
        ..Evidence::default()
    })
}

/// Returns a line of evidence about the effect of a larger load.
pub(super) fn load_evidence(proof: &Proof) -> Option<Evidence> {
    let load = proof.elasticities.iter().find(|elasticity| elasticity.lever == LOAD_LEVER)?;
    let (text, value) = (format!("experiment: {}", load_sentence(proof)), Some(load.estimate.value));
    Some(Evidence { text, counter: format!("elasticity.{LOAD_LEVER}"), value, ..Evidence::default() })
}

/// Returns a line of evidence about the effect of more source addresses.
pub(super) fn sources_evidence(proof: &Proof) -> Option<Evidence> {
    let effect = proof.effect(SOURCES_LEVER)?;
    let text = format!("experiment: {}", sources_sentence(proof));
    let (counter, value) = (format!("elasticity.{SOURCES_LEVER}"), Some(effect.ratio));
    Some(Evidence { text, counter, value, ..Evidence::default() })
}

/// If the verdict is "unknown", adds that a longer experiment could decide. If a resource other than the verdict's also
/// explains a large share of throughput, names this resource as the next bottleneck.
pub(super) fn note_close(proof: &Proof, verdict: &mut Bottleneck, own: Option<&str>) {
    if verdict.id == "unknown" {
        verdict
            .missing
            .push("a longer experiment: run `loadline prove` with a larger --budget, on a quiet machine".into());
    }
    let all = shares(proof);
    let other = all.iter().find(|(lever, _)| Some(lever.as_str()) != own && lever != REMAINDER);
    let Some((other, share)) = other.filter(|(_, share)| share.high > UNWANTED) else { return };
    let why = format!("{} also explains {}", in_words(other), part(share));
    verdict.next = Some(NextBottleneck { id: bottleneck_of(other).into(), rate: None, why });
}
