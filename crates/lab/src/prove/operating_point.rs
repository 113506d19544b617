//! Load under which an experiment tests the verdict (the named bottleneck). A lever is a temporary change that an
//! experiment makes, such as slowing a CPU.

use judge::prove::AtRate;
use run::number::prose::counted;
use run::{Intensity, LoadPlan, Run, ThinkTime, Trial, TrialKind};

use crate::TargetSetup;

/// Preferred minimum number of connections of an experiment. With fewer connections, one late wake-up makes the server
/// idle.
const MIN_CONNECTIONS: u32 = 8;
/// Minimum time, seconds, that a server must need to complete all requests in flight. The value is four times the
/// shortest piece of time that a lever takes from a CPU. While a lever takes this shortest piece from one side
/// (generator or server), the other side therefore stays busy.
const MIN_BUSY_S: f64 = 0.5e-3;
/// Factor by which the minimum busy time is multiplied for a load that was not tried before.
const UNTESTED_MARGIN: f64 = 1.2;
/// Minimum and maximum factor by which an untested load may increase the number of connections. A factor below the
/// minimum would hardly change the load.
const CONNECTION_FACTORS: (u32, u32) = (2, 8);
/// Minimum rate of a load with more connections, as a share of the rate with the original connections. If the rate with
/// more connections is lower, the experiment keeps the original number of connections.
const MIN_RATE_SHARE: f64 = 0.85;
/// Value that replaces [`MIN_RATE_SHARE`] if the original load has a single connection. One connection can be faster
/// than several, because requests on one connection never wait for one another. Python threads that take turns in
/// holding the interpreter lock completed 15 % less than a single thread (measured with CPython 3.11).
const MIN_RATE_SHARE_OF_ONE: f64 = 0.5;

/// Load under which an experiment runs, with observations from an earlier load test with this load. Without an earlier
/// test, the observations are estimates.
#[derive(Clone, Debug)]
pub(crate) struct OperatingPoint {
    /// Number of connections of the closed loop; 0 for an open loop.
    pub(crate) connections: u32,
    /// Number of requests in flight on each connection.
    pipeline: u32,
    /// Pause of each client between an answer and its next request.
    think: ThinkTime,
    /// Good answers per second with `connections` connections; the offered rate for an open loop.
    pub(crate) rate: f64,
    /// Median response time with `connections` connections, or at the offered rate, seconds.
    pub(crate) response_s: f64,
    /// Response time that determines the length of turns, seconds. The time is the median, or a longer time if rare
    /// slow answers occupy the connections most of the time.
    pub(super) turn_response_s: f64,
    /// Observed state of the server at the plan's rate; `None` for a closed loop.
    pub(crate) at_rate: Option<AtRate>,
}

impl OperatingPoint {
    /// Returns the operating point (load and observations) of the last load test with `connections` connections. If
    /// there was no load test with `connections` connections, returns assumed values. Pipeline depth and think times
    /// are those of the load test.
    pub(super) fn observed(run: &Run, connections: u32) -> Self {
        let seen = run.trials.iter().rfind(|t| closed_connections(t) == Some(connections));
        let (rate, response_s) = seen.map_or((1000.0, 0.001), |t| (judge::good(t), t.latency_us.p50 / 1e6));
        let (pipeline, think) = each_connection(seen.map_or(&run.plan.load.intensity, |t| &t.intensity));
        let slow_s = seen.map_or(0.0, slow_answers_s);
        Self { connections, pipeline, think, rate, response_s, turn_response_s: response_s.max(slow_s), at_rate: None }
    }

    /// Returns the operating point (load and observations) for the plan's open loop, from the observations in an
    /// earlier load test.
    pub(super) fn offered(at_rate: AtRate) -> Self {
        let (pipeline, think) = (1, ThinkTime::default());
        Self {
            connections: 0,
            pipeline,
            think,
            rate: at_rate.offered,
            response_s: at_rate.response_s,
            turn_response_s: at_rate.response_s,
            at_rate: Some(at_rate),
        }
    }

    /// Returns the good answers per second, and the response time in seconds.
    pub(super) fn speed(&self) -> (f64, f64) {
        (self.rate, self.response_s)
    }

    /// Returns the load plan of the operating point.
    pub(super) fn load(&self, setup: &TargetSetup) -> LoadPlan {
        if self.at_rate.is_some() {
            return setup.load.clone();
        }
        let (connections, pipeline, think) = (self.connections, self.pipeline, self.think.clone());
        let intensity = Intensity::Closed { connections, pipeline, think };
        LoadPlan { intensity, threads: setup.load.threads.min(connections), ..setup.load.clone() }
    }

