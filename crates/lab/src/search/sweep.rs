//! The closed-loop sweep: 1, 2, 4, … clients, until more clients give no more throughput.

/// Minimum ratio of a step's throughput per client to the throughput per client in the preceding step. With a smaller
/// ratio, throughput does not count as growing with the clients.
const MIN_PER_CLIENT_RATIO: f64 = 0.9;
/// Minimum relative growth of throughput from one step to the next that cannot be noise. A step with this growth does
/// not count as flat, even if an earlier step had a higher rate. If throughput grew that much, other programs may have
/// disturbed the steps in between.
const MIN_GROWTH: f64 = 0.25;

/// Minimum number of answers per client in a step with more than twice the clients of the step before.
const MIN_ANSWERS_PER_CLIENT: f64 = 4.0;

/// Reason for the end of a sweep whose throughput stopped growing.
const STOPPED_GROWING: &str = "doubling them gained under 5 %, twice";

/// State of a closed-loop sweep.
#[derive(Clone, Debug)]
pub struct Sweep {
    next: u32,
    most: u32,
    /// True if the sweep tries the largest number of clients even if throughput stopped growing before.
    reaches_most: bool,
    best: f64,
    /// Clients and completed rate of each step.
    steps: Vec<(u32, f64)>,
    flat: u32,
    /// Clients and completed rate of the last step.
    last: (u32, f64),
    /// True if throughput grew with the clients in the last step.
    scales: bool,
    ended: Option<&'static str>,
}

impl Sweep {
    /// Returns a sweep that tries at most `most` clients.
    pub fn new(most: u32) -> Self {
        Self {
            next: 1,
            most: most.max(1),
            reaches_most: false,
            best: 0.0,
            steps: Vec::new(),
            flat: 0,
            last: (0, 0.0),
            scales: false,
            ended: None,
        }
    }

    /// Returns a sweep that tries at most `most` clients. The sweep tries this number even if throughput has stopped
    /// growing, because the user chose it.
    pub fn reaching(most: u32) -> Self {
        Self { reaches_most: true, ..Self::new(most) }
    }

    /// Returns true if the next step has the number of clients that the user chose.
    pub fn is_at_chosen(&self) -> bool {
        self.reaches_most && self.ended.is_none() && self.next == self.most
    }

    /// Makes the step with the user's number of clients the next step. Returns false if there is no such step left.
    pub fn skip_to_chosen(&mut self) -> bool {
        let skips = self.reaches_most && self.ended.is_none() && self.next < self.most;
        if skips {
            self.next = self.most;
        }
        skips
    }

    /// Returns true if throughput stopped growing before the next step.
    pub fn has_stopped_growing(&self) -> bool {
        self.flat >= judge::FLAT_STEPS
    }

    /// Returns the time in which a server answers each client of the next step once at the highest rate so far,
    /// seconds. Returns 0 before the first answer.
    pub fn round_s(&self) -> f64 {
        if self.best > 0.0 { f64::from(self.next) / self.best } else { 0.0 }
    }

    /// Returns the number of clients to try next; `None` if the sweep has ended.
    pub fn next(&self) -> Option<u32> {
        if self.ended.is_some() { None } else { Some(self.next) }
    }

    /// Records the completed rate of the step from [`Sweep::next`].
    pub fn record(&mut self, completed_rate: f64) {
        let grew =
            completed_rate >= self.best * (1.0 + judge::FLAT) || completed_rate >= self.last.1 * (1.0 + MIN_GROWTH);
        self.flat = if grew { 0 } else { self.flat + 1 };
        self.best = self.best.max(completed_rate);
        self.steps.push((self.next, completed_rate));
        let by_client = |(clients, rate): (u32, f64)| rate / f64::from(clients.max(1));
        self.scales =
            self.last.0 > 0 && by_client((self.next, completed_rate)) > MIN_PER_CLIENT_RATIO * by_client(self.last);
        self.last = (self.next, completed_rate);
        if self.best <= 0.0 {
            self.ended = Some("no request completed");
        } else if self.flat >= judge::FLAT_STEPS {
            if !self.skip_to_chosen() {
                self.ended = Some(STOPPED_GROWING);
            }
        } else if self.next >= self.most {
            self.ended = Some("the largest number was reached while throughput still grew");
        } else {
            self.next = (self.next.saturating_mul(2)).min(self.most);
        }
    }

