//! Failures that depend on time, not on load: every request failed during one stretch of a run, and no request failed
//! outside of the stretch. For example, an expired token makes every request fail for some time, and so does a server
//! that still loads its data. A rate limit usually lets some requests pass at any time, so a rate limit rarely makes
//! every request fail.

use run::{ErrorKind, IncidentKind, NOTHING_LISTENS, Run, Trial};

use super::step::{Step, steps};
use crate::context::single::{clients, closed, good};
use crate::number::{counted, rate, ratio};
use crate::thresholds::{FEWEST_REQUESTS, MOST};

/// Maximum number of report intervals, around the beginning or the end of the stretch, that contain requests from
/// before and after this moment. Generators report at different times, so two neighbouring intervals may be mixed.
const MIXED_REPORTS: usize = 2;
/// Maximum number of steps, at the beginning or at the end of the stretch, in which some requests failed and others
/// succeeded. A report interval is as long as a step but may begin inside a step. [`MIXED_REPORTS`] neighbouring
/// intervals may therefore overlap `MIXED_REPORTS + 1` steps.
const MAX_EDGE_STEPS: usize = MIXED_REPORTS + 1;

/// A stretch of time in which every request failed.
#[derive(Clone, Debug)]
pub(crate) struct FailedStretch<'a> {
    /// Trials whose requests failed in the stretch.
    pub(crate) trials: Vec<&'a Trial>,
    /// Trial in which the failures began, and seconds from the start of its load to the first failed step. `None` if
    /// requests failed from the start of the run.
    begin: Option<(&'a Trial, f64)>,
    /// Trial in which the failures ended, and seconds from the start of its load to the end of the last failed step.
    /// `None` if the failures lasted to the end of the run.
    end: Option<(&'a Trial, f64)>,
    /// True if most failures in the stretch were refused connects.
    is_refused: bool,
    /// True if most failures in the stretch were answers of a rate limit, such as 429.
    pub(crate) is_limited: bool,
}

impl<'a> FailedStretch<'a> {
    /// Finds the stretch of a run in which every request failed. Returns `None` if the load may explain the failures.
    /// Failures do not depend on the load if a failed load was no larger than a good load. The failed and the good load
    /// may be two parts of one trial. Failures do not depend on the load either if a single request failed while there
    /// was no load.
    pub(crate) fn of(run: &'a Run) -> Option<Self> {
        if !run.sent_requests() || !run.plan.load.stages.is_empty() {
            return None;
        }
        // If the server stopped answering, the trial's counts are still valid. If the trial ended early for another
        // reason, such as a dead generator, its counts are not used.
        let is_counted = |t: &Trial| t.broken().is_none_or(|i| i.kind == IncidentKind::ServerUnreachable);
        let loads = run.trials.iter().filter(|t| !t.kind.is_auxiliary() && t.by_hand.is_empty() && is_counted(t));
        let steps: Vec<Step<'_>> = loads.flat_map(steps).filter(|step| step.all() > 0.0).collect();
        let first = steps.iter().position(Step::all_failed)?;
        let last = steps.iter().rposition(Step::all_failed)?;
        let (before, inside, after) = (&steps[..first], &steps[first..=last], &steps[last + 1..]);
        let sum = |steps: &[Step<'_>], count: fn(&Step<'_>) -> f64| steps.iter().map(count).sum::<f64>();
        let mixed = |steps: &[Step<'_>]| steps.iter().filter(|step| !step.none_failed()).count();
        let clean = mixed(edge(before, false)) == mixed(before) && mixed(edge(after, true)) == mixed(after);
        let mut trials: Vec<&Trial> = inside.iter().map(|step| step.trial).collect();
        trials.dedup_by(|a, b| std::ptr::eq(*a, *b));
        let refused: f64 = trials.iter().map(|t| refused_connects(t)).sum();
        let is_refused = refused >= MOST * sum(inside, |s| s.failed);
        // A client pauses longer after each failed connect, so few clients cause few failures. After refused connects,
        // the larger number is therefore used: failures, or missing answers.
        let missed = if is_refused { missed(before.iter().chain(after), inside) } else { 0.0 };
        let enough = sum(inside, |s| s.failed).max(missed) >= FEWEST_REQUESTS as f64
            && sum(before, |s| s.good) + sum(after, |s| s.good) >= FEWEST_REQUESTS as f64;
        if !inside.iter().all(Step::all_failed) || !clean || !enough {
            return None;
        }
        let begin = before.last().map(|_| (inside[0].trial, inside[0].from_s));
        let end = after.first().map(|_| (inside[inside.len() - 1].trial, inside[inside.len() - 1].to_s));
        let good: Vec<&Step<'_>> = before.iter().chain(after).filter(|step| step.none_failed()).collect();
        let by_load = |failed: &Step<'_>| !good.iter().any(|good| is_no_larger(failed.trial, good.trial));
        let at_rest = |failed: &Step<'_>| failed.trial.incidents.iter().any(|i| i.kind == IncidentKind::RefusedAtRest);
        let by_time = inside.iter().any(|failed| !by_load(failed) || at_rest(failed));
        let is_limited = limited(&trials) >= MOST * sum(inside, |s| s.failed);
        by_time.then_some(Self { trials, begin, end, is_refused, is_limited })
    }

    /// Returns true if requests of this trial failed in the stretch.
    pub(crate) fn holds(&self, trial: &Trial) -> bool {
        self.trials.iter().any(|one| std::ptr::eq(*one, trial))
    }

    /// Returns a sentence that says when every request or connect failed, and why.
    pub(crate) fn sentence(&self, kinds: &str) -> String {
        let at = |(trial, t_s): (&Trial, f64)| match closed(trial) {
            true => format!("{t_s:.1} s into the load of {}", counted(clients(trial), "client")),
            false => format!("{t_s:.1} s into the load of {}", rate(trial.rates.offered_rate)),
        };
        let when = match (self.begin, self.end) {
            (Some(begin), Some(end)) if std::ptr::eq(begin.0, end.0) => format!("from {:.1} s to {}", begin.1, at(end)),
            (Some(begin), Some(end)) => format!("from {} to {}", at(begin), at(end)),
            (Some(begin), None) => format!("from {} on", at(begin)),
            (None, Some(end)) => format!("until {}", at(end)),
            (None, None) => "at all times".into(),
        };
        let why = match self.is_refused {
            true => NOTHING_LISTENS,
            false if self.is_limited => "the server limits the rate of requests",
            false => "the server changed, not the load",
        };
        // In an open loop, requests wait while connects are refused, and may be answered later.
        let requests_wait = self.is_refused && self.trials.iter().all(|trial| trial.counts_connects_apart());
        let what = if requests_wait { "connect" } else { "request" };
        format!("every {what} failed {when}{kinds}, and none at other times: {why}")
    }
}

/// Returns the number of answers whose status shows a rate limit.
fn limited(trials: &[&Trial]) -> f64 {
    let of = |trial: &&Trial| {
        let refusals = trial.measured.tally.refusals();
        refusals.filter(|(status, _)| run::is_rate_limit(status)).map(|(_, n)| n as f64).sum::<f64>()
    };
    trials.iter().map(of).sum()
}

/// Returns the number of a trial's connects that were refused.
fn refused_connects(trial: &Trial) -> f64 {
    trial.measured.tally.errors.count(ErrorKind::ConnectRefused) as f64
}

/// Returns the number of answers that the server would have given during the failed steps at the rate of the good
/// steps. Returns 0 for a single failed step, or if the failed steps belong to several trials.
fn missed<'s, 'a: 's>(good: impl Iterator<Item = &'s Step<'a>>, failed: &[Step<'_>]) -> f64 {
    let (answers, seconds) = good.fold((0.0, 0.0), |sum, step| (sum.0 + step.good, sum.1 + step.to_s - step.from_s));
    let length_s = match failed {
        [first, .., last] if std::ptr::eq(first.trial, last.trial) => last.to_s - first.from_s,
        _ => 0.0,
    };
    ratio(answers, seconds).unwrap_or(0.0) * length_s
}

/// Returns the steps next to the failed stretch: the first steps after the stretch if `is_after` is true, else the last
/// steps before the stretch.
fn edge<'s, 'a>(steps: &'s [Step<'a>], is_after: bool) -> &'s [Step<'a>] {
    let n = steps.len().min(MAX_EDGE_STEPS);
    if is_after { &steps[..n] } else { &steps[steps.len() - n..] }
}

/// Returns true if a failed load was no larger than a good load. If the failed load is an open loop, its offered rate
/// is compared with the other load's good answers per second. A failed closed loop is compared by its number of
/// clients, and only with other closed loops. Quick refusals raise a closed loop's rate, so this rate does not tell how
/// large the load was.
pub(super) fn is_no_larger(failed: &Trial, other: &Trial) -> bool {
    match (closed(failed), closed(other)) {
        (true, true) => clients(failed) <= clients(other),
        (false, _) => failed.rates.offered_rate <= good(other),
        (true, false) => false,
    }
}

#[cfg(test)]
mod tests;
