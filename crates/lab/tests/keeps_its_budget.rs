//! Tests that `find` stays within its budget, in virtual time. The simulated servers have random speeds and sometimes
//! stall, and the simulated machines start agents slowly. A lever is a temporary change that an experiment makes, such
//! as slowing a CPU.

#![allow(clippy::unwrap_used, reason = "helpers of tests, too")]

use loadline_lab::search::{Conductor, within_budget};
use loadline_lab::{BudgetClock, LabError, Point};
use run::{Intensity, LoadPlan, Plan, Run, Trial, TrialKind, Window};

/// Number of random servers, each with a random budget.
const SERVERS: u64 = 200;
/// Maximum time by which a measurement is extended while a server gives no answers, seconds.
const MAX_STANDSTILL_S: f64 = 3.0;

/// A server with one queue, on a machine on which agents and conductor are randomly slow.
struct Machine {
    run: Run,
    load: LoadPlan,
    clock: BudgetClock,
    now_s: f64,
    proof_s: f64,
    /// Time per request, seconds.
    response_s: f64,
    /// Highest rate that the server completes, requests per second.
    highest_rate: f64,
    /// Share of the load tests in which the server stalls.
    stalls: f64,
    /// Mean time for starting agents, seconds.
    start_s: f64,
    /// Mean time for judging a load test, seconds.
    judge_s: f64,
    /// True if a generator of the experiment does not start.
    experiment_fails: bool,
    notes: Vec<String>,
    random: fastrand::Rng,
}

impl Machine {
    fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut between = |low: f64, high: f64| low * (high / low).powf(random.f64());
        let mut plan = Plan::default();
        plan.search.budget_s = between(10.0, 300.0);
        let response_s = between(1e-4, 1.0);
        let highest_rate = between(1.0, 64.0) / response_s;
        let (start_s, judge_s) = (between(0.01, 0.3), between(1e-3, 0.03));
        let stalls = [0.0, 0.1, 0.5][random.usize(..3)];
        plan.search.users = random.u8(..8) == 0;
        let mut clock = BudgetClock::default();
        clock.end_at(plan.search.budget_s);
        let load = plan.load.clone();
        let run = Run { plan, ..Run::default() };
        Self {
            run,
            load,
            clock,
            now_s: response_s,
            proof_s: 0.0,
            response_s,
            highest_rate,
            stalls,
            start_s,
            judge_s,
            experiment_fails: false,
            notes: Vec::new(),
            random,
        }
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -(1.0 - self.random.f64()).ln() * mean
    }

    /// Advances the clock by the time of one load with a random warm-up, and returns start and end of the load's
    /// measurement.
    fn pass(&mut self, plan: &LoadPlan) -> Window {
        let around_s = self.exponential(self.start_s);
        let warmup_s = plan.least_warmup_s + self.random.f64() * (plan.warmup_s - plan.least_warmup_s).max(0.0);
        let mut window = Window { begin_s: warmup_s, end_s: warmup_s + plan.duration_s };
        let is_stalled = self.random.f64() < self.stalls;
        if is_stalled {
            let left_s = self.clock.left_s(self.now_s) - around_s - window.end_s;
            window.end_s += (self.random.f64() * MAX_STANDSTILL_S).min(left_s.max(0.0));
        }
        let drain_s = if is_stalled { plan.drain_s } else { self.response_s.min(plan.drain_s) };
        self.now_s += around_s + window.end_s + drain_s;
        self.clock.conducted(around_s, drain_s);
        window
    }

    /// Advances the clock by the time for judging and writing the run, which grows with the number of load tests.
    fn judge(&mut self) {
        let took_s = (0.75 + 0.5 * self.random.f64()) * self.judge_s * self.run.trials.len() as f64;
        self.now_s += took_s;
        self.clock.judged(took_s);
    }
}

impl Conductor for Machine {
    fn run(&self) -> &Run {
        &self.run
    }

    fn load(&self) -> &LoadPlan {
        &self.load
    }

    fn elapsed_s(&self) -> f64 {
        self.now_s
    }

    fn left_s(&self) -> f64 {
        self.clock.left_s(self.now_s)
    }

    fn overhead_s(&self) -> f64 {
        self.clock.overhead_s()
    }

    fn reserve(&mut self, seconds: f64) {
        self.proof_s = seconds;
    }

    fn begin_repeat(&mut self, _: u32) {}

    fn unused_s(&mut self) -> Result<f64, LabError> {
        self.judge();
        Ok(0.0)
    }

    /// Advances the clock by the time of an experiment. The experiment has three load tests. In the first, two loads
    /// alternate. In the second, levers are switched on and off. In the third load test, the server has fewer CPUs.
    fn experiment(&mut self) -> Result<(), LabError> {
        if self.experiment_fails {
            return Err(LabError::Agent { name: "generator 1".into(), why: "ssh ended".into() });
        }
        self.judge();
        let end_s = self.now_s + self.proof_s.min(self.left_s());
        for share in [0.5, 0.8, 1.0] {
            let seconds = (end_s - self.now_s) * share - 2.0 * self.overhead_s();
            if seconds >= 1.0 {
                let start_s = self.exponential(self.start_s);
                self.now_s += start_s;
                self.pass(&LoadPlan { warmup_s: 0.4, duration_s: seconds - 0.4, ..self.load.clone() });
            }
        }
        Ok(())
    }

