//! Steps of `find` between the test request and the verdict (the named bottleneck). `find` conducts a closed-loop
//! sweep, an open-loop search for the highest passing rate, and one step of overload. `docs/explanation/find.md`
//! explains the order of the steps of `find`.

mod period_phase;
mod sweep_phase;

use run::{Arrival, Intensity, Limits, LoadPlan, Run, Trial, TrialKind};

use super::connections::connections_for;
use super::{Budget, Conductor, RateSearch, StepTimes, Sweep, step};
use crate::LabError;

/// Minimum number of requests in a search with Poisson arrivals. With fewer requests, a Poisson count varies by more
/// than 1 %, a third of the search's default precision (3 %). If a search sends fewer requests, it uses equal gaps
/// between arrivals, and the load test records this choice.
const MIN_POISSON_REQUESTS: f64 = 10_000.0;
/// Expected number of measurements in a search. From the expected number of measurements, the search estimates how many
/// requests it will send.
const EXPECTED_WINDOWS: f64 = 6.0;
/// Minimum share of failed requests, 0 to 1, after which a single request checks if the server is alive.
const ALARMING_ERROR_SHARE: f64 = 0.5;

/// Searches for the capacity of a server. The single test request before the search took `response_s` seconds. The
/// search adds its load tests to the conductor's run, and returns no other results.
pub fn capacity(conductor: &mut dyn Conductor, budget: Budget, response_s: f64) -> Result<(), LabError> {
    let mut finder = Finder::new(conductor, budget, response_s);
    while finder.step(conductor)? {}
    Ok(())
}

/// A search that advances by single steps, so that two searches can take turns.
pub struct Finder {
    phase: Phase,
    budget: Budget,
    /// Median response time of the last step of the closed-loop sweep, seconds; at least `pause_s`. Before the first
    /// step, the value is the time that the test request took. After the sweep, the value is at most the longest mean
    /// response time that the objective allows.
    response_s: f64,
    /// Length of the longest measurement of the sweep without any answer, seconds, although the server had answered
    /// before; 0 if there is none. The cause may be a firewall that drops a packet, which is sent again only after a
    /// second or more.
    pause_s: f64,
    /// Time that was left when the rate search began, seconds. The value is infinite before the rate search begins.
    search_s: f64,
    /// Smallest number of clients with which the closed-loop sweep reached the highest rate.
    connections: u32,
    /// Number of connections on which the server answers at the same time, if it leaves further connections unanswered.
    served: Option<u32>,
    /// Mean response time with `connections` clients, seconds, by Little's law.
    mean_at_best_s: f64,
    /// Low rate that is offered before the rate search. Response times at the low rate distinguish a rate limit that
    /// delays answers from a single worker. `None` if the low rate is not needed, or if it was already offered.
    low_rate: Option<f64>,
    /// Indexes of the rate search's measurements in the run's list of load tests.
    searched: Vec<usize>,
    /// Rate of good answers in a step in which the server refused most requests.
    let_through: f64,
    /// Rate that is offered again and again, because the server refuses everything for a time; absent otherwise.
    held_rate: Option<f64>,
    /// True if the sweep has conducted a load test. The first load test of the sweep is conducted even if it exceeds
    /// the budget.
    swept: bool,
    /// True if the search must end, because the server no longer answers or generators were lost.
    over: bool,
}

enum Phase {
    Sweep(Sweep),
    Rates(RateSearch, Box<Limits>),
    Done,
}

impl Finder {
    /// Creates a search, which has not taken any step yet.
    pub fn new(conductor: &dyn Conductor, budget: Budget, response_s: f64) -> Self {
        // `response_s` makes the first step as long as several response times. A shorter step might end before the
        // first answer, which would end the closed-loop sweep.
        let search = &conductor.run().plan.search;
        let sweep = match search.reach_max {
            true => Sweep::reaching(search.max_connections),
            false => Sweep::new(search.max_connections),
        };
        Self {
            phase: Phase::Sweep(sweep),
            budget,
            response_s,
            pause_s: 0.0,
            search_s: f64::INFINITY,
            connections: 1,
            served: None,
            mean_at_best_s: 0.0,
            low_rate: None,
            searched: Vec::new(),
            let_through: 0.0,
            held_rate: None,
            swept: false,
            over: false,
        }
    }

