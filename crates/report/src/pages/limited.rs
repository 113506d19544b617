//! Lines of the summary that name the bottleneck and give advice.

use run::Run;

use super::answered::{is_judged, is_of_search};
use crate::{AnswerLine, Tone, Unit};
use run::number::quantity;

/// Returns the summary line that names the bottleneck, with the confidence in the verdict.
pub(super) fn limited_by(run: &Run) -> Option<AnswerLine> {
    let found = &run.findings.bottleneck;
    let meaning = run::bottleneck(&found.id).map_or("", |b| b.meaning);
    let sentence = if found.sentence.is_empty() { meaning } else { &found.sentence };
    let (value, tone) = match found.id.as_str() {
        "unknown" | "" => ("unknown".into(), Tone::Plain),
        "not-saturated" => (String::new(), Tone::Plain),
        id => (format!("{id} ({}, {})", found.sureness.word(), quantity(found.confidence, Unit::Share)), Tone::Warn),
    };
    let value = if sentence.is_empty() || value.is_empty() { value } else { format!("{value}:") };
    is_judged(run).then(|| AnswerLine::new("Limited by", value, sentence).toned(tone).leading("verdict"))
}

/// Returns true if a search's summary line "Limited by" already contains the text of `observation`.
pub(super) fn is_stated(run: &Run, observation: &str) -> bool {
    let text = observation.strip_prefix("sampled threads: ").unwrap_or(observation);
    is_of_search(run) && is_judged(run) && !text.is_empty() && run.findings.bottleneck.sentence.contains(text)
}

/// Returns the summary line with the first piece of advice. If the bottleneck is unknown and the verdict has no advice,
/// the line names missing data instead.
pub(super) fn advice(run: &Run) -> Option<AnswerLine> {
    let found = &run.findings.bottleneck;
    let advised = found.advice.first().map(|advice| ("Try", advice));
    let missing = || found.missing.first().filter(|_| found.id == "unknown").map(|missing| ("Missing", missing));
    let (name, text) = advised.or_else(missing)?;
    Some(AnswerLine::new(name, "", text.clone()))
}
