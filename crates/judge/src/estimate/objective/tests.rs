//! Tests of objectives, such as a maximum response time.

use super::*;
use run::{Intensity, Rates, Summary};

fn trial(p99: f64, completed: u64, failed: u64) -> Trial {
    let mut t = Trial { kind: TrialKind::Sweep, ..Trial::default() };
    t.rates = Rates { completed_rate: completed as f64, offered_rate: completed as f64, ..Rates::default() };
    t.latency_us = Summary { p50: p99 / 2.0, p99, count: completed, ..Summary::default() };
    t.measured.tally.completed = completed;
    t.measured.tally.unexpected_status = failed;
    t
}

/// The figures of this test come from servers that answered every request.
#[test]
fn few_random_arrivals_and_slow_first_answers_do_not_fall_behind() {
    let behind = |(due, completed): (u64, u64), min_us: f64, warmup_s: f64| {
        let mut t = trial(1.5e6, completed, 0);
        t.intensity = Intensity::Open { rate: 20.0, arrival: run::Arrival::Poisson, max_connections: 64, pipeline: 1 };
        t.rates = Rates { completed_rate: completed as f64 / 5.0, offered_rate: 20.0, ..Rates::default() };
        (t.latency_us.min, t.latency_us.p90) = (min_us, 1.1 * min_us);
        (t.measured.tally.due, t.measured.length_s) = (due, 5.0);
        t.measured.window = run::Window { begin_s: warmup_s, end_s: warmup_s + 5.0 };
        breach(&t, &Limits::default()).is_some_and(|breach| breach.kind == BreachKind::Behind)
    };
    assert!(!behind((84, 84), 100.0, 0.0), "84 requests arrived instead of 100");
    assert!(behind((120, 84), 100.0, 0.0));
    assert!(!behind((100, 86), 700_000.0, 0.0), "no answer can come in the first 0.7 s");
    assert!(behind((100, 86), 700_000.0, 2.0), "with a warm-up, answers come from the beginning");
}

#[test]
fn without_a_limit_the_unloaded_median_sets_one_that_pauses_do_not_change() {
    let run = Run { trials: vec![trial(100.0, 1000, 0)], ..Run::default() };
    let limits = limits(&run);
    assert_eq!((limits.p50_us, limits.p99_us), (Some(500.0), Some(100_000.0)));
    let kind = |p99, completed, failed| breach(&trial(p99, completed, failed), &limits).map(|b| (b.kind, b.value));
    assert_eq!(kind(1000.0, 1000, 1), None);
    assert_eq!(kind(1002.0, 1000, 0), Some((BreachKind::P50, Some(501.0))));
    assert_eq!(kind(10.0, 1000, 2), Some((BreachKind::Errors, Some(0.002))));
    assert_eq!(kind(10.0, 0, 0), Some((BreachKind::NothingCompleted, None)));
    let mut tail = trial(100.0, 1000, 0);
    tail.latency_us.p99 = 1e6;
    assert_eq!(breach(&tail, &limits).map(|b| b.kind), Some(BreachKind::P99), "a packet that is sent again");
}

/// In this test, two answers in a hundred take 300 ms under any load, so the default limit on the 99th percentile is
/// longer.
#[test]
fn answers_that_are_slow_under_any_load_raise_the_default_limit() {
    let step = |p99_us: f64| {
        let mut step = trial(100.0, 1000, 0);
        step.latency_us.p99 = p99_us;
        step
    };
    let limit = |trials: Vec<Trial>| limits(&Run { trials, ..Run::default() }).p99_us;
    assert_eq!(limit(vec![step(300_000.0), step(310_000.0)]), Some(400_000.0));
    assert_eq!(limit(vec![step(300_000.0), step(1000.0)]), Some(100_000.0), "a pause during the first step");
    assert_eq!(limit(vec![step(300_000.0)]), Some(100_000.0), "a single step may have had a pause");
}

/// Answers take 20 ms or 200 ms, with nearly equal shares. A limit of ten times the median would be either 200 ms or 2
/// s, depending on chance.
#[test]
fn two_response_times_of_equal_share_set_one_limit() {
    let step = |quick: u64, slow: u64| {
        let mut hist = run::Hist::new();
        hist.record_many_ns(20_000_000, quick);
        hist.record_many_ns(200_000_000, slow);
        let mut step = trial(0.0, quick + slow, 0);
        step.latency_us = run::Summary::of(&hist);
        step.histograms.insert("response".into(), hist);
        step
    };
    let of = |trials: Vec<Trial>| limits(&Run { trials, ..Run::default() });
    let p50_us = |trials: Vec<Trial>| of(trials).p50_us.unwrap();
    for quick in [40, 45, 49, 51, 55, 60] {
        let limit = p50_us(vec![step(quick, 100 - quick), step(50, 50)]);
        assert!((800_000.0..1_200_000.0).contains(&limit), "{quick} of 100: {limit}");
    }
    assert!(of(vec![step(50, 50)]).text.contains("10 × unloaded mean, since"), "{}", of(vec![step(50, 50)]).text);
    let few = p50_us(vec![step(3, 0), step(3, 5)]);
    assert!((800_000.0..1_300_000.0).contains(&few), "a step with few answers does not decide: {few}");
    let rare = of(vec![step(95, 5), step(96, 4)]);
    assert!(rare.p50_us.is_some_and(|us| (us / 200_000.0 - 1.0).abs() < 0.01), "rare slow answers: {rare:?}");
    assert!(rare.text.contains("10 × unloaded; set --p50"), "{}", rare.text);
}

