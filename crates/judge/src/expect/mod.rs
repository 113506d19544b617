//! Results of the user's expectations (`--expect`), each with the measured figure and its interval.
//!
//! A run is judged by all windows near the capacity, including windows that do not meet the expectation. If only the
//! windows that meet an expectation counted, no run would ever fail.

mod figure;
mod rates;
mod response_time;
mod windows;

use run::{Expectation, ExpectationResult, Findings, Run, TrialKind};
use stats::Sample;
use stats::student::t95;

use crate::context::repeats::{at_capacity, finished};
use crate::number::{counted, finite};
use figure::{Figure, words};
use windows::Seen;

/// Returns the result of every expectation in the plan, from the windows that represent the run. If the run has
/// repeats, the mean over the repeats is compared with the expectation.
pub(crate) fn expected(run: &Run, findings: &Findings) -> Vec<ExpectationResult> {
    let parts: Vec<Option<Seen<'_>>> = match run.repeats().count() > 1 {
        true => {
            at_capacity(run).into_iter().map(|at| at.map(|(trials, at, rate)| Seen::near(trials, at, rate))).collect()
        }
        false => {
            let at = findings.picks.loaded.and_then(|at| run.trials.get(at));
            let rate = findings.capacity.as_ref().filter(|c| c.held).map(|c| c.rate);
            vec![at.map(|at| Seen::near(&run.trials, at, rate))]
        }
    };
    run.plan.expect.iter().map(|e| one(e, &parts, findings, finished(run).count())).collect()
}

/// Returns the mean of a figure over the repeats, with its interval. If any repeat lacks the figure, the mean is
/// unknown. If any repeat has only a lower bound, the mean is a lower bound, too.
fn over(parts: &[Option<Seen<'_>>], figure: &str) -> Figure {
    let found: Vec<Figure> = parts.iter().flatten().map(|seen| seen.of(figure)).collect();
    let values: Option<Vec<f64>> = found.iter().map(|found| found.value.and_then(finite)).collect();
    let values = values.filter(|values| values.len() == parts.len());
    let Some(sample) = values.and_then(|values| Sample::of(&values)) else { return Figure::default() };
    let lost = found.iter().filter_map(|found| found.lost).reduce(f64::max);
    if lost.is_some() {
        return Figure { value: Some(sample.mean), lost, ..Figure::default() };
    }
    let half = t95(sample.n - 1.0) * sample.error();
    // No figure is below 0, and a share of failed requests is at most 1.
    let most = if figure == "errors" { 1.0 } else { f64::INFINITY };
    Figure::around(Some(sample.mean), Some(((sample.mean - half).max(0.0), (sample.mean + half).min(most))))
}

/// Returns the capacity of the run. The capacity is unknown if no rate met the objective, or if any repeat has no
/// capacity.
fn capacity(findings: &Findings) -> Figure {
    let all = findings.repeats.iter().all(|repeat| repeat.capacity.is_some());
    let found = findings.capacity.as_ref().filter(|c| c.held && all);
    let around = Figure::around(found.map(|c| c.rate), found.and_then(|c| c.low.zip(c.high)));
    let closed_loop = found.and_then(|c| c.closed_loop);
    Figure { none_failed: found.is_some_and(|c| c.at_least), closed_loop, ..around }
}

/// Returns true if the run has only loads that the user chose. Loads that the user chose show no capacity.
fn fixed(parts: &[Option<Seen<'_>>]) -> bool {
    let mut trials = parts.iter().flatten().flat_map(|seen| &seen.0).peekable();
    trials.peek().is_some() && trials.all(|trial| trial.kind == TrialKind::Fixed)
}

fn one(expectation: &Expectation, parts: &[Option<Seen<'_>>], findings: &Findings, all: usize) -> ExpectationResult {
    let figure = expectation.figure.as_str();
    let found = match (figure, parts) {
        ("capacity", _) if fixed(parts) => Figure::default(),
        ("capacity", _) => capacity(findings),
        (_, [one]) => one.as_ref().map_or_else(Figure::default, |seen| seen.of(figure)),
        _ => over(parts, figure),
    };
    let value = found.value.and_then(finite);
    let met = value.is_some_and(|v| match expectation.at_least {
        true => v >= expectation.limit,
        // A lower bound below the limit does not show that the value itself is below the limit.
        false => v <= expectation.limit && found.lost.is_none() && !found.none_failed,
    });
    // If the search ran out of time, the capacity may be higher than the measured value, so the expectation may be met.
    let is_open = found.none_failed && !met && value.is_some_and(|v| v <= expectation.limit);
    let is_inside = value.is_some() && found.may_be(expectation.limit);
    let advice = if is_inside { "; the limit is within this interval: measure longer to be sure" } else { "" };
    ExpectationResult {
        text: expectation.text.clone(),
        value,
        low: found.low,
        high: found.high,
        met,
        undecided: is_open || is_inside,
        found: value.map_or_else(
            || missing(parts, findings, figure, all),
            |value| format!("{}{advice}", words(figure, value, &found)),
        ),
    }
}

/// Returns the reason why a figure is missing, in words.
fn missing(parts: &[Option<Seen<'_>>], findings: &Findings, figure: &str, all: usize) -> String {
    let nothing = parts.iter().filter(|seen| seen.is_none()).count();
    let held_none = findings.repeats.iter().filter(|repeat| repeat.capacity.is_none()).count();
    if figure == "capacity" && fixed(parts) {
        return "one fixed load shows no capacity: run `loadline find`".into();
    }
    match (figure == "capacity", nothing, held_none) {
        (false, 1.., _) if all > 1 => {
            format!("not measured: {nothing} of {} completed nothing", counted(all as f64, "repeat"))
        }
        (true, _, 1..) => {
            let all = counted(all as f64, "repeat");
            format!("not measured: {held_none} of {all} held the objective at no rate")
        }
        (false, ..) if !parts.is_empty() && parts.iter().flatten().all(Seen::none_good) => {
            let answers = crate::number::total(parts.iter().flatten().map(Seen::answers));
            format!("not measured: none of {} in the measured window was good", counted(answers as f64, "answer"))
        }
        (true, ..) if findings.capacity.as_ref().is_some_and(|c| !c.held) => {
            "not measured: no load held the objective".into()
        }
        _ => "not measured".into(),
    }
}

#[cfg(test)]
mod interval_tests;
#[cfg(test)]
mod tests;