    /// Returns true as long as the closed-loop sweep runs; the sweep sets the objective if the user gave none.
    pub fn sweeps(&self) -> bool {
        matches!(&self.phase, Phase::Sweep(sweep) if sweep.next().is_some())
    }

    /// Conducts the next step. Returns false if there is no next step.
    pub fn step(&mut self, conductor: &mut dyn Conductor) -> Result<bool, LabError> {
        self.budget = self.budget.paced(conductor.overhead_s());
        self.phase = match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Sweep(sweep) => self.sweep_step(conductor, sweep)?,
            Phase::Rates(search, limits) => self.rate_step(conductor, search, limits)?,
            Phase::Done => Phase::Done,
        };
        Ok(!matches!(self.phase, Phase::Done))
    }

    fn over(&self, conductor: &mut dyn Conductor) -> bool {
        self.over || conductor.stopped()
    }

    /// Conducts a step of the rate search, or the overload step.
    fn rate_step(
        &mut self,
        conductor: &mut dyn Conductor,
        mut search: RateSearch,
        limits: Box<Limits>,
    ) -> Result<Phase, LabError> {
        let length = self.budget.search_step_within(self.search_s, self.response_s);
        let over = self.over(conductor);
        let least_s = self.budget.search_step(0.0).measure_s;
        let left_s = step::left_s(conductor, self.budget.end_s());
        let search_left_s = left_s - (self.budget.end_s() - self.budget.search_until_s());
        let within = |seconds: f64| length.within(seconds, least_s.min(length.measure_s));
        let in_time = length.whole_s() <= search_left_s;
        // If no rate has failed yet, or only one was tried, the last step tries another rate instead of an overload.
        // The result "10,000 to 12,000/s" is better than "below 12,000/s".
        let is_last = !in_time && left_s >= least_s;
        let searches = in_time || is_last && search.needs_another_rate();
        let (overload, length) = (within(left_s), within(if in_time { search_left_s } else { left_s }));
        if let Some(rate) = self.low_rate.take().filter(|_| in_time && !over) {
            self.offer(conductor, rate, &limits, length, TrialKind::Search)?;
            return Ok(Phase::Rates(search, limits));
        }
        if let Some(rate) = self.held_rate(conductor) {
            return self.hold(conductor, (search, limits), rate, Some(length).filter(|_| searches && !over));
        }
        if let Some(rate) = search.next().filter(|_| searches && !over) {
            let trial = self.offer(conductor, rate, &limits, length, TrialKind::Search)?;
            // The load has too few connections for a higher rate, at which requests would only wait for a free
            // connection, so the search ends.
            if judge::own_pool(&trial, conductor.run().last_repeat(), &limits).is_some() {
                return Ok(Phase::Done);
            }
            self.searched.push(conductor.run().trials.len().saturating_sub(1));
            let trials = conductor.run().last_repeat();
            let spoiled = judge::spoiled(trials);
            if !spoiled(&trial) {
                let windows = windows(conductor.run(), &self.searched, &limits, spoiled);
                search.record(&windows, judge::pooled(trials, &limits).as_ref());
            }
            return Ok(if is_last { Phase::Done } else { Phase::Rates(search, limits) });
        }
        if !over && left_s >= least_s {
            self.offer(conductor, search.overload(), &limits, overload, TrialKind::Overload)?;
        }
        Ok(Phase::Done)
    }

    fn offer(
        &mut self,
        conductor: &mut dyn Conductor,
        rate: f64,
        limits: &Limits,
        length: StepTimes,
        kind: TrialKind,
    ) -> Result<Trial, LabError> {
        let arrival = match rate * length.measure_s * EXPECTED_WINDOWS >= MIN_POISSON_REQUESTS {
            true => Arrival::Poisson,
            false => Arrival::Constant,
        };
        let (max_connections, pipeline) = self.pool(conductor, rate, limits);
        let intensity = Intensity::Open { rate, arrival, max_connections, pipeline };
        let plan = step::plan(conductor, intensity, length);
        // Each thread has at least one connection, so more threads would open more connections.
        let threads = plan.threads.min(max_connections);
        let plan = LoadPlan { late_us: judge::late_us(limits), threads, ..plan };
        self.conduct(conductor, plan, format!("offered {}", run::number::prose::whole_rate(rate)), kind)
    }

    /// Returns the maximum number of connections of an open loop at a rate, and the maximum number of requests in
    /// flight on each connection.
    ///
    /// Without a pipeline, [`connections_for`] gives the number of connections. With a pipeline, the open loop has as
    /// many connections as the sweep had at its highest rate. With more connections, the pipelines would be shorter,
    /// which would be a different load.
    ///
    /// A server whose workers keep their connections gets no more connections than it has workers. A request on a
    /// further connection would wait although other workers have nothing to do.
    fn pool(&self, conductor: &dyn Conductor, rate: f64, limits: &Limits) -> (u32, u32) {
        let (load, most) = (conductor.load(), conductor.run().plan.search.max_connections.max(1));
        let most = self.served.map_or(most, |served| served.min(most));
        let pipeline = load.intensity.pipeline();
        if pipeline > 1 {
            return (self.connections.clamp(1, most), pipeline);
        }
        let longest_s = judge::longest_mean_us(limits).map_or(1.0, |us| us / 1e6);
        (connections_for(rate, longest_s, self.mean_at_best_s).min(most), 1)
    }

    fn conduct(
        &mut self,
        conductor: &mut dyn Conductor,
        plan: LoadPlan,
        label: String,
        kind: TrialKind,
    ) -> Result<Trial, LabError> {
        let Some(trial) = step::conduct(conductor, plan, label, kind)? else {
            self.over = true;
            return Ok(Trial::default());
        };
        if kind == TrialKind::Sweep {
            self.swept = true;
            let has_paused = trial.measured.tally.completed == 0 && trial.tally.completed > 0;
            self.pause_s = self.pause_s.max(if has_paused { trial.measured.window.length_s() } else { 0.0 });
            self.response_s = (trial.latency_us.p50 / 1e6).max(self.pause_s);
        }
        self.check_alive(conductor, &trial)?;
        Ok(trial)
    }

    /// After many failures, checks if the server is still alive. A dead server is reported at once and ends the search.
    fn check_alive(&mut self, conductor: &mut dyn Conductor, trial: &Trial) -> Result<(), LabError> {
        // If an observer has seen the end of the server, the run is already stopped, and `conductor.stopped()` is true.
        let alarming = judge::failed_share(trial).is_some_and(|share| share >= ALARMING_ERROR_SHARE);
        if conductor.stopped() || (trial.rates.completed_rate > 0.0 && !alarming) {
            return Ok(());
        }
        match conductor.ask() {
            Ok(true) => {}
            // If the server refuses requests even without load, further loads would show nothing.
            Ok(false) => self.over |= has_failed_for_good(conductor, trial),
            Err(why) => {
                conductor.gone(&why)?;
                self.over = true;
            }
        }
        Ok(())
    }
}

