//! Tests that a comparison accounts for failed requests and for windows without answers.

use fastrand::Rng;
use run::{ComparisonResult, Run};

use super::regression_tests::{both, of};
use super::tests::windows;

/// Changes a run so that each window has `requests` requests. `share` returns, for each window, the share of requests
/// with an unexpected status.
fn failing(run: &mut Run, requests: u64, share: impl Fn(usize) -> f64) {
    for (at, trial) in run.trials.iter_mut().enumerate() {
        trial.measured.tally.completed = requests;
        trial.measured.tally.unexpected_status = (share(at) * requests as f64).round() as u64;
    }
}

/// A server that quickly answers every tenth request with 503 uses less CPU time per request, and its response times
/// are shorter.
#[test]
fn a_server_that_refuses_quickly_is_not_faster() {
    let mut random = Rng::with_seed(2);
    let (mut a, mut b) = (windows(&mut random, 20, 400.0), windows(&mut random, 20, 360.0));
    failing(&mut a, 1000, |_| 0.0);
    failing(&mut b, 1000, |_| 0.1);
    let c = both(&a, &b);
    let failed = of(&c, "failed share");
    let apart = failed.difference.unwrap();
    assert!(apart.low > 0.08 && apart.high < 0.12 && (apart.value - 0.1).abs() < 1e-3, "{failed:?}");
    assert!(c.regression && c.verdict == ComparisonResult::Slower, "{:?} by {:?}", c.verdict, c.decided_by);
    assert_eq!(c.decided_by.as_deref(), Some("failed share"));
    let back = both(&b, &a);
    assert!(of(&back, "failed share").word == ComparisonResult::Faster && !of(&back, "failed share").more_is_better);
}

/// A slow server may send an answer after the drain (the time in which loadline waits for late answers). A request
/// whose answer comes after the drain does not count as failed, so the failed share is a lower bound.
#[test]
fn requests_that_were_still_open_are_counted_beside_the_failed_share() {
    let mut random = Rng::with_seed(2);
    let [a, mut b] = [400.0; 2].map(|us| windows(&mut random, 20, us));
    for trial in &mut b.trials {
        (trial.tally.unanswered, trial.latency_us.p99, trial.latency_us.count) = (3, 2e6, 100);
    }
    let c = both(&a, &b);
    assert_eq!((of(&c, "failed share").open, of(&c, "failed share").new), ([0, 60], 0.0));
}

/// Failures come in bursts, so only a few windows have failures. The old and the new side are equal in truth.
#[test]
fn failures_that_come_in_bursts_tell_no_equal_sides_apart() {
    let told = (0..200).filter(|seed| {
        let mut random = Rng::with_seed(*seed);
        let mut side = || {
            let mut run = windows(&mut random, 20, 400.0);
            let burst: Vec<bool> = (0..20).map(|_| random.f64() < 0.15).collect();
            failing(&mut run, 1000, |at| if burst[at] { 0.2 } else { 0.0 });
            run
        };
        let (a, b) = (side(), side());
        matches!(of(&both(&a, &b), "failed share").word, ComparisonResult::Slower | ComparisonResult::Faster)
    });
    let told = told.count();
    assert!(told <= 6, "{told} of 200");
}

#[test]
fn as_few_failures_as_the_objective_allows_are_no_regression() {
    let mut random = Rng::with_seed(3);
    let [mut a, mut b] = [400.0; 2].map(|us| windows(&mut random, 20, us));
    for run in [&mut a, &mut b] {
        run.findings.limits.errors = 0.01;
    }
    failing(&mut a, 100_000, |_| 0.001);
    failing(&mut b, 100_000, |_| 0.002);
    let c = both(&a, &b);
    assert!(of(&c, "failed share").word == ComparisonResult::Slower && !c.regression, "{:#?}", of(&c, "failed share"));
    failing(&mut b, 100_000, |_| 0.02);
    assert!(both(&a, &b).regression);
    failing(&mut a, 1000, |_| 0.0);
    failing(&mut b, 1000, |_| 0.0);
    let none = both(&a, &b);
    assert_eq!(of(&none, "failed share").word, ComparisonResult::Same);
    assert_ne!(none.decided_by.as_deref(), Some("failed share"), "that nothing fails says nothing of speed");
}

