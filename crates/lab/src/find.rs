//! `loadline find`: the capacity of a server within a budget of time. At rest, the generator's own ceiling, a
//! closed-loop sweep, an open-loop search for the highest rate that holds the objective, one step past it.
//! `docs/method.md` says why in this order.

use std::path::Path;

use judge::Limits;
use run::{Arrival, Intensity, Io, LoadPlan, Plan, Run, ThinkTime, Trial, TrialKind};

use crate::conduct::Load;
use crate::search::{Bisect, Budget, Length, Seen, Sweep};
use crate::{Ground, Lab, LabError, Local, Point, Watch, preflight};

/// Requests that a window must hold for arrivals to be Poisson: below, the count of a Poisson process scatters by more
/// than 1.5 %, which is coarser than the search; equal gaps are used instead, and the trial says so.
const ENOUGH_FOR_POISSON: f64 = 5000.0;
/// Times that a step is tried again when a pause of a machine broke the objective in it.
const AGAIN: u32 = 2;
/// Offered rate that shows what a request meets without load, as a share of the sweep's highest rate.
const LIGHT: f64 = 0.05;
/// Requests that the step at that rate has to hold: its 99th percentile is to be one.
const ENOUGH_FOR_P99: f64 = 1000.0;
/// Share of errors at which it is worth asking whether the server still lives.
const ALARMING: f64 = 0.5;

/// Finds the capacity of the plan's target. What was measured before an interrupt is in the run that comes back.
pub fn find(plan: Plan, out: Option<&Path>, watch: &mut dyn Watch) -> Result<Run, LabError> {
    let mut lab = Lab::begin(plan, out, watch)?;
    let ground = Ground::prepare(&mut lab)?;
    let budget = Budget::new(lab.run.plan.search.budget_s);
    let rest_s = budget.at_rest_s(lab.run.plan.observe.at_rest_s);
    lab.rest(&ground.scene, rest_s);
    // A first step shorter than one response would see nothing come back, and end the sweep.
    let response_s = ground.first_s;
    let mut finder = Finder { lab, ground, budget, response_s, over: false };
    finder.ceiling()?;
    let best = finder.sweep()?;
    if best > 0.0 {
        finder.search(best)?;
    }
    finder.lab.finish()
}

struct Finder<'w> {
    lab: Lab<'w>,
    ground: Ground,
    budget: Budget,
    /// Median response time of the last step, seconds.
    response_s: f64,
    /// The server is gone: nothing more is tried.
    over: bool,
}

