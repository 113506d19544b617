//! Searches with short budgets, and their use of time.

use load::{Service, SimServer, TokenBucket};
use loadline_lab::search::SHORTEST_SEARCH_S;
use run::{Plan, Run};
use testkit::VirtualServer;
use testkit::queueing::mm1_capacity;

use crate::disturbances::undisturbed;
use crate::known::{COVERED, Found, Known, Ratios, SEEDS};
use crate::models::{m_m_1, median, own_objective, server, slow_application, slow_slots};

/// A search in a third of the usual time finds about the same capacity, with a wider interval. In ten seconds, an
/// earlier version of loadline made only one measurement, so the capacity had no interval. The server is an M/M/1 queue
/// with 8 ms per request and the default limit on the median. The search sends only about six hundred requests, and
/// each measurement begins with an empty queue. The estimate of the capacity is 8 % too high on average, but the
/// capacity's interval is wide enough for an error of 8 %.
#[test]
fn ten_seconds_of_a_slow_server_have_windows_enough_for_an_interval() {
    let mut slow = Known::queue("M/M/1 of 8 ms, p50", server(Service::Exponential, 8000, 1), 55_450.0, |us| {
        mm1_capacity(125.0, 0.5, us / 1e6)
    });
    slow.plan.objective.p99_us = None;
    slow.plan.objective.p50_us = Some(slow.limit);
    slow.plan.search.budget_s = 10.0;
    let runs: Vec<Run> = (1..=SEEDS).map(|seed| slow.at(seed).find().unwrap()).collect();
    let windows: Vec<usize> = runs.iter().map(|run| run.findings.capacity.as_ref().unwrap().windows).collect();
    let found = Found(runs.iter().map(|run| Ratios::of(run, slow.exact())).collect());
    println!("{:<26} {:>7.0} {found}; windows {windows:?}", slow.name, slow.exact());
    assert!(windows.iter().filter(|windows| **windows >= 3).count() * 12 >= SEEDS as usize * 10, "{windows:?}");
    assert!((found.mean() - 1.0).abs() < found.half(), "{found}");
    assert!(found.covered() >= COVERED - 2.0 * (COVERED * (1.0 - COVERED) / SEEDS as f64).sqrt(), "{found}");
    let beyond = runs.iter().filter(|run| ends_beyond_every_rate(run)).count();
    println!("{beyond} of {SEEDS} intervals end beyond every completed rate");
    assert!(beyond > 0, "an interval is not cut at the highest rate that was tried");
}

/// Returns true if the upper end of the capacity's interval is above every rate that completed.
fn ends_beyond_every_rate(run: &Run) -> bool {
    let most = run.trials.iter().map(judge::good).fold(0.0, f64::max);
    run.findings.capacity.as_ref().and_then(|capacity| capacity.high).is_some_and(|high| high > (1.0 + 1e-9) * most)
}

/// The searches last three seconds, the minimum in `arena` and `size`. Three seconds are too short to saturate a slow
/// server, so the result for such a server may be only a lower bound.
#[test]
fn the_shortest_search_finds_the_capacity_or_a_lower_bound() {
    for (mut known, is_slow) in [(own_objective(), false), (slow_slots(), true)] {
        known.plan.search.budget_s = SHORTEST_SEARCH_S;
        let found = known.found(SEEDS, undisturbed);
        println!("{:<26} in {SHORTEST_SEARCH_S} s {found}", known.name);
        let near = |r: &Ratios| (0.85..1.15).contains(&r.rate);
        let bound = |r: &Ratios| is_slow && r.high.is_infinite() && r.rate < 1.15;
        assert!(found.0.iter().all(|r| near(r) || bound(r)), "{:?}", found.0);
    }
}

/// With a lower required precision, the search ends earlier.
#[test]
fn a_search_ends_when_its_interval_is_narrow_enough() {
    let windows = |precision: f64| {
        let mut known = median();
        known.plan.search.precision = precision;
        let run = known.at(1).find().unwrap();
        let capacity = run.findings.capacity.clone().unwrap();
        let half = (capacity.high.unwrap() - capacity.low.unwrap()) / (2.0 * capacity.rate);
        (capacity.windows, half)
    };
    let ((few, half), (many, _)) = (windows(0.08), windows(0.0001));
    assert!(few < many && half <= 0.085, "{few} windows to {half}, {many} to the end of the budget");
}

