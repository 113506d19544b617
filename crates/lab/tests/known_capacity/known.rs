//! A server whose capacity is known, and the accuracy of searches for it.

use load::SimServer;
use run::{Plan, Run};
use testkit::VirtualServer;

/// Number of runs of each model in quick tests.
pub(crate) const SEEDS: u64 = 12;
/// Number of runs of each model for the long table.
pub(crate) const HUNDREDS: u64 = 200;
/// Maximum allowed bias of a search's result, as a share of the capacity.
pub(crate) const BIAS: f64 = 0.02;
/// Minimum share of intervals that must contain the exact capacity.
pub(crate) const COVERED: f64 = 0.93;
/// Share of requests that may exceed the limit, because the objective is a 99th percentile.
pub(crate) const SLOW: f64 = 0.01;

/// A server whose capacity is known.
pub(crate) struct Known {
    pub(crate) name: &'static str,
    pub(crate) server: SimServer,
    pub(crate) plan: Plan,
    /// Limit in the objective: a 99th percentile in microseconds, or a share of failures.
    pub(crate) limit: f64,
    /// Function that returns the capacity for a limit on the response time.
    pub(crate) capacity: fn(f64) -> f64,
}

impl Known {
    /// Returns a queue whose objective limits the 99th percentile (microseconds).
    pub(crate) fn queue(name: &'static str, server: SimServer, p99_us: f64, capacity: fn(f64) -> f64) -> Self {
        let mut plan = Plan::default();
        plan.objective.p99_us = Some(p99_us);
        Self { name, server, plan, limit: p99_us, capacity }
    }

    pub(crate) fn exact(&self) -> f64 {
        (self.capacity)(self.limit)
    }

    pub(crate) fn at(&self, seed: u64) -> VirtualServer {
        VirtualServer::new(self.server.clone(), self.plan.clone(), seed)
    }

    /// Runs a search with each seed from 1 to `seeds`, and returns the results.
    pub(crate) fn found(&self, seeds: u64, stage: impl Fn(VirtualServer) -> VirtualServer) -> Found {
        Found((1..=seeds).map(|seed| Ratios::of(&stage(self.at(seed)).find().unwrap(), self.exact())).collect())
    }

    /// Runs a search with each seed from 1 to `seeds`, checks the results against the exact capacity, and returns the
    /// results.
    pub(crate) fn holds(&self, seeds: u64, stage: impl Fn(VirtualServer) -> VirtualServer) -> Found {
        let found = self.found(seeds, stage);
        println!("{:<26} {:>7.0} {found}", self.name, self.exact());
        let (bias, slack) = (found.mean() - 1.0, 2.0 * found.sd() / (seeds as f64).sqrt());
        assert!(bias.abs() <= BIAS + if seeds < HUNDREDS { slack } else { 0.0 }, "{}: bias {bias:+.3}", self.name);
        // With few runs, fewer intervals may contain the capacity by chance: the allowed share is lower by two standard
        // deviations of a binomial count.
        let chance = 2.0 * (COVERED * (1.0 - COVERED) / seeds as f64).sqrt();
        let least = COVERED - if seeds < HUNDREDS { chance } else { 0.0 };
        assert!(found.covered() >= least, "{}: {:.2} covered", self.name, found.covered());
        found
    }
}

/// Results of one run, as ratios to the exact capacity; 0 if no rate met the objective.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ratios {
    pub(crate) rate: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Ratios {
    pub(crate) fn of(run: &Run, exact: f64) -> Self {
        let Some(c) = run.findings.capacity.as_ref().filter(|c| c.held) else {
            return Self { rate: 0.0, low: 0.0, high: 0.0 };
        };
        assert!(c.failed_at.is_none_or(|rate| rate >= c.rate), "a rate that failed stands below the capacity: {c:?}");
        Self {
            rate: c.rate / exact,
            low: c.low.unwrap_or(0.0) / exact,
            high: c.high.map_or(f64::INFINITY, |h| h / exact),
        }
    }
}

/// Returns the lowest rate that failed with certainty, above all rates that may have held. Returns `None` if a window
/// was disturbed, because then the disturbance may be the reason for a failure.
pub(crate) fn lowest_sure_failure(run: &Run) -> Option<f64> {
    let capacity = run.findings.capacity.as_ref()?;
    let windows = run
        .trials
        .iter()
        .zip(&run.findings.outcomes)
        .filter_map(|(trial, outcome)| Some((trial.rates.offered_rate, outcome.held, outcome.chance_held?)));
    let held = windows.clone().filter(|(_, held, chance)| *held || *chance >= 0.5).map(|(rate, ..)| rate);
    let held = held.fold(0.0, f64::max);
    let failed = windows.filter(|(rate, _, chance)| *rate > held && *chance < 0.025).map(|(rate, ..)| rate);
    failed.reduce(f64::min).filter(|_| capacity.left_out.is_none() && capacity.low.is_some())
}

/// Results of several searches.
pub(crate) struct Found(pub(crate) Vec<Ratios>);

impl Found {
    pub(crate) fn mean(&self) -> f64 {
        self.0.iter().map(|r| r.rate).sum::<f64>() / self.0.len() as f64
    }

    pub(crate) fn sd(&self) -> f64 {
        let squares: f64 = self.0.iter().map(|r| (r.rate - self.mean()).powi(2)).sum();
        (squares / (self.0.len() - 1) as f64).sqrt()
    }

    pub(crate) fn covered(&self) -> f64 {
        self.0.iter().filter(|r| r.low <= 1.0 && 1.0 <= r.high).count() as f64 / self.0.len() as f64
    }

    pub(crate) fn half(&self) -> f64 {
        self.0.iter().map(|r| (r.high - r.low) / 2.0).sum::<f64>() / self.0.len() as f64
    }
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let percent = [self.mean() - 1.0, self.sd(), self.half(), self.covered()].map(|share| 100.0 * share);
        let [bias, sd, half, covered] = percent;
        write!(f, "bias {bias:+.2} %, sd {sd:.2} %, half interval {half:.2} %, covered {covered:.0} of 100")
    }
}