    /// Returns the operating point (load and observations) with `connections` connections. Uses more connections if a
    /// lever would otherwise leave the other side (generator or server) idle. Among the run's loads with a similar rate
    /// and enough requests in flight, chooses the load with the fewest connections. If no load of the run has a similar
    /// rate and enough requests in flight, the function returns an untested load. With too few requests in flight,
    /// slowing the generator's CPU would lower throughput although this CPU has idle time.
    ///
    /// If the open loop reached a much higher rate than the closed loop, as many connections are chosen as it had
    /// requests in flight.
    pub(super) fn busy(run: &Run, connections: u32) -> Self {
        let operating_point = Self::observed(run, connections);
        if let Some(heavier) = operating_point.heavier(run) {
            return heavier;
        }
        let alike = (operating_point.pipeline, operating_point.think.clone());
        let as_good = |t: &&Trial| {
            judge::good(t) >= MIN_RATE_SHARE * operating_point.rate
                && each_connection(&t.intensity) == alike
                && !refuses(t)
        };
        let tried = run.trials.iter().filter(as_good).filter_map(closed_connections).filter(|n| *n >= connections);
        let more: Vec<Self> =
            tried.map(|n| Self::observed(run, n)).filter(|more| more.connections >= MIN_CONNECTIONS).collect();
        let fewest = |least_s: f64| {
            more.iter().filter(|more| more.response_s >= least_s).min_by_key(|more| more.connections).cloned()
        };
        let as_many = operating_point.clone().extended(run);
        let few = fewest(0.0).or(as_many).unwrap_or(operating_point);
        fewest(MIN_BUSY_S).or_else(|| few.clone().untested(most_served(run))).unwrap_or(few)
    }

    /// Returns the load with as many requests in flight as the run's heaviest open loop. Returns `None` if the open
    /// loop did not get many more answers, or if the run allows no more connections.
    fn heavier(&self, run: &Run) -> Option<Self> {
        let heaviest = judge::prove::heavier_load(run, self.rate)?;
        let in_flight = heaviest.rates.concurrency.ceil().min(f64::from(most_served(run)));
        let rate = judge::good(heaviest);
        let connections = Self { rate, ..self.clone() }.connections_for(in_flight).min(most_served(run));
        (connections > self.connections).then(|| Self { rate, ..self.clone() }.with(connections))
    }

    /// Returns a load that the run has not tested, with [`MIN_CONNECTIONS`] connections, or with fewer if the run
    /// allows only fewer. Returns `None` unless the sweep (the search over numbers of connections) showed a similar
    /// rate with more connections. One client may saturate a slow server: the sweep still doubles the clients twice,
    /// sees no gain, and ends. With one request in flight, slower CPUs affect all servers alike, whether their threads
    /// work in parallel or not. Such an experiment could therefore not tell parallel threads from a single thread.
    fn extended(self, run: &Run) -> Option<Self> {
        let sweep = run.trials.iter().filter(|trial| trial.kind == TrialKind::Sweep && !refuses(trial));
        let tried = sweep.filter_map(|trial| Some((closed_connections(trial)?, judge::good(trial))));
        let (most, rate) = tried.max_by_key(|(connections, _)| *connections)?;
        let least = if self.connections == 1 { MIN_RATE_SHARE_OF_ONE } else { MIN_RATE_SHARE };
        let connections = MIN_CONNECTIONS.min(most_served(run));
        let is_full = most > self.connections && rate >= least * self.rate && connections > self.connections;
        is_full.then(|| Self { rate, ..self }.with(connections))
    }

    /// Returns the operating point with another number of connections and an unchanged rate. The response time follows
    /// from Little's law: while clients pause, they have no request in flight.
    fn with(self, connections: u32) -> Self {
        let at_most = f64::from(connections.saturating_mul(self.pipeline));
        let response_s = (at_most / self.rate.max(1e-3) - self.pause_s()).max(0.0);
        let turn_response_s = if self.turn_response_s > self.response_s { self.turn_response_s } else { response_s };
        Self { connections, response_s, turn_response_s, ..self }
    }

    /// Returns the mean pause of a client between an answer and its next request, seconds.
    fn pause_s(&self) -> f64 {
        self.think.mean_ms / 1e3
    }

    /// Returns the number of connections that keep `in_flight` requests in flight at an unchanged rate. Connections
    /// whose clients pause come in addition.
    fn connections_for(&self, in_flight: f64) -> u32 {
        ((in_flight + self.rate * self.pause_s()) / f64::from(self.pipeline)).ceil() as u32
    }

    /// Returns an untested load with enough connections to keep the server busy for [`MIN_BUSY_S`]. On a saturated
    /// server, more connections only make the queue longer. Returns `None` if the number of connections would grow too
    /// little.
    fn untested(self, most: u32) -> Option<Self> {
        let wanted = self.connections_for(UNTESTED_MARGIN * MIN_BUSY_S * self.rate);
        // If the wanted number of connections is not allowed, the largest allowed number is still better than the
        // current one.
        let connections = wanted.min(CONNECTION_FACTORS.1 * self.connections).min(most);
        (connections >= CONNECTION_FACTORS.0 * self.connections).then(|| self.with(connections))
    }

