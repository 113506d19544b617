//! Headline of a load that the user chose.

use run::{Breach, BreachKind, Outcome, Run, SummaryFigure, Trial};

use crate::Unit;
use crate::pages::answered::{asked, of_load};
use crate::pages::{course, first_failures, statuses};
use run::number::prose::counted;
use run::number::{number, quantity};

/// Returns the headline of a load that the user chose; `None` for a search. If no answer was good, the headline states
/// this fact and its reason. If some answers were good and a limit was exceeded, the headline begins with the exceeded
/// limit. For a load with good answers, the headline also states the percentiles and the rate of good answers. If the
/// offered rate changed during the load, the headline states the highest rate that met the objective instead.
pub(crate) fn title(run: &Run) -> Option<String> {
    let all: Vec<(&Trial, Outcome)> = of_load(run).filter(|_| asked(run)).collect();
    let (trial, first) = all.first()?;
    if all.iter().all(|(_, outcome)| outcome.good_rate.is_none_or(|rate| rate <= 0.0)) {
        return Some(without_good_answers(trial));
    }
    let times = |figure| {
        let lowest = all.iter().map(|(trial, _)| trial.latency_us.figure(figure).lowest().unwrap_or(0.0));
        let text = range(lowest, |us| quantity(us, Unit::Micros));
        let known = all.iter().all(|(trial, _)| trial.latency_us.figure(figure).exact().is_some());
        if known { text } else { format!("at least {text}") }
    };
    let times = format!("p50 {}, p99 {}", times(SummaryFigure::P50), times(SummaryFigure::P99));
    let repeats = if all.len() > 1 { format!(" in {} repeats", all.len()) } else { String::new() };
    let rest = match &run.findings.course {
        // If the offered rate changed, percentiles over the whole load would describe no single rate.
        Some(changed) => course::headline(changed),
        None => {
            let rates = range(all.iter().filter_map(|(_, outcome)| outcome.good_rate), number);
            let failed = all.iter().any(|(_, outcome)| outcome.failed_share.is_some_and(|share| share > 0.0));
            format!("{times} at {rates} {}/s{repeats}", if failed { "good answers" } else { "requests" })
        }
    };
    let breach = first.breach.as_ref();
    Some(match breach.and_then(|breach| broken(breach, trial, run.findings.course.is_some())) {
        Some(why) => format!("{why}; {rest}"),
        None => crate::words::capital(&rest),
    })
}

/// Returns the headline of a load whose measured window has no good answer. Good answers outside of the window are
/// counted, because they show that the requests were right before the failures began.
fn without_good_answers(trial: &Trial) -> String {
    let words = first_failures::first_words(trial).map(str::to_owned);
    let why: Vec<String> = statuses::main(&trial.tally).into_iter().chain(words).collect();
    let why = if why.is_empty() { String::new() } else { format!(": {}", why.join(", ")) };
    match trial.tally.good().saturating_sub(trial.test_requests) {
        0 => format!("No answer was good{why}"),
        good => format!(
            "No answer in the measured window was good{why}; {} outside of the window",
            counted(good as f64, "good answer")
        ),
    }
}

/// Formats the smallest and the largest value as a range, or as one value if both look equal after rounding.
fn range(values: impl Iterator<Item = f64> + Clone, write: impl Fn(f64) -> String) -> String {
    let [least, most] = [values.clone().fold(f64::INFINITY, f64::min), values.fold(0.0, f64::max)].map(write);
    if least == most { least } else { format!("{least} to {most}") }
}

/// Describes an exceeded limit, for the beginning of a headline. Returns `None` for an exceeded limit on a time. If the
/// offered rate changes, also returns `None` for a server that did not keep up. Another sentence of the report already
/// states this fact.
fn broken(breach: &Breach, trial: &Trial, changed: bool) -> Option<String> {
    let value = breach.value.map(|value| quantity(value, Unit::Share))?;
    match breach.kind {
        BreachKind::Errors => {
            let status =
                statuses::main(&trial.tally).map_or(String::new(), |status| format!(", most with status {status}"));
            Some(format!("{value} of the requests failed{status}"))
        }
        BreachKind::Unanswered => Some(format!("{value} of the requests were never answered")),
        BreachKind::Behind if !changed => Some(format!("Only {value} of the offered load completed")),
        _ => None,
    }
}
