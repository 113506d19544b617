//! Searches whose time ends too early, because their budget is short, agents start slowly, and other programs disturb
//! them. Nearly every result must either say that it is a lower bound, or be close to the true capacity.

use load::Service;
use run::{Capacity, Plan};
use testkit::{Drift, Pauses, VirtualServer};

use crate::models::server;

/// Number of searches in quick tests.
const DRAWS: u64 = 30;
/// Number of searches in the long test.
const MANY_DRAWS: u64 = 300;

/// A search on a random server, and its result.
struct Draw {
    /// True capacity: the number of requests per second that keeps all workers busy.
    truth: f64,
    budget_s: f64,
    around_s: f64,
    workers: u32,
    capacity: Capacity,
}

/// Searches for the capacity of a server with 1 to 128 workers and up to 8,000 requests per second. Starting agents
/// takes 0.03 to 0.6 s on the server's machine.
fn draw(seed: u64, busy: bool, budget: Option<f64>) -> Draw {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut between = |low: f64, high: f64| low * (high / low).powf(random.f64());
    let workers = 1 << (between(1.0, 256.0).log2() as u32).min(7);
    let service_us = (f64::from(workers) * 1e6 / between(300.0, 8000.0)) as u64;
    let (short_s, around_s) = (between(3.0, 8.0), between(0.03, 0.6));
    let budget_s = budget.unwrap_or(short_s);
    let mut plan = Plan::default();
    plan.search.budget_s = budget_s;
    let mut found =
        VirtualServer::new(server(Service::Constant, service_us, workers), plan, seed).starting_agents_in(around_s);
    if busy {
        found = found.drifting(Drift { sd: 0.1, forgets_s: 0.3 }).paused(Pauses { rate: 0.5, mean_s: 0.05 });
    }
    let capacity = found.find().unwrap().findings.capacity.unwrap_or_default();
    Draw { truth: f64::from(workers) * 1e6 / service_us as f64, budget_s, around_s, workers, capacity }
}

impl Draw {
    /// Returns true if the result is far below the truth, but does not say that it is a lower bound.
    fn is_silently_low(&self) -> bool {
        let c = &self.capacity;
        c.held && !c.at_least && c.high.unwrap_or(c.rate) < 0.8 * self.truth
    }
}

/// Runs searches with short budgets and checks their results. Each search that ended too early runs once more with the
/// budget that it asked for. At most one result in 200 may be far too low without saying that it is a lower bound.
fn holds(draws: u64, busy: bool) {
    let all: Vec<Draw> = (1..=draws).map(|seed| draw(seed, busy, None)).collect();
    let longer = |(seed, d): (u64, &Draw)| Some(draw(seed, busy, Some(d.capacity.needed_s?)));
    let again: Vec<Draw> = (1..).zip(&all).filter_map(longer).collect();
    let bounds = |draws: &[Draw]| draws.iter().filter(|d| d.capacity.at_least).count();
    let low: Vec<&Draw> = all.iter().chain(&again).filter(|d| d.is_silently_low()).collect();
    for Draw { truth, workers, budget_s, around_s, capacity } in &low {
        println!("{truth:.0}/s, {workers} workers, {budget_s:.1} s, agents in {around_s:.2} s: {capacity:?}");
    }
    let (early, still) = (bounds(&all), bounds(&again));
    println!(
        "busy {busy}: {early} of {draws} searches give a lower bound, and {still} of {} with the budget that they ask \
         for; {} results are far too low without a word",
        again.len(),
        low.len()
    );
    // At most one search in 200 may have an interval far below the capacity. In one test of 850 searches, one search
    // had an interval far below the capacity.
    assert!(low.len() * 200 <= all.len() + again.len(), "{} are far too low without a word", low.len());
    assert!(early > 0 && still * 5 <= again.len(), "{still} of {} are bounds again", again.len());
}

#[test]
fn a_search_that_ends_too_early_gives_a_lower_bound() {
    holds(DRAWS, true);
}

#[test]
#[ignore = "hundreds of searches in virtual time"]
fn hundreds_of_short_searches() {
    [false, true].into_iter().for_each(|busy| holds(MANY_DRAWS, busy));
}
