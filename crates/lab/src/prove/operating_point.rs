//! Load under which an experiment tests the verdict (the named bottleneck). A lever is a temporary change that an
//! experiment makes, such as slowing a CPU.

use judge::prove::AtRate;
use run::{Intensity, LoadPlan, Run, ThinkTime, Trial, TrialKind};

use crate::TargetSetup;

/// Preferred minimum number of connections of an experiment. With fewer connections, one late wake-up makes the server
/// idle.
const MIN_CONNECTIONS: u32 = 8;
/// Minimum time, seconds, that a server must need to complete all requests in flight. The value is four times the
/// shortest piece of time that a lever takes from a CPU. While a lever takes its shortest piece of CPU time from one
/// side (generator or server), the other side therefore stays busy.
const MIN_BUSY_S: f64 = 0.5e-3;
/// Factor by which the minimum busy time is multiplied for a load that was not tried before.
const UNTESTED_MARGIN: f64 = 1.2;
/// Minimum and maximum factor by which an untested load may increase the number of connections. A factor below the
/// minimum would hardly change the load.
const CONNECTION_FACTORS: (u32, u32) = (2, 8);
/// Minimum rate of a load with more connections, as a share of the rate with the original connections. If the rate with
/// more connections is lower, the experiment keeps the original number of connections.
const MIN_RATE_SHARE: f64 = 0.85;
/// Value in place of [`MIN_RATE_SHARE`] if the original load has only one connection. One connection can be faster than
/// several, because requests on one connection never wait for one another. Python threads that take turns in holding
/// the interpreter lock completed 15 % less than a single thread (measured with CPython 3.11).
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
    /// Response time that determines the length of turns, seconds: the median, or a longer time if rare slow answers
    /// occupy the connections most of the time.
    pub(super) turn_response_s: f64,
    /// Observed state of the server at the plan's rate; `None` for a closed loop.
    pub(crate) at_rate: Option<AtRate>,
}

impl OperatingPoint {
    /// Returns the operating point (load and observations) of the last load test with `connections` connections. If
    /// there was no such load test, returns assumed values. The experiment uses the pipeline and the think times of the
    /// load test that was found.
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

