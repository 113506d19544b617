//! Tests that expectations are correctly reported as met or missed, and tests of the sentences about expectations.

use run::{Expectation, Failure, Hist};

/// Parses an expectation.
pub(super) fn expect(text: &str) -> Expectation {
    Expectation::parse(text, |_, v| v.parse().map_err(|_| String::new())).unwrap()
}

/// One good repeat must not hide that other repeats are bad.
#[test]
fn an_expectation_applies_to_the_mean_of_repeats() {
    let mut run = crate::planted::PlantedRun::new(20_000.0, 200.0).rates(&[]).run();
    let template = run.trials.pop().unwrap();
    run.plan.expect = ["p99<20000", "p99<60000"].map(expect).into();
    run.trials = [50e3, 51e3, 10e3, 49e3, 50e3]
        .into_iter()
        .zip(0..)
        .map(|(p99, repeat)| {
            let mut trial = run::Trial { repeat, kind: run::TrialKind::Fixed, ..template.clone() };
            trial.latency_us.p99 = p99;
            trial.rates.completed_rate += if p99 < 20e3 { 100.0 } else { 0.0 };
            trial
        })
        .collect();
    crate::judge(&mut run);
    let [tight, loose] = &run.findings.expected[..] else { unreachable!("{:?}", run.findings.expected) };
    assert!(!tight.met && (tight.value.unwrap() - 42e3).abs() < 1.0 && tight.high.unwrap() > 60e3, "{tight:?}");
    assert!(loose.met, "{loose:?}");
}

#[test]
fn every_figure_that_can_be_expected_has_an_interval() {
    let mut run = crate::planted::PlantedRun::new(20_000.0, 200.0).run();
    run.plan.expect = ["p50<1", "p99<1", "mean<1", "rate>1e9", "errors<=0", "p95<1", "p90<1"].map(expect).into();
    for trial in &mut run.trials {
        let mut hist = Hist::new();
        (1..=400u64).for_each(|us| hist.record_ns(us * 1000));
        trial.latency_us = run::Summary::of(&hist);
        trial.histograms.insert("response".into(), hist);
        trial.measured.series_completed = vec![190.0, 210.0, 195.0, 205.0];
    }
    crate::judge(&mut run);
    for e in &run.findings.expected {
        let (value, low, high) = (e.value.unwrap(), e.low, e.high);
        assert!(low.is_some_and(|low| low <= value) && high.is_some_and(|high| value < high), "{e:?}");
    }
    let mean = &run.findings.expected[2];
    // The standard deviation of one answer's time is 115 µs. The standard error of the mean of 400 answers is a
    // twentieth of 115 µs.
    assert!((mean.high.unwrap() - mean.low.unwrap() - 2.0 * 11.3).abs() < 0.5, "{mean:?}");
    let errors = &run.findings.expected[4];
    assert!(errors.value == Some(0.0) && errors.high.unwrap() > 0.0, "{errors:?}");
    let percentiles = [5, 6].map(|at: usize| run.findings.expected[at].value.unwrap());
    assert!((percentiles[0] - 380.0).abs() < 1.0 && (percentiles[1] - 360.0).abs() < 1.0, "{percentiles:?}");
}

#[test]
fn an_unmet_expectation_is_named_with_its_figure_and_fails_the_run() {
    let mut run = crate::planted::PlantedRun::new(20_000.0, 200.0).run();
    run.plan.expect = vec![expect("capacity>=100"), expect("p99<1e9")];
    crate::judge(&mut run);
    assert!(run.findings.expected.iter().all(|e| e.met), "{:?}", run.findings.expected);
    assert_eq!(run.findings.failure, None);
    run.plan.expect.push(expect("rate>1e9"));
    crate::judge(&mut run);
    let last = run.findings.expected.last().unwrap();
    assert!(!last.met && last.found.contains("/s"), "{last:?}");
    assert_eq!(run.findings.failure, Some(Failure::Expectation));
}