/// In this test, every answer is a quick refusal with status 401. The user's objective allows any share of errors, but
/// limits the response time.
#[test]
fn a_limit_on_the_response_time_is_not_met_without_a_good_answer() {
    let mut refused = trial(100.0, 1000, 1000);
    refused.latency_us = Summary { at_least: run::SummaryFigure::ALL.into_iter().collect(), ..refused.latency_us };
    refused.latency_us.count = 0;
    let of = |limits: Limits| breach(&refused, &Limits { errors: 1.0, ..limits }).map(|b| b.kind);
    for limits in
        [Limits { p99_us: Some(1e6), ..Limits::default() }, Limits { mean_us: Some(1e6), ..Limits::default() }]
    {
        assert_eq!(of(limits), Some(BreachKind::NothingCompleted));
    }
    assert_eq!(of(Limits::default()), None, "nothing but errors is limited, and all of them are allowed");
}

/// Each answer is one event, so the time to the first event is known, and the gap between two events is not.
#[test]
fn a_limit_on_a_time_of_events_is_not_met_without_this_time() {
    let mut one_event = trial(100.0, 1000, 0);
    one_event.first_event_us = Summary { p99: 50.0, count: 1000, ..Summary::default() };
    let times = run::TimeLimits { p99_us: Some(100.0), ..run::TimeLimits::default() };
    let of = |trial: &Trial, limits: Limits| breach(trial, &Limits { errors: 1.0, ..limits }).map(|b| b.kind);
    let first_event = || Limits { first_event: times, ..Limits::default() };
    let gap = || Limits { gap: times, ..Limits::default() };
    assert_eq!(of(&one_event, first_event()), None);
    assert_eq!(of(&one_event, gap()), Some(BreachKind::NoEvents));
    assert_eq!(of(&trial(100.0, 1000, 0), first_event()), Some(BreachKind::NoEvents));
}

/// Of 1,000 answers, 20 had no event. An earlier version of loadline left these answers out.
#[test]
fn a_limit_on_a_time_of_events_is_not_met_beside_answers_without_events() {
    let hist = |ns: u64, n: u64| {
        let mut hist = run::Hist::new();
        hist.record_many_ns(ns, n);
        hist
    };
    let found = |without_events: u64, limits: Limits| {
        let mut seen = trial(100.0, 1000, 0);
        seen.histograms = [("first_event".into(), hist(1_000_000, 980)), ("gap".into(), hist(1_000, 9800))].into();
        if without_events > 0 {
            seen.histograms.insert("without_events".into(), hist(1_500_000, without_events));
        }
        seen.first_event_us = run::answer_summary(&seen.histograms, run::AnswerTime::FirstEvent, 0);
        seen.gap_us = run::answer_summary(&seen.histograms, run::AnswerTime::Gap, 0);
        breach(&seen, &Limits { errors: 1.0, ..limits })
    };
    let times = run::TimeLimits { p99_us: Some(1e6), ..run::TimeLimits::default() };
    for limits in [Limits { first_event: times, ..Limits::default() }, Limits { gap: times, ..Limits::default() }] {
        assert_eq!(found(0, limits.clone()), None);
        let broken = found(20, limits).unwrap();
        assert_eq!(broken.kind, BreachKind::NoEvents, "{broken:?}");
        assert!(words(&broken).starts_with("2 % of the answers had no event"), "{}", words(&broken));
    }
}

/// A rate limit of 100/s refused 98 % of one client's requests, each within 27 µs. Good answers took 10 ms.
#[test]
fn the_time_of_refusals_makes_no_limit() {
    let refused = trial(54.0, 1000, 980);
    let of = |trials: Vec<Trial>| limits(&Run { trials, ..Run::default() });
    let found = of(vec![refused.clone()]);
    assert_eq!((found.p50_us, found.p99_us), (None, None));
    assert!(found.text.contains("were refusals"), "{}", found.text);
    assert_eq!(of(vec![refused, trial(20_000.0, 1000, 20)]).p50_us, Some(100_000.0));
}