    /// Returns the operating point (load and observations) with `connections` connections. Uses more connections if
    /// `connections` keep too few requests in flight while a lever stops the generator or the server. Among the run's
    /// loads with a similar rate and enough requests in flight, chooses the load with the fewest connections. If no
    /// load of the run has a similar rate and enough requests in flight, the function returns an untested load. With
    /// too few requests in flight, slowing the generator's CPU would lower throughput although that CPU has spare time.
    pub(super) fn busy(run: &Run, connections: u32) -> Self {
        let operating_point = Self::observed(run, connections);
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

    /// Returns a load that the run has not tested, with [`MIN_CONNECTIONS`] connections, or with fewer if the run
    /// allows only fewer. Returns `None` unless the sweep (the search over numbers of connections) showed a similar
    /// rate with more connections. One client may saturate a slow server: the sweep still doubles the clients twice,
    /// sees no gain, and ends. With one request in flight, slower CPUs affect a server with parallel threads in the
    /// same way as a server that handles one request at a time. An experiment with one request in flight could
    /// therefore not distinguish servers with parallel threads from servers with a single thread.
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
    /// grows to at most `most`. The error says that there are too few connections: one request at a time uses only one
    /// CPU.
    pub(super) fn for_cpus(&self, cpus: u32, most: u32) -> Result<Self, String> {
        let wanted = (2 * cpus).max(MIN_CONNECTIONS).max(self.connections);
        let connections = wanted.min(most.max(self.connections));
        let in_flight = connections.saturating_mul(self.pipeline);
        if in_flight < cpus {
            return Err(format!("{in_flight} requests in flight cannot use the server's {cpus} CPUs"));
        }
        Ok(self.clone().with(connections))
    }

    /// Returns this load, and then up to two loads with fewer connections that still keep the server full. The second
    /// returned load has at least eight requests in flight, so that late wake-ups do not matter. The second load also
    /// has at least four requests in flight per request that the server handles at the same time. The third returned
    /// load has two requests in flight per request that the server handles at the same time. Fewer connections mean a
    /// shorter queue and shorter time slots.
    pub(super) fn or_fewer(self, run: &Run) -> Vec<Self> {
        let few = served(run)
            .map(|served| [(4.0 * served).max(f64::from(MIN_CONNECTIONS)), (2.0 * served).max(2.0)])
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
        Some(closed().map(judge::good).fold(0.0, f64::max) * alone_s)
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

/// Returns half of the median time that a connection with a request still has to wait for its answer at a random
/// moment, seconds. If 1 % of the answers are slow, most connections may wait for a slow answer, although the median
/// response is short. Half of the median is enough for the length of a turn, because a turn lasts many response times
/// and therefore several slow answers.
fn slow_answers_s(trial: &Trial) -> f64 {
    trial.histograms.get("response").map_or(0.0, |hist| hist.wait_of_arrivals_us(0.5) / 2e6)
}

/// Returns the number of connections of a closed-loop load test. Returns `None` for load tests that measure the costs of
/// handshakes or of request classes, because they open other connections or send other requests than the plan's load.
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
mod tests {
    use run::Knee;

    use super::*;

    /// Returns a run with a sweep, from pairs of connections and good answers per second.
    fn sweep(steps: &[(u32, u64)]) -> Run {
        let trials = steps.iter().map(|(connections, completed)| {
            let think = run::ThinkTime::default();
            let intensity = Intensity::Closed { connections: *connections, pipeline: 1, think };
            let rates = run::Rates { completed_rate: *completed as f64, ..run::Rates::default() };
            Trial { kind: TrialKind::Sweep, intensity, rates, ..Trial::default() }
        });
        Run { trials: trials.collect(), ..Run::default() }
    }

    /// Observed with redis and 16 requests in flight: while a lever stopped the generator or the server, the other side
    /// soon had nothing to do.
    #[test]
    fn more_connections_are_taken_where_a_lever_would_stop_both_sides() {
        let mut run = sweep(&[(8, 120_000), (16, 136_000), (32, 130_000), (64, 119_000), (128, 119_000)]);
        run.trials.iter_mut().zip([57.0, 113.0, 237.0, 520.0, 1050.0]).for_each(|(t, us)| t.latency_us.p50 = us);
        assert_eq!(OperatingPoint::busy(&run, 16).connections, 64);
        run.trials.truncate(3);
        assert_eq!(OperatingPoint::busy(&run, 16).connections, 82, "0.6 ms of 136,000/s, which was not tried");
        run.plan.search.max_connections = 64;
        assert_eq!(OperatingPoint::busy(&run, 16).connections, 64, "no more are allowed");
        run.plan.search.max_connections = 24;
        assert_eq!(OperatingPoint::busy(&run, 16).connections, 16, "a few more change nothing");
    }

    /// An earlier version of loadline kept the number of connections if the experiment needed more than eight times as
    /// many (the maximum factor). Three of ten searches on a server with two almost equally full resources therefore
    /// kept 8 connections, although the experiment needed 66. In these three searches, the sum of the measured
    /// elasticities was 1.6 instead of 1.
    #[test]
    fn eight_times_the_connections_are_used_even_if_more_would_be_needed() {
        let mut run = sweep(&[(8, 116_000), (16, 90_000)]);
        run.trials.iter_mut().for_each(|t| t.latency_us.p50 = 60.0);
        run.plan.search.max_connections = 1000;
        assert_eq!(OperatingPoint::busy(&run, 8).connections, 64);
    }

    #[test]
    fn if_four_connections_fill_a_server_more_are_used_if_the_sweep_tried_them() {
        let run = sweep(&[(1, 500), (2, 900), (4, 1000), (8, 980), (16, 700)]);
        assert_eq!(OperatingPoint::busy(&run, 4).connections, 8);
        assert_eq!(OperatingPoint::busy(&run, 16).connections, 16);
        let worse = sweep(&[(1, 500), (4, 1000), (8, 800), (16, 700)]);
        assert_eq!(OperatingPoint::busy(&worse, 4).connections, 4, "more of them is another server");
        assert_eq!(OperatingPoint::busy(&sweep(&[(1, 500)]), 1).connections, 1);
    }

    /// Seen live with Python threads that share the interpreter lock: one client saturated the server, and the sweep
    /// ended at 4 connections without a gain. After the sweep that ended at 4 connections, the experiment used one
    /// connection, so only one request was in flight.
    #[test]
    fn a_server_that_one_client_fills_is_tested_with_several_requests_in_flight() {
        let mut run = sweep(&[(1, 310), (2, 299), (4, 299)]);
        run.plan.search.max_connections = 1000;
        let found = OperatingPoint::busy(&run, 1);
        assert_eq!((found.connections, found.rate, (1000.0 * found.response_s).round()), (8, 299.0, 27.0));
        run.trials[2].rates.completed_rate = 250.0;
        assert_eq!(OperatingPoint::busy(&run, 1).connections, 8, "threads that take turns lose a part of the rate");
        run.plan.search.max_connections = 4;
        assert_eq!(OperatingPoint::busy(&run, 1).connections, 4, "no more are allowed");
        let collapses = sweep(&[(1, 500), (2, 400), (4, 200)]);
        assert_eq!(OperatingPoint::busy(&collapses, 1).connections, 1, "the server does much less with more of them");
    }

    #[test]
    fn fewer_connections_that_still_fill_a_server_are_offered_from_the_most_down() {
        let operating_point = OperatingPoint {
            connections: 64,
            pipeline: 1,
            think: ThinkTime::default(),
            rate: 150.0,
            response_s: 0.42,
            turn_response_s: 0.42,
            at_rate: None,
        };
        let with_knee = |concurrency| {
            let mut run = Run::default();
            run.findings.knee = Some(Knee { concurrency, x_max: 150.0, ..Knee::default() });
            run
        };
        let connections =
            |run: &Run| operating_point.clone().or_fewer(run).iter().map(|s| s.connections).collect::<Vec<_>>();
        assert_eq!(
            (connections(&with_knee(3.13)), connections(&with_knee(1.1)), connections(&Run::default())),
            (vec![64, 13, 7], vec![64, 8, 3], vec![64])
        );
        assert_eq!(connections(&with_knee(f64::NAN)), vec![64]);
        assert!((operating_point.clone().or_fewer(&with_knee(3.0))[1].response_s - 0.08).abs() < 1e-9);
    }

    /// Seen with a proxy that lets six requests wait: 16 connections had 326 answers per second, 151 of them good. In
    /// an experiment with 16 connections, taking half of the backend's CPU changed nothing, because refusals replaced
    /// answers.
    #[test]
    fn an_experiment_has_no_load_that_the_server_refuses() {
        let mut run = sweep(&[(1, 79), (2, 161), (16, 326)]);
        let tally = &mut run.trials[2].measured.tally;
        (tally.completed, tally.unexpected_status) = (309, 169);
        run.plan.search.max_connections = 64;
        assert_eq!(OperatingPoint::busy(&run, 2).connections, 2);
        assert_eq!(most_served(&run), 15);
        run.trials[2].measured.tally.unexpected_status = 0;
        assert_eq!((OperatingPoint::busy(&run, 2).connections, most_served(&run)), (16, 64));
    }

    /// The server has three workers, each of which needs 0.1 s per request. The sweep was short: it had only steps with
    /// 1, 2 and 31 connections, and showed no knee of the throughput curve.
    #[test]
    fn a_short_sweep_has_fewer_connections_too() {
        let mut run = sweep(&[(1, 10), (2, 19), (31, 30)]);
        run.trials.iter_mut().zip([0.1e6, 0.1e6, 1e6]).for_each(|(t, us)| t.latency_us.p50 = us);
        let found = OperatingPoint::busy(&run, 31).or_fewer(&run);
        assert_eq!(found.iter().map(|point| point.connections).collect::<Vec<_>>(), [31, 12, 6]);
    }

    /// The turns that measure the costs of handshakes and classes come after the search, with as many connections as the
    /// load test on which the verdict relies. An earlier version of loadline used their rate and their pipeline.
    #[test]
    fn turns_that_measure_costs_are_not_the_load_of_the_verdict() {
        for kind in [TrialKind::Handshakes, TrialKind::Classes] {
            let mut run = sweep(&[(1, 3000), (2, 6000), (4, 9000), (4, 20_000)]);
            run.plan.search.max_connections = 4;
            run.trials.iter_mut().for_each(|t| t.latency_us.p50 = 1000.0);
            run.trials[2].intensity = Intensity::Closed { connections: 4, pipeline: 16, think: ThinkTime::default() };
            run.trials[3].kind = kind;
            let found = OperatingPoint::observed(&run, 4);
            assert_eq!((found.pipeline, found.rate, served(&run)), (16, 9000.0, Some(9.0)));
            (run.trials[3].measured.tally.completed, run.trials[3].measured.tally.unexpected_status) = (9, 5);
            assert!(refuses(&run.trials[3]));
            assert_eq!(most_served(&run), 4);
        }
    }

    /// An earlier version of loadline used pipelines of 16 requests in the sweep, but of 1 request in the experiment.
    /// Because the pipelines differed, the experiment rejected a correctly named bottleneck.
    #[test]
    fn the_load_is_that_of_the_trial_with_the_verdict() {
        let mut run = sweep(&[(8, 9000), (16, 9000)]);
        run.trials.iter_mut().for_each(|t| t.latency_us.p50 = 2000.0);
        let think = ThinkTime { mean_ms: 3.0, ..ThinkTime::default() };
        run.trials[0].intensity = Intensity::Closed { connections: 8, pipeline: 16, think: think.clone() };
        let found = OperatingPoint::busy(&run, 8);
        assert_eq!(
            (found.connections, found.pipeline, &found.think),
            (8, 16, &think),
            "16 without it are another load"
        );
        run.findings.knee = Some(Knee { concurrency: 20.0, x_max: 9000.0, ..Knee::default() });
        let fewer: Vec<(u32, u32)> = found.or_fewer(&run).iter().map(|o| (o.connections, o.pipeline)).collect();
        assert_eq!(fewer, [(8, 16), (7, 16), (5, 16)], "27 requests are not in flight, because their clients pause");
    }

    /// The server completes 80 requests per second, four at a time. 128 clients pause for 1 s after each answer. An
    /// earlier version of loadline offered 16 and 8 connections, which leave this server idle most of the time.
    #[test]
    fn clients_that_pause_fill_a_server_only_if_there_are_enough_of_them() {
        let mut run = sweep(&[(1, 1), (64, 61), (128, 80)]);
        let think = ThinkTime { mean_ms: 1000.0, ..ThinkTime::default() };
        for (trial, (connections, p50)) in run.trials.iter_mut().zip([(1, 50e3), (64, 52e3), (128, 600e3)]) {
            trial.latency_us.p50 = p50;
            trial.intensity = Intensity::Closed { connections, pipeline: 1, think: think.clone() };
        }
        run.findings.knee = Some(Knee { concurrency: 4.0, x_max: 80.0, ..Knee::default() });
        let found = OperatingPoint::observed(&run, 128).or_fewer(&run);
        assert_eq!(found.iter().map(|o| o.connections).collect::<Vec<_>>(), [128, 96, 88]);
        assert!((found[1].response_s - 0.2).abs() < 1e-9, "{}", found[1].response_s);
        assert_eq!(found[1].clone().with(40).response_s, 0.0, "so few clients do not reach this rate");
    }

    /// The test repeats measurements of a server that answers 1 % of its requests after 500 ms. The median response
    /// time was 0.3 ms, and turns of 0.25 s showed only how the load begins.
    #[test]
    fn turns_outlast_the_slow_answers_that_occupy_most_connections() {
        let of_slow = |slow: u64| {
            let mut run = sweep(&[(32, 6000)]);
            let mut hist = run::Hist::new();
            hist.record_many_ns(300_000, 1000 - slow);
            hist.record_many_ns(500_000_000, slow);
            run.trials[0].latency_us = run::Summary::of(&hist);
            run.trials[0].histograms.insert("response".into(), hist);
            OperatingPoint::observed(&run, 32)
        };
        let (slow, even) = (of_slow(10), of_slow(0));
        assert!((0.1..0.3).contains(&slow.turn_response_s) && slow.response_s < 0.001, "{slow:?}");
        assert_eq!(even.turn_response_s, even.response_s);
        assert_eq!(slow.clone().with(64).turn_response_s, slow.turn_response_s);
    }

    #[test]
    fn cpus_are_taken_from_a_server_with_enough_requests_for_them() {
        let one = OperatingPoint::observed(&sweep(&[(1, 900)]), 1);
        let of = |cpus, most| one.for_cpus(cpus, most).map(|point| point.connections);
        assert_eq!((of(2, 1000), of(8, 1000), of(2, 4)), (Ok(8), Ok(16), Ok(4)));
        assert!(of(2, 1).unwrap_err().contains("1 requests in flight"));
    }
}
