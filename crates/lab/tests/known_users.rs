//! Tests of the search for the capacity as a number of users, in virtual time. The simulated server is a closed queue
//! whose capacity is known exactly.

#![allow(clippy::unwrap_used, reason = "helpers of tests, too")]

use load::SimServer;
use run::{Expectation, Intensity, Plan, Run, ThinkTime};
use testkit::VirtualServer;
use testkit::queueing::users_tail;

/// Mean service time of the server, seconds.
const SERVICE_S: f64 = 0.001;
/// Limit on the 99th percentile of the response times, seconds.
const LIMIT_S: f64 = 0.03;
/// Mean think time of the users, seconds.
const THINK_S: f64 = 0.4;
const SEEDS: u64 = 12;

fn plan() -> Plan {
    let mut plan = Plan::default();
    plan.objective.p99_us = Some(LIMIT_S * 1e6);
    (plan.search.users, plan.search.max_connections) = (true, 5000);
    let think = ThinkTime { mean_ms: THINK_S * 1e3, exponential: true };
    plan.load.intensity = Intensity::Closed { connections: 1, pipeline: 1, think };
    plan
}

/// Number of runs for the long table.
const HUNDRED: u64 = 100;

/// Returns the largest number of users for which at most one in a hundred requests exceeds the limit.
fn exact() -> u32 {
    (1..5000).take_while(|users| users_tail(*users, THINK_S, SERVICE_S, LIMIT_S) <= 0.01).last().unwrap()
}

/// Searches once with each seed, within a budget. Removes the histograms of the runs, which take megabytes per run.
fn searches(seeds: u64, budget_s: f64) -> Vec<Run> {
    let search = |seed| {
        let mut plan = plan();
        plan.search.budget_s = budget_s;
        let mut run = VirtualServer::new(SimServer::default(), plan, seed).find_users().unwrap();
        run.trials.iter_mut().for_each(|trial| trial.histograms.clear());
        run
    };
    (1..=seeds).map(search).collect()
}

/// Checks the ranges between the largest number of users that passed and the smallest that failed.
fn ranges_are_near_the_capacity(runs: &[Run]) {
    let exact = f64::from(exact());
    let range = |run: &Run| {
        let users = run.findings.users.clone().unwrap();
        assert!(run.trials.iter().all(|t| t.label.contains("user")), "no open loop stands beside it");
        (f64::from(users.held.unwrap()) / exact, f64::from(users.failed.unwrap()) / exact)
    };
    let ranges: Vec<(f64, f64)> = runs.iter().map(range).collect();
    println!("exact {exact}, found {ranges:.3?}");
    let middles: Vec<f64> = ranges.iter().map(|(held, failed)| (held * failed).sqrt()).collect();
    let mean = middles.iter().sum::<f64>() / middles.len() as f64;
    // The p99 of a measurement of one second is noisy, so the range of a single search may miss the capacity by some
    // percent.
    assert!((mean - 1.0).abs() < 0.08, "{mean} {middles:?}");
    assert!(middles.iter().all(|ratio| (ratio - 1.0).abs() < 0.25), "{middles:?}");
}

/// Checks the capacities estimated from all measurements against the exact capacity of the closed queue. Prints the
/// values for the documentation page about users.
fn intervals_hold_the_capacity(runs: &[Run]) {
    let (exact, seeds) = (f64::from(exact()), runs.len());
    let estimate = |run: &Run| {
        let found = run.findings.users.clone().unwrap().capacity.unwrap();
        [found.value, found.low, found.high].map(|users| users / exact)
    };
    let all: Vec<[f64; 3]> = runs.iter().map(estimate).collect();
    let mean = |of: &dyn Fn(&[f64; 3]) -> f64| all.iter().map(of).sum::<f64>() / seeds as f64;
    let held = all.iter().filter(|[_, low, high]| *low <= 1.0 && *high >= 1.0).count();
    let bias = mean(&|[value, ..]| value - 1.0);
    let half = mean(&|[_, low, high]| (high - low) / 2.0);
    let budget_s = runs[0].plan.search.budget_s;
    println!("{budget_s} s, {seeds} runs: bias {bias:+.3}, half an interval {half:.3}, {held} hold the exact capacity");
    assert!(bias.abs() < 0.03, "{all:.3?}");
    // With few runs, fewer intervals may contain the capacity by chance: the allowed share is lower by two standard
    // deviations of a binomial count.
    let chance = if (seeds as u64) < HUNDRED { 2.0 * (0.93 * 0.07 / seeds as f64).sqrt() } else { 0.0 };
    assert!(held as f64 / seeds as f64 >= 0.93 - chance, "{held} of {seeds}: {all:.3?}");
}

#[test]
fn users_who_think_are_counted_as_many_as_the_closed_queue_takes() {
    let runs = searches(SEEDS, 30.0);
    ranges_are_near_the_capacity(&runs);
    intervals_hold_the_capacity(&runs);
}

/// Each answer takes 0.4 s, and the server never fails. An earlier version of loadline stopped after one user, with 4
/// of 10 s unused, and called the rate of this user the capacity.
#[test]
fn a_slow_server_gets_several_measurements_and_a_lower_bound() {
    let mut plan = plan();
    plan.objective.p99_us = Some(2e6);
    (plan.search.budget_s, plan.search.max_connections) = (10.0, 20);
    plan.expect = vec![Expectation { figure: "capacity".into(), at_least: true, limit: 1000.0, text: String::new() }];
    let server = SimServer { service_ns: 400_000_000, workers: 1000, ..SimServer::default() };
    let run = VirtualServer::new(server, plan, 1).find_users().unwrap();
    let tried: Vec<&str> = run.trials.iter().map(|trial| trial.label.as_str()).collect();
    let (users, capacity) = (run.findings.users.clone().unwrap(), run.findings.capacity.clone().unwrap());
    assert!(users.held > Some(1) && users.failed.is_none(), "{tried:?}");
    assert!(capacity.held && capacity.at_least, "{capacity:?}");
    assert!(run.findings.expected[0].undecided, "{:?}", run.findings.expected);
}

#[test]
#[ignore = "two hundred runs"]
fn intervals_hold_the_truth_in_a_hundred_runs_of_each_budget() {
    intervals_hold_the_capacity(&searches(HUNDRED, 30.0));
    intervals_hold_the_capacity(&searches(HUNDRED, 10.0));
}