    /// Makes the next step larger, if doubling would not reach the maximum in the remaining steps. If only one step
    /// remains, this step has the number of clients that the user chose, if any. The number of clients more than
    /// doubles only while throughput grows with the clients, so that no plateau is skipped. The number is limited, so
    /// that a server that is already saturated still answers each client [`MIN_ANSWERS_PER_CLIENT`] times within
    /// `measure_s` seconds. Without this limit, a slow server would still work on the clients' first requests long
    /// after the end of the step.
    pub fn hurry(&mut self, steps_left: u32, measure_s: f64) {
        let (clients, most) = (f64::from(self.last.0.max(1)), f64::from(self.most));
        let doublings = ((most / clients).log2() / f64::from(steps_left.max(1))).ceil().clamp(1.0, 31.0);
        if self.scales && self.ended.is_none() {
            let answered =
                ((self.last.1 * measure_s / MIN_ANSWERS_PER_CLIENT) as u32).max(self.last.0.saturating_mul(2));
            self.next = self.last.0.saturating_mul(1 << doublings as u32).min(answered).min(self.most);
        }
        if steps_left <= 1 {
            self.skip_to_chosen();
        }
    }

    /// Ends the sweep because no time is left for another step.
    pub fn end_in_time(&mut self) {
        self.end(if self.has_stopped_growing() { STOPPED_GROWING } else { "their share of the budget is spent" });
    }

    /// Ends the sweep for the caller's reason, such as lack of time or an interrupt.
    pub fn end(&mut self, why: &'static str) {
        self.ended.get_or_insert(why);
    }

    /// Returns the highest completed rate so far (Xmax), requests per second.
    pub fn best(&self) -> f64 {
        self.best
    }

    /// Returns the smallest number of clients whose rate differs from the highest rate (Xmax) only by noise
    /// ([`judge::FLAT`]).
    pub fn fewest_at_best(&self) -> u32 {
        let reached = |(_, rate): &&(u32, f64)| rate * (1.0 + judge::FLAT) >= self.best;
        self.steps.iter().find(reached).map_or(1, |(clients, _)| *clients)
    }

    /// Returns true if throughput grew with the clients up to the last step, so that more clients may give more
    /// throughput.
    pub fn still_grows(&self) -> bool {
        let is_alone = self.steps.len() == 1;
        self.last.0 < self.most && (self.scales || is_alone)
    }

    /// Returns the reason why the sweep ended.
    pub fn ended(&self) -> Option<&'static str> {
        self.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates a server with one bottleneck: the throughput of N clients is min(N / R1, Xmax), with the unloaded
    /// response time R1.
    fn sweep(r1_s: f64, x_max: f64, most: u32) -> (Vec<u32>, Sweep) {
        let mut sweep = Sweep::new(most);
        let mut tried = Vec::new();
        while let Some(n) = sweep.next() {
            tried.push(n);
            sweep.record((f64::from(n) / r1_s).min(x_max));
        }
        (tried, sweep)
    }

    #[test]
    fn stops_two_steps_after_the_knee() {
        let (tried, done) = sweep(0.001, 16_000.0, 1024);
        assert_eq!(tried, [1, 2, 4, 8, 16, 32, 64]);
        assert_eq!((done.best(), done.fewest_at_best()), (16_000.0, 16));
    }