/// Returns the offered rate of each of the `searched` load tests, and true if the load test met the limits. Leaves out
/// load tests that other programs disturbed.
fn windows(run: &Run, searched: &[usize], limits: &Limits, spoiled: impl Fn(&Trial) -> bool) -> Vec<(f64, bool)> {
    let sound = searched.iter().filter_map(|at| run.trials.get(*at)).filter(|trial| !spoiled(trial));
    let rate = |trial: &Trial| match trial.intensity {
        Intensity::Open { rate, .. } => rate,
        _ => trial.rates.offered_rate,
    };
    sound.map(|trial| (rate(trial), judge::breach(trial, limits).is_none())).collect()
}

/// Returns true if a server that answered earlier loads now refuses every request, even one without load. A server that
/// refuses every request is also recorded as failed. Returns false if the server still answers some requests, or may
/// still be overloaded by the last load.
fn has_failed_for_good(conductor: &mut dyn Conductor, trial: &Trial) -> bool {
    let answered_before = conductor.run().last_repeat().iter().any(|t| judge::good(t) > 0.0);
    let tally = &trial.measured.tally;
    let asks_to_come_later = tally.errors.count(run::ErrorKind::TryAgainLater) > 0;
    let for_load = asks_to_come_later || tally.refusals().any(|(status, _)| run::is_overload(status));
    let has_failed = judge::good(trial) <= 0.0 && answered_before && !for_load;
    if has_failed {
        conductor.refuses_at_rest();
    }
    has_failed
}