/// The capacity is at least 150/s. A lower bound of 150/s decides expectations of 100/s, and leaves expectations of
/// 500/s undecided.
#[test]
fn an_unreached_capacity_meets_limits_below_and_leaves_those_above_open() {
    let mut run = crate::planted::PlantedRun::new(10_000.0, 1000.0).steps(&[1]).rates(&[0.08, 0.15]).run();
    run.plan.expect = ["capacity>=100", "capacity>=500", "capacity<=500", "capacity<=100"].map(expect).into();
    crate::judge(&mut run);
    let found: Vec<(bool, bool)> = run.findings.expected.iter().map(|e| (e.met, e.undecided)).collect();
    assert_eq!(found, [(true, false), (false, true), (false, true), (false, false)], "{:#?}", run.findings);
    assert!(run.findings.expected[1].found.starts_with("it is at least 150/s"), "{:?}", run.findings.expected[1]);
}

/// Changes a trial so that one of five requests times out after 50 ms. All other requests are answered after 5 ms.
fn fifth_timed_out(trial: &run::Trial) -> run::Trial {
    let hist = |ns: u64, n: u64| {
        let mut hist = Hist::new();
        hist.record_many_ns(ns, n);
        hist
    };
    let mut trial = run::Trial { kind: run::TrialKind::Fixed, ..trial.clone() };
    trial.histograms = [("response".into(), hist(5_000_000, 800)), ("unanswered".into(), hist(50_000_000, 200))].into();
    trial.latency_us = run::response_summary(&trial.histograms, 0);
    trial.measured.tally.completed = 800;
    trial.measured.tally.errors = run::Errors([(run::ErrorKind::ResponseTimeout, 200)].into());
    trial
}

#[test]
fn with_a_fifth_of_the_requests_timed_out_no_limit_on_the_tail_is_met() {
    let mut run = crate::planted::PlantedRun::new(20_000.0, 200.0).rates(&[]).run();
    run.trials = vec![fifth_timed_out(&run.trials[0])];
    run.plan.expect = ["p50<10000", "p99<10000", "p99<60000", "p99>40000", "p99.9<1e9", "mean<1e9"].map(expect).into();
    crate::judge(&mut run);
    let met: Vec<bool> = run.findings.expected.iter().map(|e| e.met).collect();
    assert_eq!(met, [true, false, false, true, false, false], "{:#?}", run.findings.expected);
    let found = &run.findings.expected[1].found;
    assert_eq!(found, "it was at least 50.0 ms: 20 % of the requests were never answered");
    run.plan.objective.errors = 0.5;
    crate::judge(&mut run);
    assert!(!run.findings.expected[5].met, "the mean stays unknown: {:?}", run.findings.expected[5]);
    // A single repeat with unanswered requests makes the mean a lower bound.
    let mut good = fifth_timed_out(&run.trials[0]);
    good.histograms.remove("unanswered");
    (good.latency_us, good.measured.tally.errors) =
        (run::response_summary(&good.histograms, 0), run::Errors::default());
    run.trials.push(run::Trial { repeat: 1, ..good });
    crate::judge(&mut run);
    let p99 = &run.findings.expected[2];
    assert!(!p99.met && p99.found.contains("at least"), "{p99:?}");
}

/// In one run, the first byte comes after 1 ms; in another, the first byte comes with the last byte after 5 ms. A run
/// of an earlier version of loadline has no times to the first byte.
#[test]
fn the_first_byte_is_expected_and_limited_apart_from_the_last() {
    let hist = |times_ns: &[u64]| {
        let mut hist = Hist::new();
        times_ns.iter().for_each(|ns| hist.record_many_ns(*ns, 500));
        hist
    };
    let mut run = crate::planted::PlantedRun::new(20_000.0, 200.0).rates(&[]).run();
    let mut trial = run::Trial { kind: run::TrialKind::Fixed, ..run.trials[0].clone() };
    trial.histograms =
        [("response".into(), hist(&[5_000_000])), ("first_byte".into(), hist(&[1_000_000, 5_000_000]))].into();
    trial.latency_us = run::response_summary(&trial.histograms, 0);
    trial.first_byte_us = run::answer_summary(&trial.histograms, run::AnswerTime::FirstByte, 0);
    trial.measured.tally.completed = 1000;
    run.trials = vec![trial];
    run.plan.expect =
        ["first-byte-p50<1100", "first-byte-p99<4000", "first-byte-mean<3100", "mean<4000"].map(expect).into();
    let met = |run: &mut run::Run| {
        crate::judge(run);
        run.findings.expected.iter().map(|e| e.met).collect::<Vec<_>>()
    };
    assert_eq!(met(&mut run), [true, false, true, false], "{:#?}", run.findings.expected);
    let breach = |run: &run::Run| crate::breach(&run.trials[0], &crate::limits(run)).map(|breach| breach.kind);
    run.plan.objective.first_byte.p50_us = Some(1100.0);
    assert_eq!(breach(&run), None);
    assert!(crate::limits(&run).text.starts_with("median time to the first byte under 1.1"));
    run.plan.objective.first_byte.p99_us = Some(4000.0);
    assert_eq!(breach(&run), Some(run::BreachKind::FirstByteP99));
    run.trials[0].first_byte_us = run::Summary::default();
    assert_eq!(met(&mut run), [false, false, false, false], "not measured");
}

