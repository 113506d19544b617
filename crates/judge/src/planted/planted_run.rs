//! Builder of made-up runs: invented runs whose bottleneck is known. A run has a given response time with one client
//! (R1) and a given highest rate (Xmax), a sweep, and an open-loop search. The run's two hosts have four CPUs each.
//! Every counter has a harmless value unless a case changes it.

mod harmless;
mod trials;

use run::Trial;

/// Operating point of a made-up run: one load with its results.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// Number of clients in a closed loop, or mean number of requests in flight in an open loop.
    pub n: f64,
    /// Completed requests per second.
    pub x: f64,
    /// Offered requests per second.
    pub offered: f64,
    /// Mean response time, microseconds.
    pub r_us: f64,
    /// Highest rate of the run, requests per second.
    pub capacity: f64,
}

/// Side (client or server) on which a counter is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The generator's side.
    Client,
    /// The server's side.
    Server,
}

pub(super) type Value = Box<dyn Fn(&Point) -> f64>;
type Change = Box<dyn Fn(&mut Trial, &Point)>;

/// Counter of one side, with a function that returns its value at each operating point.
pub(super) struct Row {
    pub(super) who: Who,
    pub(super) id: &'static str,
    pub(super) instance: String,
    pub(super) value: Value,
    /// True if a case set the counter; false for the harmless counters that every run has.
    pub(super) planted: bool,
}

/// Builder of a made-up run.
pub struct PlantedRun {
    pub(super) r1_us: f64,
    pub(super) x_max: f64,
    steps: Vec<u32>,
    rates: Vec<f64>,
    pub(super) rows: Vec<Row>,
    pub(super) changes: Vec<Change>,
    plan: fn(&mut run::Plan),
    pub(super) shared: bool,
    pub(super) server: bool,
    url: String,
}

impl PlantedRun {
    /// Sets the numbers of clients in the sweep.
    pub fn steps(mut self, steps: &[u32]) -> Self {
        self.steps = steps.to_vec();
        self
    }

    /// Sets the offered rates of the open-loop search, as shares of the highest rate of the sweep.
    pub fn rates(mut self, shares: &[f64]) -> Self {
        self.rates = shares.to_vec();
        self
    }

    /// Puts client and server on one host, with a loopback address.
    pub fn shared(mut self) -> Self {
        self.shared = true;
        self.url = "http://127.0.0.1:8080/".into();
        self
    }

    /// Sets the URL of the target.
    pub fn url(mut self, url: &str) -> Self {
        self.url = url.into();
        self
    }

    /// Removes the server's side from the run, as if no counter of the server could be read.
    pub fn no_server(mut self) -> Self {
        self.server = false;
        self
    }

    /// Sets a cumulative counter by its growth per second.
    pub fn per_s(
        mut self,
        who: Who,
        id: &'static str,
        instance: &str,
        value: impl Fn(&Point) -> f64 + 'static,
    ) -> Self {
        self.rows.retain(|row| !(row.who == who && row.id == id && row.instance == instance));
        self.rows.push(Row { who, id, instance: instance.into(), value: Box::new(value), planted: true });
        self
    }

    /// Sets a gauge to a level that is equal at all operating points.
    pub fn level(self, who: Who, id: &'static str, instance: &str, value: f64) -> Self {
        self.per_s(who, id, instance, move |_| value)
    }

    /// Makes Nagle's algorithm hold back `bytes` of each answer for nearly all of a request's time.
    pub fn nagle(self, bytes: f64) -> Self {
        self.level(Who::Server, "connection.send_queue", "", bytes)
            .per_s(Who::Server, "connection.waiting", "", |p| 0.95 * p.n.min(64.0))
    }

    /// Removes all instances of a counter from one side.
    pub fn none(mut self, who: Who, id: &'static str) -> Self {
        self.rows.retain(|row| !(row.who == who && row.id == id));
        self
    }

    /// Adds a change that is applied to every trial after all counters are set.
    pub fn change(mut self, change: impl Fn(&mut Trial, &Point) + 'static) -> Self {
        self.changes.push(Box::new(change));
        self
    }

    /// Sets a function that changes the plan of the finished run.
    pub fn plan(mut self, change: fn(&mut run::Plan)) -> Self {
        self.plan = change;
        self
    }
}
