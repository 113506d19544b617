//! Figures that a history follows, one value per run.
//!
//! A run of `find` gives its capacity, the server's CPU time per request at the capacity, and the response time with
//! one client. A run of `load` gives the figures of its load, averaged over the repeats.

use run::{FigureUnit, HistoryValue, Intensity, RunSummary, SummaryFigure, TrialSummary};

use crate::compare::{CAPACITY, FAILED, SERVER_CPU};
use crate::number::{finite, positive};
use stats::student::t95;
use stats::{Sample, average};

/// Minimum number of repeats from which a confidence interval is computed.
const MIN_REPEATS: usize = 3;

/// One figure that a history follows, with the function that reads it from a run.
pub(super) struct HistorySpec {
    pub(super) name: &'static str,
    pub(super) unit: FigureUnit,
    pub(super) more_is_better: bool,
    pub(super) of: fn(&RunSummary) -> Option<HistoryValue>,
}

const fn less(name: &'static str, unit: FigureUnit, of: fn(&RunSummary) -> Option<HistoryValue>) -> HistorySpec {
    HistorySpec { name, unit, more_is_better: false, of }
}

/// All figures that a history follows.
pub(super) const FIGURES: &[HistorySpec] = &[
    less(SERVER_CPU, FigureUnit::Micros, |run| match run.plan.command.as_str() {
        "find" => cpu(run.trials.get(run.findings.picks.at_capacity?)?).map(exact),
        _ => repeated(run, |_, trial| cpu(trial)),
    }),
    HistorySpec { more_is_better: true, ..less(CAPACITY, FigureUnit::PerSecond, |run| capacity(run, false)) },
    HistorySpec {
        more_is_better: true,
        ..less("closed-loop capacity", FigureUnit::PerSecond, |run| capacity(run, true))
    },
    HistorySpec {
        more_is_better: true,
        ..less("completed rate", FigureUnit::PerSecond, |run| repeated(run, closed_rate))
    },
    less("p50", FigureUnit::Micros, |run| repeated(run, |_, trial| time(trial, SummaryFigure::P50))),
    less("p99", FigureUnit::Micros, |run| repeated(run, |_, trial| time(trial, SummaryFigure::P99))),
    less("p50 unloaded", FigureUnit::Micros, |run| unloaded(run, SummaryFigure::P50)),
    less("p99 unloaded", FigureUnit::Micros, |run| unloaded(run, SummaryFigure::P99)),
    less(FAILED, FigureUnit::Share, failed),
];

fn exact(value: f64) -> HistoryValue {
    HistoryValue { value, low: None, high: None }
}

fn cpu(trial: &TrialSummary) -> Option<f64> {
    trial.server.as_ref()?.costs.process_cpu_us.as_ref()?.per_request.value().and_then(positive)
}

fn time(trial: &TrialSummary, figure: SummaryFigure) -> Option<f64> {
    trial.latency_us.figure(figure).exact().and_then(positive)
}

/// Returns the capacity of a run of `find`. Returns `None` if the capacity is only a lower bound, or if the load's
/// number of connections was the limit. Clients of a closed loop wait while the server is slow, so a closed loop shows
/// a higher capacity. Capacities of closed and of open loops are therefore separate figures. If both kinds of
/// capacities were in one series, the series would change whenever the kind of loop changes.
fn capacity(run: &RunSummary, of_closed_loop: bool) -> Option<HistoryValue> {
    let found = run.findings.capacity.as_ref().filter(|_| run.plan.command == "find")?;
    let known = found.held && !found.at_least && found.own_limit.is_none();
    let known = known && found.closed_loop.is_some() == of_closed_loop;
    let value = positive(found.rate).filter(|_| known)?;
    let (low, high) = found.low.zip(found.high).unzip();
    Some(HistoryValue { value, low: low.and_then(positive), high: high.and_then(positive) })
}

fn unloaded(run: &RunSummary, figure: SummaryFigure) -> Option<HistoryValue> {
    let trial = run.trials.get(run.findings.picks.unloaded?).filter(|_| run.plan.command == "find")?;
    time(trial, figure).map(exact)
}

/// Returns the trials with a fixed load of a run of `load`, with their indexes.
fn fixed(run: &RunSummary) -> impl Iterator<Item = (usize, &TrialSummary)> {
    let of_load = run.plan.command == "load";
    let fixed = move |trial: &TrialSummary| of_load && trial.kind == run::TrialKind::Fixed && !trial.is_broken();
    run.trials.iter().enumerate().filter(move |(_, trial)| fixed(trial))
}

/// Returns the geometric mean of a figure over all repeats, with an interval if there are at least three repeats.
/// Returns `None` if a repeat lacks the figure.
fn repeated(run: &RunSummary, of: impl Fn((&RunSummary, usize), &TrialSummary) -> Option<f64>) -> Option<HistoryValue> {
    let values: Option<Vec<f64>> = fixed(run).map(|(at, trial)| of((run, at), trial).map(f64::ln)).collect();
    let lns = values.filter(|values| !values.is_empty())?;
    let mean = average(&lns);
    let half = Sample::of(&lns).filter(|_| lns.len() >= MIN_REPEATS).map(|all| t95(all.n - 1.0) * all.error());
    let end = |sign: f64| half.and_then(|half| positive((mean + sign * half).exp()));
    Some(HistoryValue { value: positive(mean.exp())?, low: end(-1.0), high: end(1.0) })
}

/// Returns the rate of good answers of a closed loop. Returns `None` for an open loop, because its plan sets the rate.
fn closed_rate((run, at): (&RunSummary, usize), trial: &TrialSummary) -> Option<f64> {
    let closed = matches!(trial.intensity, Intensity::Closed { .. });
    let judged = run.findings.outcomes.get(at).and_then(|outcome| outcome.good_rate);
    judged.or(finite(trial.goodput)).and_then(positive).filter(|_| closed)
}

fn failed(run: &RunSummary) -> Option<HistoryValue> {
    let share = |at: usize| run.findings.outcomes.get(at)?.failed_share.and_then(finite);
    let shares: Option<Vec<f64>> = fixed(run).map(|(at, _)| share(at)).collect();
    shares.filter(|shares| !shares.is_empty()).map(|shares| exact(average(&shares)))
}
