//! Capacity estimate for a response time limit that is long compared with a measured window. In an overload, the queue
//! grows during the whole window. A short window ends before any answer is late, so no limit on the response time is
//! exceeded. Overloaded windows show the capacity directly: it is the rate at which the server completes requests while
//! more requests are offered.

use run::{BreachKind, Limits};
use stats::posterior::CapacityEstimate;
use stats::student::t95;
use stats::{NORMAL_95, Sample, average, normal_tail};

use super::left_out::is_undisturbed;
use super::observed::{At, constraint, shown};
use super::pooled::Pooled;
use crate::estimate::objective::{breach, late_us, parts};
use crate::thresholds::{FEWEST_WINDOWS, HELD_RATE};

/// Returns the mean completed rate of the overloaded windows, if the server fell behind in a window without late
/// answers. `clean` leaves out windows that were disturbed, because a disturbance lowers the completed rate.
pub(super) fn left_over(windows: &[At<'_>], limits: &Limits, clean: bool) -> Option<Pooled> {
    let limit_us = late_us(limits).into_iter().reduce(f64::min)?;
    let is_usable = |at: &&At<'_>| !clean || is_undisturbed(at.trial, limit_us, at.usual);
    let usable: Vec<&At<'_>> = windows.iter().filter(is_usable).collect();
    usable.iter().find(|at| is_unnoticed(at, limits))?;
    let overloaded = overloaded(&usable)?;
    let estimate = estimate(&overloaded);
    let beyond = estimate.rate / (HELD_RATE * HELD_RATE);
    Some(Pooled { estimate, beyond, windows: overloaded.len(), of_overloads: true, is_lowered: false, left_out: None })
}

/// Returns true if the server fell behind in a window, although too few answers were late to break a limit.
fn is_unnoticed(at: &At<'_>, limits: &Limits) -> bool {
    let breaks = |part| shown(at, part, false).is_some_and(|window| constraint(part, None).breaks(&window));
    let falls_behind = breach(at.trial, limits).is_some_and(|breach| breach.kind == BreachKind::Behind);
    falls_behind && !parts(limits).into_iter().any(breaks)
}

/// Returns the chance that the server can keep up with the rate of a window in which the server fell behind without
/// late answers. Returns `None` for a window in which the server kept up, or in which answers were late. The number of
/// completed requests is assumed to vary like a Poisson count.
pub(super) fn chance_unnoticed(at: &At<'_>, limits: &Limits) -> Option<f64> {
    let completed = at.trial.measured.tally.completed as f64;
    let missing = at.rate * at.trial.measured.window.length_s() - completed;
    is_unnoticed(at, limits).then(|| normal_tail(missing / completed.max(1.0).sqrt()))
}

/// Returns the overloaded windows. A window is overloaded if its offered rate is far above the mean completed rate of
/// all overloaded windows. Whether a window counts as overloaded does not depend on its own completed rate. A choice by
/// completed rates would prefer windows with low rates, and so lower the mean.
fn overloaded<'w, 'a>(windows: &[&'w At<'a>]) -> Option<Vec<&'w At<'a>>> {
    let highest = windows.iter().max_by(|a, b| a.rate.total_cmp(&b.rate))?;
    let mut chosen = vec![*highest];
    // If the set of chosen windows keeps changing, the loop ends after as many passes as there are windows.
    for _ in windows {
        let mean = average(&completed_ln(&chosen)).exp();
        let next: Vec<&At<'_>> = windows.iter().filter(|at| at.rate * HELD_RATE >= mean).copied().collect();
        if next.is_empty() || next.len() == chosen.len() {
            break;
        }
        chosen = next;
    }
    Some(chosen)
}

/// Returns the logarithms of the completed rates.
fn completed_ln(windows: &[&At<'_>]) -> Vec<f64> {
    windows.iter().map(|at| at.trial.rates.completed_rate.ln()).collect()
}

/// Returns the mean completed rate of `windows` with the interval of this mean. The interval of fewer than
/// [`FEWEST_WINDOWS`] windows is computed from the number of requests, which is assumed to vary like a Poisson count.
fn estimate(windows: &[&At<'_>]) -> CapacityEstimate {
    let rates = completed_ln(windows);
    let requests: f64 = windows.iter().map(|at| at.trial.measured.tally.completed as f64).sum();
    // Each window counts whole requests, so its count may be wrong by half a request.
    let rounding = rates.len() as f64 / (2.0 * requests.max(1.0));
    let (error, speeds) = match Sample::of(&rates).filter(|_| rates.len() >= FEWEST_WINDOWS) {
        Some(sample) => ((t95(sample.n - 1.0) * sample.error()).max(rounding), sample.sd),
        None => (NORMAL_95 / requests.max(1.0).sqrt(), 0.0),
    };
    let rate = average(&rates).exp();
    // Above the capacity, all answers become late after some time. Below the capacity, no answer is late.
    CapacityEstimate { rate, low: rate / error.exp(), high: rate * error.exp(), steep: f64::INFINITY, speeds }
}
