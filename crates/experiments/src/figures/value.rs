//! A value of a trial: what a figure's row puts on an axis, and a table's row in a column. Fields are named by the code
//! that reads them; costs and counters by their ids, which tests look up.

use run::{Recording, Side, Summary, Trial, ValueName, Window};

/// Where the value is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Of {
    /// A field, or what follows from some.
    Field(fn(&Trial) -> Option<f64>),
    /// A number that the experiment measured.
    Measured(ValueName<f64>),
    /// A number that the experiment set, by its name.
    Set(&'static str),
    /// A figure of the response time, microseconds.
    Response(fn(&Summary) -> f64),
    /// The same of the time to connect.
    Connect(fn(&Summary) -> f64),
    /// A cost per request of a side, by its id.
    Cost(Who, &'static str),
    /// A counter of a side over the window, by its id.
    Counter(Who, &'static str),
    /// Busy share of a side's processors over the samples.
    Busy(Who, Busy),
    /// Share of a side's processor time in the kernel and in interrupts.
    Privileged(Who),
}

/// A side of a trial.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Who {
    Client,
    Server,
}

/// Which of the shares between two samples.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Busy {
    Least,
    Mean,
    Most,
}

/// A number that the experiment set.
pub(crate) const fn set<T>(name: ValueName<T>) -> Of {
    Of::Set(name.name())
}

/// Completed per second.
pub(crate) const COMPLETED: Of = Of::Field(|t| Some(t.rates.completed_rate));
/// Mean response time.
pub(crate) const RESPONSE: Of = Of::Response(|s| s.mean);

/// The value; `None` where the trial has none.
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

/// A count of the window, per second.
pub(crate) fn per_s(trial: &Trial, n: u64) -> Option<f64> {
    Some(n as f64 / positive(trial.measured.length_s)?)
}

fn side(trial: &Trial, who: Who) -> Option<&Side> {
    match who {
        Who::Client => Some(&trial.client),
        Who::Server => trial.server.as_ref(),
    }
}

fn of_summary(s: &Summary, figure: fn(&Summary) -> f64) -> Option<f64> {
    (s.count > 0).then(|| figure(s))
}

fn privileged(rec: &Recording, trial: &Trial) -> Option<f64> {
    let times = rec.cpu_times("total", trial.measured.window)?;
    // What the hypervisor took is neither privileged nor not.
    Some(times.kernel_us() / positive(times.all_us() - times.steal_us)?)
}

/// Least, mean or most busy share of the host's processors between two samples of the window.
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
