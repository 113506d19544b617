//! The steps of `find` between the first request and the verdict: a closed-loop sweep, an open-loop search for the highest
//! rate that holds the objective, one step past it. `docs/method.md` says why in this order.

use run::{Arrival, Intensity, Limits, LoadPlan, ThinkTime, Trial, TrialKind};

use super::{Aim, Budget, Conductor, Length, Sweep, step};
use crate::{LabError, Point};

/// Requests that a search must offer for arrivals to be Poisson: below, the count of a Poisson process scatters by more
/// than 1 %, which is coarser than the search; equal gaps are used instead, and the trial says so.
const ENOUGH_FOR_POISSON: f64 = 10_000.0;
/// Windows of a search, about: what [`ENOUGH_FOR_POISSON`] is spread over.
const WINDOWS: f64 = 6.0;
/// Share of errors at which it is worth asking whether the server still lives.
const ALARMING: f64 = 0.5;
/// Connections that an open loop may use even where its rate needs fewer: what one answer that is late holds up is small.
const FEWEST_CONNECTIONS: f64 = 64.0;

/// Searches for the capacity of a server that answered its first request within `response_s` seconds. What it comes to
/// stands in the trials of the conductor's run.
pub fn capacity(conductor: &mut dyn Conductor, budget: Budget, response_s: f64) -> Result<(), LabError> {
    // A first step shorter than one response would see nothing come back, and end the sweep.
    let mut finder = Finder { conductor, budget, response_s, over: false };
    let best = finder.sweep()?;
    if best > 0.0 { finder.search(best) } else { Ok(()) }
}

struct Finder<'c> {
    conductor: &'c mut dyn Conductor,
    budget: Budget,
    /// Median response time of the last step, seconds.
    response_s: f64,
    /// The server is gone: nothing more is tried.
    over: bool,
}

impl Finder<'_> {
    fn over(&mut self) -> bool {
        self.over || self.conductor.stopped()
    }

    /// Returns the highest rate of good answers. Refusals are quick: counting them would make a server that turns
    /// everybody away look fast.
    fn sweep(&mut self) -> Result<f64, LabError> {
        let mut sweep = Sweep::new(self.conductor.run().plan.search.max_connections);
        while let Some(n) = sweep.next() {
            let length = self.budget.sweep_step(self.response_s);
            if self.over() {
                sweep.end("the run ended");
                break;
            }
            if n > 1 && self.conductor.elapsed_s() + length.whole_s() > self.budget.sweep_until_s() {
                sweep.end("its share of the budget is used up");
                break;
            }
            let plan = step::plan(self.conductor, self.closed(n), length);
            let label = if n == 1 { "1 connection".into() } else { format!("{n} connections") };
            let trial = self.step(plan, label, TrialKind::Sweep)?;
            sweep.saw(judge::good(&trial));
            let left_s = self.budget.sweep_until_s() - self.conductor.elapsed_s();
            sweep.hurry((left_s / self.budget.sweep_step(self.response_s).whole_s()) as u32);
        }
        if let Some(why) = sweep.ended() {
            self.conductor.note(format!("the closed-loop sweep ended because {why}"));
        }
        Ok(sweep.best())
    }

    fn search(&mut self, best: f64) -> Result<(), LabError> {
        let limits = judge::limits(self.conductor.run());
        // The sweep ended where clients only wait for each other; the search is for rates at which they do not.
        let longest_s = judge::longest_mean_us(&limits).unwrap_or(f64::INFINITY) / 1e6;
        self.response_s = self.response_s.min(longest_s);
        let mut aim = Aim::new(best, self.conductor.run().plan.search.precision);
        while let Some(rate) = aim.next() {
            let length = self.budget.search_step(self.response_s);
            if self.over() || self.conductor.elapsed_s() + length.whole_s() > self.budget.search_until_s() {
                break;
            }
            let trial = self.offer(rate, &limits, length, TrialKind::Search)?;
            let held = judge::breach(&trial, &limits).is_none();
            aim.saw(held, judge::pooled(self.conductor.run().last_repeat(), &limits).as_ref());
        }
        if !self.over() {
            let length = self.budget.search_step(self.response_s);
            self.offer(aim.overload(), &limits, length, TrialKind::Overload)?;
        }
        Ok(())
    }

    fn offer(&mut self, rate: f64, limits: &Limits, length: Length, kind: TrialKind) -> Result<Trial, LabError> {
        let arrival = match rate * length.measure_s * WINDOWS >= ENOUGH_FOR_POISSON {
            true => Arrival::Poisson,
            false => Arrival::Constant,
        };
        // Enough for the rate at the longest response time that is still good: by Little's law more in flight means
        // that the mean is past the goal already, and a server that fell behind catches up slowly with connections
        // that it holds only because it fell behind.
        let needed =
            (rate * judge::longest_mean_us(limits).unwrap_or(1e6) / 1e6).clamp(FEWEST_CONNECTIONS, 65_536.0) as u32;
        let max_connections = needed.min(self.conductor.run().plan.search.max_connections.max(1));
        let plan = LoadPlan {
            late_us: judge::late_us(limits),
            ..step::plan(self.conductor, Intensity::Open { rate, arrival, max_connections }, length)
        };
        let what = if kind == TrialKind::Overload { "overload at" } else { "offered" };
        self.step(plan, format!("{what} {rate:.0}/s"), kind)
    }

    fn step(&mut self, plan: LoadPlan, label: String, kind: TrialKind) -> Result<Trial, LabError> {
        let within_us = judge::limits(self.conductor.run()).p99_us;
        let point = Point { label, kind, within_us, ..Point::default() };
        let trial = match self.conductor.trial(plan, &point) {
            Ok(trial) => trial,
            Err(LabError::Lost { label, why }) => {
                self.over = true;
                self.conductor.note(format!("the search ended at {label:?} because its generators were lost: {why}"));
                return Ok(Trial::default());
            }
            Err(e) => return Err(e),
        };
        if kind == TrialKind::Sweep {
            self.response_s = trial.latency_us.p50 / 1e6;
        }
        self.look_alive(&trial)?;
        Ok(trial)
    }

    /// A server that died is said at once and by name, and ends the search.
    fn look_alive(&mut self, trial: &Trial) -> Result<(), LabError> {
        // A death that was seen was told with its time, and ended the run.
        let alarming = judge::failed_share(trial).is_some_and(|share| share >= ALARMING);
        if self.conductor.stopped() || (trial.rates.completed_rate > 0.0 && !alarming) {
            return Ok(());
        }
        if let Err(why) = self.conductor.ask() {
            self.over = true;
            self.conductor.gone(&why)?;
        }
        Ok(())
    }

    fn closed(&self, connections: u32) -> Intensity {
        let (pipeline, think) = match &self.conductor.load().intensity {
            Intensity::Closed { pipeline, think, .. } => (*pipeline, think.clone()),
            _ => (1, ThinkTime::default()),
        };
        Intensity::Closed { connections, pipeline, think }
    }
}