/// The new server answers nothing in a third of its windows, so it completes a third fewer requests than the old
/// server.
#[test]
fn windows_in_which_nothing_came_back_count() {
    let mut random = Rng::with_seed(4);
    let (a, mut b) = (windows(&mut random, 60, 400.0), windows(&mut random, 60, 400.0));
    for trial in b.trials.iter_mut().step_by(3) {
        (trial.rates.completed_rate, trial.measured.tally.completed) = (0.0, 0);
    }
    let c = both(&a, &b);
    let rate = of(&c, "completed rate");
    assert!((rate.ratio - 2.0 / 3.0).abs() < 0.03 && rate.windows == (60, 60), "{rate:?}");
    assert!(rate.word == ComparisonResult::Slower && c.regression, "{rate:?}");
    assert!(c.notes.iter().any(|n| n.contains("20 of 60 windows of the new")), "{:?}", c.notes);
}

/// The new server times out on a fifth of the requests, and answers the other requests faster than the old server. The
/// response times of the requests that timed out are unknown, so the new server's high percentiles must not count as
/// better.
#[test]
fn a_server_that_times_out_has_no_better_tail() {
    let mut random = Rng::with_seed(6);
    let mut side = |ns: u64, lost: u64| {
        let mut run = windows(&mut random, 8, 400.0);
        for trial in &mut run.trials {
            let (mut hist, mut unanswered) = (run::Hist::new(), run::Hist::new());
            hist.record_many_ns(ns, 500);
            unanswered.record_many_ns(50_000_000, lost);
            trial.histograms = [("response".into(), hist)].into();
            if lost > 0 {
                trial.histograms.insert("unanswered".into(), unanswered);
                trial.measured.tally.errors.0.insert(run::ErrorKind::ResponseTimeout, lost);
            }
            trial.latency_us = run::response_summary(&trial.histograms, 0);
            trial.measured.tally.completed = 500;
        }
        run
    };
    let c = both(&side(5_000_000, 0), &side(1_000_000, 125));
    assert!(of(&c, "p50").ratio < 0.25, "the median is known");
    let tails: Vec<_> = c.comparisons.iter().filter(|f| ["p99", "p99.9"].contains(&f.figure.as_str())).collect();
    assert!(tails.is_empty(), "{tails:?}");
    assert!(c.regression, "more requests fail: {:?}", c.comparisons);
    assert!(c.curves.response_us.iter().all(|point| point.at <= 0.75), "{:?}", c.curves.response_us);
}

/// In each window of the new server, 30 of 1,000 answers are refusals that take 100 times as long.
#[test]
fn slow_refusals_lengthen_the_tail_as_in_the_report_of_one_run() {
    let mut random = Rng::with_seed(6);
    let mut side = |refusals: u64| {
        let mut run = windows(&mut random, 8, 400.0);
        for trial in &mut run.trials {
            let (mut hist, mut refused) = (run::Hist::new(), run::Hist::new());
            hist.record_many_ns(10_000_000, 970);
            refused.record_many_ns(1_000_000_000, refusals);
            trial.histograms = [("response".into(), hist), ("refused".into(), refused)].into();
            trial.latency_us = run::response_summary(&trial.histograms, 0);
        }
        run
    };
    let (a, b) = (side(0), side(30));
    let c = both(&a, &b);
    let of_one_run = b.trials[0].latency_us.p99 / a.trials[0].latency_us.p99;
    assert!((of(&c, "p99").ratio / of_one_run - 1.0).abs() < 0.01 && of_one_run > 99.0, "{:?}", of(&c, "p99"));
    assert!((of(&c, "p50").ratio - 1.0).abs() < 0.01, "{:?}", of(&c, "p50"));
}