    /// Returns the operating point with enough requests in flight to keep `cpus` CPUs busy. The number of connections
    /// grows to at most `most`. The error says that there are too few connections, because one request at a time uses
    /// only one CPU.
    pub(super) fn for_cpus(&self, cpus: u32, most: u32) -> Result<Self, String> {
        let wanted = (2 * cpus).max(MIN_CONNECTIONS).max(self.connections);
        let connections = wanted.min(most.max(self.connections));
        let in_flight = connections.saturating_mul(self.pipeline);
        if in_flight < cpus {
            let requests = counted(f64::from(in_flight), "request");
            return Err(format!("{requests} in flight cannot use the server's {cpus} CPUs"));
        }
        Ok(self.clone().with(connections))
    }

    /// Returns this load, and then up to two loads with fewer connections that still saturate the server. The second
    /// returned load has at least eight requests in flight, so that late wake-ups do not matter. The second load also
    /// has at least four requests in flight per request that the server handles at the same time. The third returned
    /// load has two requests in flight per request that the server handles at the same time, rounded to a whole number.
    /// The measured number of requests that the server handles is rounded: 1.02 means 1. Fewer connections mean a
    /// shorter queue and shorter time slots.
    pub(super) fn or_fewer(self, run: &Run) -> Vec<Self> {
        let few = served(run)
            .map(|served| [(4.0 * served).max(f64::from(MIN_CONNECTIONS)), (2.0 * served).round().max(2.0)])
            .into_iter()
            .flatten();
        let mut all = vec![self];
        for in_flight in few {
            let connections = all[0].connections_for(in_flight);
            let Some(last) = all.last().filter(|last| connections < last.connections) else { continue };
            let fewer = last.clone().with(connections);
            all.push(fewer);
        }
        all
    }
}

/// Returns the number of requests that the server of a run handles at the same time: the knee of the throughput curve.
/// If the run has no knee, returns the highest rate times the response time with the fewest connections (Little's law).
fn served(run: &Run) -> Option<f64> {
    let closed = || run.trials.iter().filter(|t| closed_connections(t).is_some() && judge::good(t) > 0.0);
    let by_little = || {
        let alone_s = closed().min_by_key(|t| closed_connections(t))?.latency_us.p50 / 1e6;
        let rate = closed().map(judge::good).fold(0.0, f64::max);
        Some(judge::prove::heavier_load(run, rate).map_or(rate, judge::good) * alone_s)
    };
    let knee = run.findings.knee.as_ref().map(|k| k.concurrency);
    knee.filter(|served| served.is_finite()).or_else(by_little).filter(|served| *served > 0.0)
}

/// Returns true if the server refused or failed a considerable part of the requests. An experiment on a server that
/// refuses many requests would measure the rate of refusals, because the time slots count all answers.
fn refuses(trial: &Trial) -> bool {
    judge::good(trial) < MIN_RATE_SHARE * trial.rates.completed_rate
}

/// Returns the largest number of connections that an experiment may use. The number of connections is at most the
/// plan's maximum, and less than any number of connections at which the server refused too many requests.
pub(super) fn most_served(run: &Run) -> u32 {
    let refused = run.trials.iter().filter(|trial| refuses(trial)).filter_map(closed_connections).min();
    let most = run.plan.search.max_connections;
    refused.map_or(most, |refused| most.min(refused.saturating_sub(1)).max(1))
}

/// Returns the number of connections for levers that are switched in time slots. The result is `connections`, unless
/// the server refused a considerable part of this load's requests. If the server refused that many, returns the largest
/// smaller number of connections for which the run had no such refusals, if any.
pub(super) fn unrefused(run: &Run, connections: u32) -> u32 {
    let load = run.trials.iter().rfind(|trial| closed_connections(trial) == Some(connections));
    let served = run.trials.iter().filter(|trial| !refuses(trial)).filter_map(closed_connections);
    let fewer = || served.filter(|fewer| *fewer < connections).max();
    load.filter(|load| refuses(load)).and_then(|_| fewer()).unwrap_or(connections)
}

/// Returns half of the median time that a connection with a request still has to wait for its answer at a random
/// moment, seconds. If 1 % of the answers are slow, most connections may wait for a slow answer, although the median
/// response is short. Half of the median is enough for the length of a turn, because a turn lasts many response times
/// and therefore several slow answers.
fn slow_answers_s(trial: &Trial) -> f64 {
    trial.histograms.get("response").map_or(0.0, |hist| hist.wait_of_arrivals_us(0.5) / 2e6)
}

/// Returns the number of connections of a closed-loop load test. Returns `None` for load tests of the costs of
/// handshakes or of request classes, because their connections or requests differ from the plan's load.
fn closed_connections(trial: &Trial) -> Option<u32> {
    match (trial.kind, &trial.intensity) {
        (TrialKind::Handshakes | TrialKind::Classes, _) => None,
        (_, Intensity::Closed { connections, .. }) => Some(*connections),
        _ => None,
    }
}

/// Returns the requests in flight on each connection, and the pause before each request.
fn each_connection(intensity: &Intensity) -> (u32, ThinkTime) {
    match intensity {
        Intensity::Closed { pipeline, think, .. } => ((*pipeline).max(1), think.clone()),
        _ => (1, ThinkTime::default()),
    }
}

#[cfg(test)]
mod tests;
