//! Figures by which old and new runs are compared. Each figure has one value for each window.

use std::collections::BTreeMap;

use run::{ComparedTime, FigureRole, FigureUnit, Run, SummaryFigure, Trial};

use crate::context::single::good;
use crate::number::{finite, positive};

/// A compared figure, with the function that reads it from a trial.
pub(crate) struct FigureSpec {
    pub(crate) name: &'static str,
    pub(crate) unit: FigureUnit,
    pub(crate) more_is_better: bool,
    pub(crate) role: FigureRole,
    /// True if the figure hardly varies between windows of one server process. If true, all windows of a run count as
    /// one observation.
    pub(crate) level: bool,
    pub(crate) of: fn(&Trial) -> Option<f64>,
    /// True if the figure may be 0, for example in a window without answers.
    pub(crate) zeros: bool,
    /// Quantile, 0 to 1, if the figure is a percentile; else absent. A percentile is computed from the merged windows.
    pub(crate) quantile: Option<f64>,
}

const fn less(name: &'static str, unit: FigureUnit, of: fn(&Trial) -> Option<f64>) -> FigureSpec {
    let (role, more_is_better) = (FigureRole::Required, false);
    FigureSpec { name, unit, more_is_better, role, level: false, zeros: false, of, quantile: None }
}

const fn percentile(name: &'static str, quantile: f64, of: fn(&Trial) -> Option<f64>) -> FigureSpec {
    FigureSpec { quantile: Some(quantile), ..less(name, FigureUnit::Micros, of) }
}

/// Makes a high percentile, which only few requests determine. A high percentile is too uncertain to be a required
/// figure ([`FigureRole`]), but it may show a difference.
const fn tail(name: &'static str, quantile: f64, of: fn(&Trial) -> Option<f64>) -> FigureSpec {
    FigureSpec { role: FigureRole::Deciding, ..percentile(name, quantile, of) }
}

const fn beside(name: &'static str, of: fn(&Trial) -> Option<f64>) -> FigureSpec {
    FigureSpec { role: FigureRole::Listed, ..less(name, FigureUnit::Plain, of) }
}

/// Makes a figure that is a part of another figure, as user CPU time is a part of CPU time. Figures that are parts of
/// another figure do not influence the result, because two parts may change although their sum stays the same.
const fn part(name: &'static str, of: fn(&Trial) -> Option<f64>) -> FigureSpec {
    FigureSpec { role: FigureRole::Listed, ..less(name, FigureUnit::Micros, of) }
}

/// Name of the capacity in the table.
pub(crate) const CAPACITY: &str = "capacity";
/// Name of the rate of good answers.
pub(crate) const COMPLETED_RATE: &str = "completed rate";
/// Name of the share of failed requests. Shares are compared by their difference, not by a ratio.
pub(crate) const FAILED: &str = "failed share";

/// Name of the server's CPU time per request, the first figure of the table.
pub(crate) const SERVER_CPU: &str = "server CPU per request";

/// All figures that the table of a comparison shows. CPU time per request comes first, because it scatters far less
/// than throughput.
pub(crate) const FIGURES: &[FigureSpec] = &[
    less(SERVER_CPU, FigureUnit::Micros, |t| server(t, IN_TABLE[0])),
    part("server CPU, user mode", |t| server(t, IN_TABLE[1])),
    part("server CPU, kernel", |t| server(t, IN_TABLE[2])),
    FigureSpec {
        more_is_better: true,
        zeros: true,
        ..less(COMPLETED_RATE, FigureUnit::PerSecond, |t| finite(good(t)).filter(|rate| *rate > 0.0 || asked(t)))
    },
    percentile("p50", 0.5, |t| known(t, SummaryFigure::P50)),
    tail("p99", 0.99, |t| known(t, SummaryFigure::P99)),
    tail("p99.9", 0.999, |t| known(t, SummaryFigure::P999)),
    part("first byte p50", |t| first_byte(t, SummaryFigure::P50)),
    part("first byte p99", |t| first_byte(t, SummaryFigure::P99)),
    part("first event p50", |t| t.first_event_us.exact(SummaryFigure::P50).and_then(positive)),
    part("first event p99", |t| t.first_event_us.exact(SummaryFigure::P99).and_then(positive)),
    part("gap p50", |t| t.gap_us.exact(SummaryFigure::P50).and_then(positive)),
    part("gap p99", |t| t.gap_us.exact(SummaryFigure::P99).and_then(positive)),
    beside("voluntary switches", |t| server(t, IN_TABLE[3])),
    beside("involuntary switches", |t| server(t, IN_TABLE[4])),
    FigureSpec {
        unit: FigureUnit::Bytes,
        ..beside("bytes in per request", |t| each(t, t.measured.tally.bytes_received))
    },
    FigureSpec { unit: FigureUnit::Bytes, ..beside("bytes out per request", |t| each(t, t.measured.tally.bytes_sent)) },
    FigureSpec { unit: FigureUnit::Bytes, level: true, ..beside("memory", memory) },
];