#[test]
fn each_limit_that_is_named_counts_and_no_other() {
    let mut run = Run { trials: vec![trial(100.0, 1000, 0)], ..Run::default() };
    run.plan.objective.mean_us = Some(70.0);
    run.plan.objective.p99_9_us = Some(900.0);
    let limits = limits(&run);
    assert_eq!((limits.p50_us, limits.p99_us), (None, None));
    assert!(limits.text.starts_with("mean under 70") && limits.text.contains("p99.9 under 900"), "{}", limits.text);
    let mut seen = trial(5000.0, 1000, 0);
    (seen.latency_us.mean, seen.latency_us.p99_9) = (60.0, 800.0);
    assert!(holds(&seen, &limits));
    seen.latency_us.mean = 71.0;
    assert_eq!(breach(&seen, &limits).map(|b| b.kind), Some(BreachKind::Mean));
    seen.latency_us.mean = 60.0;
    seen.latency_us.p99_9 = 901.0;
    assert_eq!(breach(&seen, &limits).map(|b| b.kind), Some(BreachKind::P999));
}

/// In this test, four of sixteen connections get all answers, and the other twelve connections wait to the end. The few
/// waiting requests are more than one in a hundred of all requests.
#[test]
fn requests_that_were_never_answered_count_against_p99_and_errors() {
    let run = Run { trials: vec![trial(100.0, 1000, 0)], ..Run::default() };
    let mut starved = trial(100.0, 988, 0);
    starved.tally.unanswered = 12;
    let of = |limits: &Limits| breach(&starved, limits).map(|b| b.kind);
    assert_eq!(of(&limits(&run)), Some(BreachKind::Errors));
    let lenient = Limits { errors: 0.05, ..limits(&run) };
    assert_eq!(of(&lenient), Some(BreachKind::Unanswered));
    assert_eq!(of(&Limits { p50_us: None, p99_us: None, ..lenient }), None);
}

#[test]
fn an_open_loop_that_falls_behind_does_not_hold() {
    let mut t = trial(10.0, 800, 0);
    t.intensity = Intensity::Open { rate: 1000.0, arrival: run::Arrival::Poisson, max_connections: 100, pipeline: 1 };
    t.rates.offered_rate = 1000.0;
    assert!(!holds(&t, &limits(&Run::default())));
}

/// After 100 answers within 1 ms each, the window ends while four requests have waited for 0.9 s. The response times of
/// the trial must include the long waits of these four requests.
#[test]
fn requests_in_flight_at_the_end_of_the_window_count_with_their_age() {
    let limits = Limits { p99_us: Some(20_000.0), errors: 0.0, ..Limits::default() };
    let hist = |n: u64, ns: u64| {
        let mut hist = run::Hist::new();
        (0..n).for_each(|_| hist.record_ns(ns));
        hist
    };
    let with = |answers: u64, ages: Option<run::Hist>| {
        let mut stalled = trial(1000.0, 100, 0);
        stalled.histograms.insert("response".into(), hist(answers, 1_000_000));
        ages.into_iter().for_each(|ages| drop(stalled.histograms.insert("under_way".into(), ages)));
        stalled.latency_us = run::response_summary(&stalled.histograms, 0);
        stalled
    };
    assert_eq!(breach(&with(100, None), &limits), None);
    let found = breach(&with(100, Some(hist(4, 900_000_000))), &limits).unwrap();
    assert_eq!((found.kind, found.at_least), (BreachKind::P99, true));
    assert!(found.value.is_some_and(|us| (us / 900_000.0 - 1.0).abs() < 0.01), "{found:?}");
    assert!(words(&found).starts_with("p99 was at least 9"), "{}", words(&found));
    // Some requests are in flight at the end of every window. Among thousands of requests, a few that wait for long do
    // not change the 99th percentile.
    assert_eq!(breach(&with(100, Some(hist(4, 1_500_000))), &limits), None);
    assert_eq!(breach(&with(10_000, Some(hist(4, 900_000_000))), &limits), None);
}

/// A fifth of the requests times out after 50 ms, and the user allows half of the requests to fail.
#[test]
fn timeouts_break_a_limit_on_the_tail_and_none_on_the_median() {
    let hist = |ns: u64, n: u64| {
        let mut hist = run::Hist::new();
        hist.record_many_ns(ns, n);
        hist
    };
    let mut timed_out = trial(1000.0, 800, 0);
    timed_out.histograms =
        [("response".into(), hist(5_000_000, 800)), ("unanswered".into(), hist(50_000_000, 200))].into();
    timed_out.latency_us = run::response_summary(&timed_out.histograms, 0);
    let of = |limits: Limits| breach(&timed_out, &Limits { errors: 0.5, ..limits }).map(|b| (b.kind, b.at_least));
    let p99 = |us| of(Limits { p99_us: Some(us), ..Limits::default() });
    assert_eq!(p99(10_000.0), Some((BreachKind::P99, true)));
    assert_eq!(p99(1e6), Some((BreachKind::Unanswered, false)), "the rest may take longer than any limit");
    assert_eq!(of(Limits { p50_us: Some(10_000.0), ..Limits::default() }), None);
    let mean = of(Limits { mean_us: Some(20_000.0), ..Limits::default() });
    assert_eq!(mean, Some((BreachKind::Unanswered, false)), "the rest may have waited for any time");
    assert_eq!(of(Limits { mean_us: Some(10_000.0), ..Limits::default() }), Some((BreachKind::Mean, true)));
}