/// In this test, one of three repeats completes nothing, so the mean of the other two does not represent the run.
#[test]
fn a_repeat_that_completed_nothing_is_not_left_out() {
    let mut run = crate::planted::PlantedRun::new(20_000.0, 200.0).rates(&[]).run();
    let template = run.trials.pop().unwrap();
    run.plan.expect = ["p99<1e12", "rate>0", "capacity>0"].map(expect).into();
    run.trials = (0..3u32)
        .map(|repeat| {
            let mut trial = run::Trial { repeat, kind: run::TrialKind::Fixed, ..template.clone() };
            if repeat == 1 {
                (trial.rates, trial.latency_us) = (run::Rates::default(), run::Summary::default());
                (trial.measured.tally.completed, trial.tally.completed) = (0, 0);
            }
            trial
        })
        .collect();
    crate::judge(&mut run);
    for one in &run.findings.expected[..2] {
        assert!(!one.met && one.found.contains("1 of 3 repeats"), "{one:?}");
    }
    let capacity = &run.findings.expected[2];
    assert!(!capacity.met && capacity.found.contains("one fixed load shows no capacity"), "{capacity:?}");
}

/// An expectation is judged by all windows near the capacity. The search chose its best window because the window met
/// the limit, so this window alone would always meet the limit.
#[test]
fn expectations_at_the_capacity_use_all_windows_near_it() {
    let mut run = crate::planted::PlantedRun::new(1000.0, 1000.0).rates(&[0.5, 0.88, 0.9, 0.91, 1.2]).run();
    let slow = |offered: f64| {
        if offered > 1000.0 {
            80_000
        } else if offered > 905.0 {
            3_000
        } else if offered > 895.0 {
            30_000
        } else {
            3_000
        }
    };
    for trial in &mut run.trials {
        let (n, mut hist) = (trial.measured.tally.completed.max(100), Hist::new());
        hist.record_many_ns(2_000_000, n - n / 20);
        hist.record_many_ns(slow(trial.rates.offered_rate) * 1000, n / 20);
        trial.latency_us = run::Summary::of(&hist);
        trial.histograms.insert("response".into(), hist);
    }
    run.plan.objective.p99_us = Some(20_000.0);
    run.plan.expect = vec![expect("p99<20000")];
    crate::judge(&mut run);
    let (one, capacity) = (&run.findings.expected[0], run.findings.capacity.as_ref().unwrap());
    assert!(capacity.rate > 850.0, "{capacity:?}");
    assert!(!one.met, "a twentieth of some of them took 30 ms: {one:?}");
}

/// Every answer of the window is a 401, so the window says nothing about good answers.
#[test]
fn without_a_good_answer_no_response_time_is_measured_and_refusals_are_not_the_rate() {
    let mut run = crate::planted::PlantedRun::new(20_000.0, 200.0).steps(&[1]).rates(&[]).run();
    run.plan.expect = ["p99<1e9", "mean<1e9", "rate>1"].map(expect).into();
    let trial = &mut run.trials[0];
    trial.kind = run::TrialKind::Fixed;
    trial.measured.tally.unexpected_status = trial.measured.tally.completed;
    trial.latency_us.at_least = run::SummaryFigure::ALL.into_iter().collect();
    crate::judge(&mut run);
    let [p99, mean, rate] = &run.findings.expected[..] else { unreachable!("{:?}", run.findings.expected) };
    for time in [p99, mean] {
        assert!(!time.met && time.value.is_none(), "{time:?}");
        assert!(time.found.ends_with("in the measured window was good"), "{time:?}");
    }
    assert!(!rate.met && rate.found.starts_with("it was 0/s of good answers"), "{rate:?}");
    assert!(rate.found.ends_with("of refusals came as well"), "{rate:?}");
}
