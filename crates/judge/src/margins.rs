//! Margins: how close a verdict is to another one. Each signal that the winning rule compares with a threshold, the closest first.

use run::Margin;

use crate::Facts;
use crate::choose::{Answer, Choice, choose};
use crate::signals::Signal;

/// Returns the margins of a winner. Beyond the threshold of a signal its rule would not bind, so the next choice would be the verdict.
pub(crate) fn of(facts: &Facts<'_>, choice: &Choice<'_>, answers: &[Answer]) -> Vec<Margin> {
    let mut signals = (choice.rule.signals)(facts);
    signals.retain(|signal| signal.value.is_finite() && signal.threshold.is_finite());
    signals.sort_by(|a, b| a.distance().total_cmp(&b.distance()));
    let would_be = choose(answers, &[choice.rule.id]).map_or("", |other| other.rule.id);
    signals.iter().map(|signal| margin(signal, would_be)).collect()
}

fn margin(signal: &Signal, would_be: &str) -> Margin {
    Margin {
        signal: signal.name.into(),
        value: signal.value,
        low: signal.low,
        high: signal.high,
        threshold: signal.threshold,
        would_be: if signal.beyond.is_empty() { would_be } else { signal.beyond }.into(),
    }
}
