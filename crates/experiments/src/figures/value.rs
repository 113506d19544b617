//! A value of a trial, for an axis or a table column. Plain fields of the trial are read directly. Costs and
//! counters have IDs, which a test checks.

use run::{Recording, Side, Summary, SummaryFigure, Trial, ValueName, Window};

/// Origin of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Of {
    /// A field, or a value computed from several fields.
    Field(fn(&Trial) -> Option<f64>),
    /// A value that the experiment measured.
    Measured(ValueName<f64>),
    /// A value that the experiment set, by name.
    Set(&'static str),
    /// A figure of the response times in microseconds.
    Response(SummaryFigure),
    /// A figure of the connect times in microseconds.
    Connect(SummaryFigure),
    /// Cost per request of a side, by ID.
    Cost(Who, &'static str),
    /// Counter of a side over the window, by ID.
    Counter(Who, &'static str),
    /// CPU utilization of a side over the samples.
    Busy(Who, Busy),
    /// Share of a side's CPU time in the kernel and in interrupts.
    Privileged(Who),
}

/// A side of a trial.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Who {
    Client,
    Server,
}

/// Statistic of the CPU utilization between samples.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Busy {
    Least,
    Mean,
    Most,
}

/// Creates a value that reads a setting of the experiment.
pub(crate) const fn set<T>(name: ValueName<T>) -> Of {
    Of::Set(name.name())
}

/// Throughput in completed requests per second.
pub(crate) const COMPLETED: Of = Of::Field(|t| Some(t.rates.completed_rate));
/// Mean response time.
pub(crate) const RESPONSE: Of = Of::Response(SummaryFigure::Mean);

/// Returns the value, or `None` if the trial has none.
pub(crate) fn value(trial: &Trial, of: Of) -> Option<f64> {
    let found = match of {
        Of::Field(field) => field(trial),
        Of::Measured(name) => trial.results.get(name),
        Of::Set(name) => trial.key.values.number(name),
        Of::Response(figure) => of_summary(&trial.latency_us, figure),
        Of::Connect(figure) => of_summary(&trial.connect_us, figure),
        Of::Cost(who, id) => side(trial, who)?.costs.get(id)?.per_request.value(),
        Of::Counter(who, id) => side(trial, who)?.counters.iter().find(|(known, _)| known.as_str() == id)?.1.value(),
        Of::Busy(who, which) => busy(&side(trial, who)?.recording, trial, which),
        Of::Privileged(who) => privileged(&side(trial, who)?.recording, trial),
    };
    found.filter(|v| v.is_finite())
}

/// Converts a count in the window to a rate per second.
pub(crate) fn per_s(trial: &Trial, n: u64) -> Option<f64> {
    Some(n as f64 / positive(trial.measured.length_s)?)
}

fn side(trial: &Trial, who: Who) -> Option<&Side> {
    match who {
        Who::Client => Some(&trial.client),
        Who::Server => trial.server.as_ref(),
    }
}

/// Returns a figure if it is known exactly, and not only as a lower bound.
fn of_summary(s: &Summary, figure: SummaryFigure) -> Option<f64> {
    s.figure(figure).exact().filter(|_| s.count > 0)
}

fn privileged(rec: &Recording, trial: &Trial) -> Option<f64> {
    let times = rec.cpu_times("total", trial.measured.window)?;
    // Time taken by the hypervisor counts neither as kernel time nor as user time.
    Some(times.kernel_us() / positive(times.all_us() - times.steal_us)?)
}

/// Returns the minimum, mean or maximum CPU utilization between two samples of the window.
fn busy(rec: &Recording, trial: &Trial, which: Busy) -> Option<f64> {
    let window = trial.measured.window;
    let inside: Vec<f64> = rec.t_s.iter().copied().filter(|t| window.holds(*t)).collect();
    let share = |begin_s: f64, end_s: f64| rec.cpu_times("total", Window { begin_s, end_s })?.busy();
    let shares = || inside.windows(2).filter_map(|w| share(w[0], w[1]));
    match which {
        Busy::Least => shares().reduce(f64::min),
        Busy::Most => shares().reduce(f64::max),
        Busy::Mean => share(window.begin_s, window.end_s),
    }
}

fn positive(v: f64) -> Option<f64> {
    (v > 0.0).then_some(v)
}