    fn stopped(&mut self) -> bool {
        false
    }

    fn note(&mut self, sentence: String) {
        self.notes.push(sentence);
    }

    fn leave_out(&mut self, _: f64) {}

    fn set_objective(&mut self, objective: run::Objective) {
        self.run.plan.objective = objective;
    }

    fn trial(&mut self, plan: LoadPlan, point: &Point) -> Result<Trial, LabError> {
        let window = self.pass(&plan);
        let (in_flight, offered) = match plan.intensity {
            Intensity::Open { rate, .. } => (rate * self.response_s, rate),
            ref closed => (closed.in_flight().unwrap_or(1.0), f64::INFINITY),
        };
        let rate = (in_flight / self.response_s).min(self.highest_rate).min(offered);
        let mut trial = Trial { label: point.label.clone(), kind: point.kind, ..Trial::default() };
        trial.intensity = plan.intensity.clone();
        (trial.rates.completed_rate, trial.rates.offered_rate) =
            (rate, if offered.is_finite() { offered } else { rate });
        let response_us = 1e6 * if offered > self.highest_rate { in_flight / rate } else { self.response_s };
        (trial.latency_us.p50, trial.latency_us.mean, trial.latency_us.p99) = (response_us, response_us, response_us);
        trial.measured.tally.completed = (rate * window.length_s()) as u64;
        if self.response_s > window.length_s() {
            // The only answer comes after the measurement.
            (trial.rates.completed_rate, trial.measured.tally.completed, trial.tally.completed) = (0.0, 0, 1);
        }
        trial.measured.window = window;
        trial.measured.length_s = window.length_s();
        self.run.trials.push(trial.clone());
        let keeping_s = self.exponential(self.judge_s);
        self.now_s += keeping_s;
        self.clock.kept(keeping_s);
        Ok(trial)
    }

    fn ask(&mut self) -> Result<bool, String> {
        self.now_s += self.response_s;
        Ok(true)
    }

    fn refuses_at_rest(&mut self) {}

    fn gone(&mut self, _: &str) -> Result<(), LabError> {
        Ok(())
    }
}

/// Connecting to other hosts takes 12 of 60 s. If an earlier version of `find` measured the costs of handshakes, it
/// subtracted the 12 s twice, and ended after 48 s.
#[test]
fn a_slow_set_up_is_subtracted_only_once() {
    let mut machine = Machine::new(5);
    let search = &mut machine.run.plan.search;
    // The search does not end early, because no interval is short enough.
    (search.budget_s, search.users, search.precision) = (60.0, false, 0.0);
    machine.clock.end_at(60.0);
    (machine.response_s, machine.highest_rate, machine.stalls) = (1e-3, 5e3, 0.0);
    (machine.start_s, machine.judge_s) = (0.02, 1e-3);
    machine.load.tls = Some(run::TlsPlan::default());
    machine.now_s = 12.0;
    within_budget(&mut machine, 1e-3).unwrap();
    assert!(machine.run.trials.iter().any(|trial| trial.kind == TrialKind::Handshakes));
    assert!((54.0..=60.5).contains(&machine.now_s), "{}", machine.now_s);
}

/// With a budget of 30 s, an earlier version of `find` took 35.9 s on a busy machine.
#[test]
fn no_search_exceeds_its_budget_by_more_than_a_drain() {
    let (mut used, mut steps) = (0.0, 0);
    for seed in 1..=SERVERS {
        let mut machine = Machine::new(seed);
        let (budget_s, first_s) = (machine.run.plan.search.budget_s, machine.response_s);
        within_budget(&mut machine, first_s).unwrap();
        machine.judge();
        let over_s = machine.now_s - budget_s;
        assert!(over_s <= machine.load.drain_s, "seed {seed}: {:.2} s of {budget_s:.1} s", machine.now_s);
        used += machine.now_s / budget_s;
        steps += machine.run.trials.iter().filter(|trial| trial.kind == TrialKind::Search).count();
    }
    assert!(used > 0.8 * SERVERS as f64 && steps > 5 * SERVERS as usize, "{used} {steps}: it uses its budget, too");
}

/// Each answer takes 3 s, longer than a measurement. An earlier version of `find` repeated the first load test even if
/// the budget was over.
#[test]
fn a_measurement_without_any_answer_is_repeated_only_within_the_budget() {
    let mut machine = Machine::new(5);
    (machine.run.plan.search.budget_s, machine.run.plan.search.users) = (10.0, false);
    machine.clock.end_at(10.0);
    (machine.response_s, machine.highest_rate, machine.stalls, machine.now_s) = (3.0, 100.0, 0.0, 3.0);
    within_budget(&mut machine, 3.0).unwrap();
    assert!(machine.now_s <= 10.0 + machine.load.drain_s, "{}", machine.now_s);
}

#[test]
fn a_generator_that_does_not_start_in_the_experiment_leaves_the_search_valid() {
    let mut machine = Machine::new(3);
    machine.experiment_fails = true;
    let first_s = machine.response_s;
    within_budget(&mut machine, first_s).unwrap();
    assert!(machine.run.trials.iter().any(|trial| trial.kind == TrialKind::Search));
    assert!(machine.notes.iter().any(|note| note.contains("the experiment ended early")), "{:?}", machine.notes);
}
