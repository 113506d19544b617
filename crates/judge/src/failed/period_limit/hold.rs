//! Signs for a running search that the server refuses everything for a time, so lower rates would be refused, too.

use run::{Run, Trial};

use super::PeriodLimit;
use super::bursts::{bursts, record};
use crate::context::single::refused;
use crate::failed::failed_stretch::is_no_larger;
use crate::failed::refusals::mostly;
use crate::failed::step::{Step, steps};
use crate::thresholds::{BURSTS_ALIKE, REFUSED};

/// Returns true if the record of a run shows a limit on requests per period, and the length of the period. Further
/// loads would show nothing new about this limit.
pub fn knows_period(run: &Run) -> bool {
    PeriodLimit::of(run, None).is_some_and(|limit| limit.is_known())
}

/// Returns true if the good answers since the last refusals may be the begin of a period: there are no more of them
/// than in the longest earlier burst.
pub fn may_have_period(run: &Run) -> bool {
    let bursts = record(run).map(|record| bursts(&record)).unwrap_or_default();
    let Some((last, before)) = bursts.split_last() else { return true };
    let most = before.iter().filter(|burst| burst.is_used_up).map(|burst| burst.good).reduce(f64::max);
    most.is_none_or(|most| last.good <= (1.0 + BURSTS_ALIKE) * most)
}

/// Returns true if the server refused all requests of the last load for a time, but not because of the load. The signs
/// are that the server answered all requests of another load that was at least as large, or that a load ended with
/// refusals. Lower rates would be refused as well, until the server answers again. Only statuses such as 429 and 503
/// count.
pub fn refuses_for_a_time(run: &Run) -> bool {
    let trials = run.last_repeat();
    let Some((last, before)) = trials.split_last().filter(|(last, _)| is_all_refused(last)) else { return false };
    before.iter().any(|trial| answers_as_large(trial, last) || ends_in_refusals(trial))
}

fn is_all_refused(trial: &Trial) -> bool {
    let whole = &trial.tally;
    refused(trial) >= 1.0
        && whole.good() as f64 <= REFUSED * whole.completed as f64
        && mostly(&[trial], run::is_overload) == Some(true)
}

/// Returns true if the server answered all requests in a step of `trial`, whose load was at least as large as the
/// refused one.
fn answers_as_large(trial: &Trial, all_refused: &Trial) -> bool {
    let is_fast = |step: &Step<'_>| step.good >= all_refused.rates.offered_rate * (step.to_s - step.from_s);
    let is_large = is_no_larger(all_refused, trial);
    steps(trial).iter().any(|step| step.is_answered() && (is_large || is_fast(step)))
}

/// Returns true if a load was answered at first, and then refused.
fn ends_in_refusals(trial: &Trial) -> bool {
    let steps = steps(trial);
    let is_refused_at_last = steps.last().is_some_and(|step| step.good < 1.0 && step.failed > 0.0);
    is_refused_at_last && steps.iter().any(Step::is_answered)
}