impl Finder<'_> {
    fn over(&mut self) -> bool {
        self.over || self.lab.stopped()
    }

    /// What the generator alone reaches with the null driver; a verdict must not name the server near it.
    fn ceiling(&mut self) -> Result<(), LabError> {
        if self.over() || !self.ground.is_http() {
            return Ok(());
        }
        let length = Length { warmup_s: 0.05, measure_s: 0.2 };
        let mut plan = self.ground.load_plan(closed(64), length);
        plan.io = Io::Null;
        let loads = [Load { host: &Local::default(), addr: self.ground.addr, plan }];
        let point = Point { label: "generator alone".into(), ..Point::default() };
        match self.lab.conduct(&self.ground.scene.blind(), &loads, &point) {
            Ok(trial) => self.lab.run.findings.trust.generator_ceiling = Some(trial.rates.completed_rate),
            Err(e) => self.lab.note(format!("the generator's own ceiling is not known: {e}")),
        }
        Ok(())
    }

    /// Returns the highest rate of good answers. Refusals are quick: counting them would make a server that turns
    /// everybody away look fast.
    fn sweep(&mut self) -> Result<f64, LabError> {
        let mut sweep = Sweep::new(self.lab.run.plan.search.max_connections);
        while let Some(n) = sweep.next() {
            let length = self.budget.sweep_step(self.response_s);
            if self.over() || (n > 1 && self.lab.elapsed_s() + length.whole_s() > self.budget.sweep_until_s()) {
                sweep.end("its share of the budget is used up");
                break;
            }
            let plan = self.ground.load_plan(self.closed(n), length);
            let label = if n == 1 { "1 connection".into() } else { format!("{n} connections") };
            let trial = self.step(plan, label, TrialKind::Sweep)?;
            sweep.saw(good_rate(&trial));
        }
        if let Some(why) = sweep.ended() {
            self.lab.note(format!("the closed-loop sweep ended because {why}"));
        }
        Ok(sweep.best())
    }

    fn search(&mut self, best: f64) -> Result<(), LabError> {
        self.lightly(best * LIGHT)?;
        let limits = judge::limits(&self.lab.run);
        let mut bisect = Bisect::new(best);
        let mut disturbed = 0;
        while let Some(rate) = bisect.next() {
            let Some(seen) = self.undisturbed(rate, &limits, &mut disturbed)? else { break };
            bisect.saw(&seen);
        }
        if disturbed > 0 {
            self.lab.note(format!(
                "steps that broke the objective by a pause (the hypervisor had taken a processor away, or nine answers in \
                 ten took less than a quarter of the 99th percentile), and were tried again: {disturbed}"
            ));
        }
        if !self.over() {
            let length = self.budget.search_step(self.response_s);
            self.offer(bisect.outcome().overload, &limits, length, TrialKind::Overload)?;
        }
        Ok(())
    }

    /// The objective that nobody named is a multiple of what a request meets without load, so that is seen first, as the
    /// search will see the rest: by arrivals at any moment, over a longer window, since few pauses of the machine decide.
    fn lightly(&mut self, rate: f64) -> Result<(), LabError> {
        let step = self.budget.search_step(self.response_s);
        let length = Length { measure_s: 1.5 * step.measure_s, ..step };
        let asked = self.lab.run.plan.objective.p99_us.is_some();
        if asked || self.over() || rate * length.measure_s < ENOUGH_FOR_P99 {
            return Ok(());
        }
        let limits = judge::limits(&self.lab.run);
        self.offer(rate, &limits, length, TrialKind::Search).map(|_| ())
    }

    /// One rate, again where a pause broke the objective: a pause of a machine breaks a percentile as too much load does,
    /// and only trying again tells which it was. `None` when there is no time left for a step.
    fn undisturbed(&mut self, rate: f64, limits: &Limits, disturbed: &mut u32) -> Result<Option<Seen>, LabError> {
        let mut seen = None;
        for _ in 0..=AGAIN {
            let length = self.budget.search_step(self.response_s);
            if self.over() || self.lab.elapsed_s() + length.whole_s() > self.budget.search_until_s() {
                break;
            }
            let trial = self.offer(rate, limits, length, TrialKind::Search)?;
            let held = judge::holds(&trial, limits).is_ok();
            seen = Some(Seen { offered_rate: rate, completed_rate: trial.rates.completed_rate, held });
            if held || !(judge::stolen(&trial) > 0.0 || judge::paused(&trial, limits)) {
                break;
            }
            *disturbed += 1;
        }
        Ok(seen)
    }

    fn offer(&mut self, rate: f64, limits: &Limits, length: Length, kind: TrialKind) -> Result<Trial, LabError> {
        let arrival = match rate * length.measure_s >= ENOUGH_FOR_POISSON {
            true => Arrival::Poisson,
            false => Arrival::Constant,
        };
        // Enough for the rate at the longest response time that is still good: by Little's law more in flight means
        // that the mean is past the goal already, and a server that fell behind catches up slowly with connections
        // that it holds only because it fell behind.
        let needed = (rate * limits.p99_us.unwrap_or(1e6) / 1e6).clamp(64.0, 65_536.0) as u32;
        let max_connections = needed.min(self.lab.run.plan.search.max_connections.max(64));
        let plan = self.ground.load_plan(Intensity::Open { rate, arrival, max_connections }, length);
        let what = if kind == TrialKind::Overload { "overload at" } else { "offered" };
        self.step(plan, format!("{what} {rate:.0}/s"), kind)
    }

    fn step(&mut self, plan: LoadPlan, label: String, kind: TrialKind) -> Result<Trial, LabError> {
        let within_us = judge::limits(&self.lab.run).p99_us;
        let point = Point { label, kind, within_us, ..Point::default() };
        let loads = [Load { host: &Local::default(), addr: self.ground.addr, plan }];
        let trial = match self.lab.trial(&self.ground.scene, &loads, &point) {
            Ok(trial) => trial.clone(),
            Err(LabError::Lost { label, why }) => {
                self.over = true;
                self.lab.note(format!("the search ended at {label:?} because its generators were lost: {why}"));
                return Ok(Trial::default());
            }
            Err(e) => return Err(e),
        };
        if kind == TrialKind::Sweep {
            self.response_s = trial.latency_us.p50 / 1e6;
        }
        self.look_alive(&trial);
        Ok(trial)
    }

    /// A server that died is said at once and by name, and ends the search.
    fn look_alive(&mut self, trial: &Trial) {
        if trial.rates.completed_rate > 0.0 && error_share(trial) < ALARMING {
            return;
        }
        let mut plan = self.ground.load.clone();
        plan.timeout_s = plan.timeout_s.min(3.0);
        plan.connect_timeout_s = plan.connect_timeout_s.min(3.0);
        match preflight::first_request(self.ground.addr, &plan) {
            Ok(first) => self.lab.count(&first.tally()),
            Err(why) => {
                self.over = true;
                self.lab.note(format!(
                    "the server stopped answering in the step {:?}: {why}; what was measured before stands",
                    trial.label
                ));
            }
        }
    }

    fn closed(&self, connections: u32) -> Intensity {
        let (pipeline, think) = match &self.ground.load.intensity {
            Intensity::Closed { pipeline, think, .. } => (*pipeline, think.clone()),
            _ => (1, ThinkTime::default()),
        };
        Intensity::Closed { connections, pipeline, think }
    }
}

fn closed(connections: u32) -> Intensity {
    Intensity::Closed { connections, pipeline: 1, think: ThinkTime::default() }
}

/// Completed requests of an expected status, per second.
fn good_rate(trial: &Trial) -> f64 {
    let m = &trial.measured.tally;
    let good = m.completed.saturating_sub(m.unexpected_status) as f64;
    if m.completed > 0 { trial.rates.completed_rate * good / m.completed as f64 } else { 0.0 }
}

fn error_share(trial: &Trial) -> f64 {
    let m = &trial.measured.tally;
    let failed = m.error_count() as f64;
    if failed > 0.0 { failed / (m.completed as f64 + failed) } else { 0.0 }
}