/// The server has ten workers that need 10 ms per request, so it completes 1,000/s. Other programs delayed the test
/// request, which took 70 ms. An earlier version of loadline started its search at 74/s, and reported a capacity of
/// 149/s.
#[test]
fn a_slow_test_request_does_not_end_the_search_far_below_the_capacity() {
    for (seed, budget_s) in (1..=SEEDS).flat_map(|seed| [(seed, 8.0), (seed, 10.0)]) {
        let mut plan = Plan::default();
        plan.search.budget_s = budget_s;
        let slots = server(Service::Constant, 10_000, 10);
        let run = VirtualServer::new(slots, plan, seed).answering_first_in(0.07).find().unwrap();
        let c = run.findings.capacity.as_ref().unwrap();
        assert!(c.held && !c.at_least && (0.8..=1.02).contains(&(c.rate / 1000.0)), "{seed} {budget_s}: {c:?}");
    }
}

/// The server has a hundred workers that need 100 ms per request, so it completes 1,000/s. The closed-loop sweep has
/// time for 16 clients at most, which complete 160/s. An earlier version of loadline took 160/s as the rate at which
/// the server is full, and found about half of the capacity.
#[test]
fn a_server_of_many_slow_workers_is_found_although_its_sweep_ends_early() {
    let mut plan = Plan::default();
    plan.objective.p99_us = Some(300_000.0);
    for seed in 1..=SEEDS {
        let workers = server(Service::Constant, 100_000, 100);
        let run = VirtualServer::new(workers, plan.clone(), seed).find().unwrap();
        let c = run.findings.capacity.as_ref().unwrap();
        assert!(c.held && (0.75..=1.1).contains(&(c.rate / 1000.0)), "{seed}: {c:?}");
    }
}

/// If the budget ends before any rate fails, the search must report a lower bound of the capacity. The reported lower
/// bound of the capacity is at most the highest offered rate.
#[test]
fn a_search_without_a_failed_rate_gives_a_lower_bound() {
    let mut bounds = 0;
    for (seed, budget_s) in (1..=SEEDS).flat_map(|seed| [(seed, 1.0), (seed, 2.0), (seed, 3.0)]) {
        let mut plan = Plan::default();
        plan.search.budget_s = budget_s;
        let run = VirtualServer::new(server(Service::Constant, 10_000, 400), plan, seed).find().unwrap();
        let Some(c) = run.findings.capacity.as_ref().filter(|c| c.failed_at.is_none()) else { continue };
        let most = run.trials.iter().map(|t| t.rates.offered_rate).fold(0.0, f64::max);
        assert!(c.held && c.at_least && c.rate <= most && c.rate <= 40_000.0, "{seed} {budget_s}: {c:?}");
        bounds += 1;
    }
    assert!(bounds > 0, "no search ended before a load failed");
}

/// A server with a rate limit of 100/s refuses nearly every request of a closed loop, each within 30 us. An earlier
/// version of loadline derived the objective from the times of refusals. Searches of 8 s therefore ended with "no
/// answer was good".
#[test]
fn a_limit_that_refuses_nearly_all_of_a_closed_loop_is_found() {
    for (seed, budget_s) in (1..=SEEDS).flat_map(|seed| [(seed, 8.0), (seed, 10.0), (seed, 16.0)]) {
        let mut plan = Plan::default();
        plan.search.budget_s = budget_s;
        let limit = Some(TokenBucket { rate: 100, burst: 5 });
        let refusing = SimServer { limit, rtt_ns: 30_000, ..server(Service::Constant, 10, 4) };
        let run = VirtualServer::new(refusing, plan, seed).find().unwrap();
        let (c, verdict) = (run.findings.capacity.as_ref().unwrap(), &run.findings.bottleneck);
        assert!(c.held && (85.0..=110.0).contains(&c.rate), "{seed} {budget_s}: {c:?}");
        assert_eq!(run.findings.limits.p50_us, None, "{:?}", run.findings.limits);
        assert_eq!(verdict.id, "server-rate-limit", "{seed} {budget_s}: {verdict:#?}");
    }
}

/// If an experiment cannot use its reserved time, the search gets the reserved time. The run still stays within the
/// whole budget.
#[test]
fn the_search_takes_time_that_an_experiment_cannot_use() {
    let slow = slow_application();
    let windows = |run: &Run| run.findings.capacity.as_ref().unwrap().windows;
    let budget_s = slow.plan.search.budget_s;
    for seed in 1..=4 {
        let (with, without) = (slow.at(seed).find().unwrap(), slow.at(seed).without_proof().find().unwrap());
        assert!(windows(&without) > windows(&with), "{} and {}", windows(&without), windows(&with));
        assert!(with.elapsed_s < 0.8 * budget_s && without.elapsed_s <= budget_s, "{} s", without.elapsed_s);
    }
}

#[test]
fn one_seed_is_one_run() {
    let known = m_m_1();
    let rates = |seed| known.at(seed).find().unwrap().trials.iter().map(|t| t.rates.completed_rate).collect::<Vec<_>>();
    assert_eq!(rates(7), rates(7));
    assert_ne!(rates(7), rates(8));
}
