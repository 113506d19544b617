//! A value of a trial, for an axis or for a table column. Costs and counters are named by their IDs; a test checks that
//! these IDs exist.

use run::{Recording, Side, Summary, SummaryFigure, Trial, ValueName, Window};

/// Part of a trial from which a value comes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Of {
    /// A field of the trial, or a value computed from several fields.
    Field(fn(&Trial) -> Option<f64>),
    /// A value that the experiment measured.
    Measured(ValueName<f64>),
    /// A number that the experiment set for the trial, by its name.
    Set(&'static str),
    /// A statistic of the response times, microseconds.
    Response(SummaryFigure),
    /// A statistic of the connect times, microseconds.
    Connect(SummaryFigure),
    /// Cost per request on a side (client or server), selected by the ID of the cost.
    Cost(Who, &'static str),
    /// Growth or mean of a counter of a side (client or server) in the measured window, selected by the ID of the
    /// counter.
    Counter(Who, &'static str),
    /// Statistic of the CPU utilisation of a side's host between samples.
    Busy(Who, Busy),
    /// Share of the CPU time of a side's host that was spent in the kernel, including interrupts.
    Privileged(Who),
}

/// Side of a trial: client or server.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Who {
    Client,
    Server,
}

/// Statistic of the CPU utilisation between samples.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Busy {
    Least,
    Mean,
    Most,
}

/// Selects the value that the experiment set under the name of `name`.
pub(crate) const fn set<T>(name: ValueName<T>) -> Of {
    Of::Set(name.name())
}

/// Throughput, completed requests per second.
pub(crate) const COMPLETED: Of = Of::Field(|t| Some(t.rates.completed_rate));
/// Mean response time, microseconds.
pub(crate) const RESPONSE: Of = Of::Response(SummaryFigure::Mean);

/// Returns the value in a trial; `None` if the trial lacks the value, or if the value is not finite.
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

/// Returns the rate per second of something that was counted `n` times in the measured window.
pub(crate) fn per_s(trial: &Trial, n: u64) -> Option<f64> {
    Some(n as f64 / positive(trial.measured.length_s)?)
}

fn side(trial: &Trial, who: Who) -> Option<&Side> {
    match who {
        Who::Client => Some(&trial.client),
        Who::Server => trial.server.as_ref(),
    }
}

/// Returns a statistic of times; `None` if only a lower bound is known, or if there are no samples.
fn of_summary(s: &Summary, figure: SummaryFigure) -> Option<f64> {
    s.figure(figure).exact().filter(|_| s.count > 0)
}

fn privileged(rec: &Recording, trial: &Trial) -> Option<f64> {
    let times = rec.cpu_times("total", trial.measured.window)?;
    // Time that the hypervisor took away (steal) is neither kernel time nor user time.
    Some(times.kernel_us() / positive(times.all_us() - times.steal_us)?)
}

/// Returns a statistic of the CPU utilisation in the measured window: the mean, or the minimum or maximum between two
/// successive samples.
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