    #[test]
    fn the_sweep_goes_beyond_four_sleeping_workers() {
        let (tried, done) = sweep(0.020, 200.0, 1024);
        assert_eq!((tried, done.best()), (vec![1, 2, 4, 8, 16], 200.0));
    }

    #[test]
    fn few_steps_reach_the_maximum_while_throughput_grows_with_the_clients() {
        let tried = |x_max: f64| {
            let (mut sweep, mut tried) = (Sweep::new(64), Vec::new());
            while let Some(n) = sweep.next().filter(|_| tried.len() < 5) {
                tried.push(n);
                sweep.record((f64::from(n) * 20.0).min(x_max));
                sweep.hurry(5 - tried.len() as u32, 1.0);
            }
            tried
        };
        assert_eq!(tried(1e9), [1, 2, 8, 32, 64]);
        assert_eq!(tried(40.0), [1, 2, 8, 16], "what is full is seen at the second step past it, doubled again");
    }

    /// An earlier version of loadline ended the sweep at 16 connections, although the user gave --connections 64.
    #[test]
    fn the_number_that_the_user_chose_is_tried_beyond_a_plateau_and_at_the_end_of_the_time() {
        let tried = |r1_s: f64, x_max: f64, steps: u32| {
            let (mut sweep, mut tried) = (Sweep::reaching(64), Vec::new());
            while let Some(n) = sweep.next().filter(|_| tried.len() < steps as usize) {
                tried.push(n);
                sweep.record((f64::from(n) / r1_s).min(x_max));
                sweep.hurry(steps - tried.len() as u32, 1.0);
            }
            (tried, sweep.ended())
        };
        assert_eq!(tried(0.020, 200.0, 99), (vec![1, 2, 4, 8, 16, 64], Some(STOPPED_GROWING)));
        assert_eq!(tried(0.020, 200.0, 4).0, [1, 2, 16, 64], "only one step was left");
        assert_eq!(tried(0.001, 1e9, 99).0, [1, 2, 4, 8, 16, 32, 64], "a server that scales gets there by doubling");
        assert_eq!(tried(1.0, 0.0, 99).0, [1], "a server that answers nothing gets no more");
    }

    /// In an earlier version of loadline, a server with 0.1 s per request got 1024 connections after the second step.
    /// The server took 100 s to answer the first requests of the 1024 connections, and was reported as dead.
    #[test]
    fn a_slow_server_gets_no_more_clients_than_it_answers_within_a_window() {
        let mut sweep = Sweep::new(1024);
        sweep.record(9.0);
        sweep.record(19.0);
        sweep.hurry(2, 1.7);
        assert_eq!(sweep.next(), Some(8));
        sweep.record(20.0);
        sweep.hurry(1, 1.7);
        assert_eq!(sweep.next(), Some(16), "doubled where nothing scales any more");
    }

    #[test]
    fn one_flat_step_is_not_the_end() {
        let mut sweep = Sweep::new(1024);
        for rate in [100.0, 101.0, 390.0, 800.0, 810.0, 790.0] {
            assert!(sweep.next().is_some());
            sweep.record(rate);
        }
        assert_eq!((sweep.next(), sweep.best()), (None, 810.0));
    }

    #[test]
    fn a_rate_that_still_doubles_is_not_flat_below_a_best_that_came_before() {
        let mut sweep = Sweep::new(64);
        for rate in [50.0, 1000.0, 400.0, 800.0, 1600.0] {
            assert!(sweep.next().is_some(), "ended before {rate}: {:?}", sweep.ended());
            sweep.record(rate);
        }
        assert_eq!(sweep.next(), Some(32));
    }

    #[test]
    fn ends_at_the_limit_and_at_silence() {
        let (tried, done) = sweep(1.0, 1e9, 5);
        assert_eq!(tried, [1, 2, 4, 5]);
        assert!(done.ended().is_some_and(|why| why.contains("still grew")));
        assert_eq!(sweep(1.0, 0.0, 64).0, [1]);
    }
}