/// Returns a response time in microseconds. The result is `None` if only a lower bound of the response time is known.
fn known(trial: &Trial, figure: SummaryFigure) -> Option<f64> {
    trial.latency_us.figure(figure).exact().and_then(positive)
}

/// Returns a figure of the time to the first byte, microseconds. Returns `None` if the time to the first byte equals
/// the response time, because each answer came in one piece.
fn first_byte(trial: &Trial, figure: SummaryFigure) -> Option<f64> {
    let first = Some(&trial.first_byte_us).filter(|first| **first != trial.latency_us);
    first?.figure(figure).exact().and_then(positive)
}

/// IDs of the costs per request that the table already shows under other names. The table's list of further costs
/// leaves out the costs with these IDs.
const IN_TABLE: [&str; 5] =
    ["process_cpu_us", "process_user_us", "process_system_us", "voluntary_switches", "involuntary_switches"];

/// Returns IDs and units of all costs of the servers in these runs, except those in [`IN_TABLE`].
pub(crate) fn costs(runs: &[Run]) -> BTreeMap<String, FigureUnit> {
    let servers = runs.iter().flat_map(|r| &r.trials).filter_map(|t| t.server.as_ref());
    let all = servers.flat_map(|s| &s.costs).filter(|(id, _)| !IN_TABLE.contains(&id.as_str()));
    all.map(|(id, cost)| (id.clone(), cost.unit)).collect()
}

/// Returns true if a trial sent any request. A trial that only times function calls sends no request.
pub(crate) fn asked(trial: &Trial) -> bool {
    trial.rates.completed_rate > 0.0 || trial.tally.sent > 0 || trial.tally.attempted > 0
}

/// Returns a time of the experiment in microseconds. Returns `None` if the trial sent requests, because only trials
/// without requests time the calls of a function.
pub(crate) fn timed(trial: &Trial, time: &ComparedTime) -> Option<f64> {
    let us = time.values.iter().find_map(|name| trial.results.values.number(name));
    us.and_then(positive).filter(|_| !asked(trial))
}

/// Returns the times by which runs of an experiment are compared.
pub(crate) fn times(runs: &[Run]) -> &[ComparedTime] {
    runs.iter().find_map(|run| run.findings.experiment.as_ref()).map_or(&[], |shown| &shown.compared)
}

/// Returns true if a trial timed function calls and sent no request.
pub(crate) fn times_calls(trial: &Trial) -> bool {
    !asked(trial) && trial.results.values.numbers().next().is_some()
}

/// Returns a cost of the server per request.
pub(crate) fn server(trial: &Trial, id: &str) -> Option<f64> {
    let cost = trial.server.as_ref()?.costs.get(id)?;
    cost.per_request.value().and_then(positive)
}

fn each(trial: &Trial, bytes: u64) -> Option<f64> {
    positive(bytes as f64 / trial.measured.tally.completed as f64)
}

fn memory(trial: &Trial) -> Option<f64> {
    let id = run::CounterId("process.rss".into());
    trial.server.as_ref()?.counters.get(&id)?.value().and_then(positive)
}
