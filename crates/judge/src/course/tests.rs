//! Tests of the findings about a load whose rate changes, on made-up loads.

use run::{BreachKind, Moment};

use super::*;

#[test]
fn a_changing_load_is_described_by_its_lowest_and_highest_rate() {
    let mut run = load(&[Stage { seconds: 6.0, from: 200.0, to: 3000.0 }], 5000.0, &mut fastrand::Rng::with_seed(1));
    assert_eq!(offered(&run, &run.trials[0]), "200 to 3,000/s");
    run.plan.load.stages.clear();
    run.trials[0].rates.offered_rate = 1600.0;
    assert_eq!(offered(&run, &run.trials[0]), "1,600/s");
}

/// Makes a load of 6 s whose server completes at most `most` requests per second, with Poisson noise.
fn load(stages: &[Stage], most: f64, random: &mut fastrand::Rng) -> Run {
    let mut trial = Trial { kind: TrialKind::Fixed, ..Trial::default() };
    trial.measured.length_s = 6.0;
    trial.measured.window.end_s = 6.0;
    let at = |i: u32| {
        let rate = Stage::rate_at(stages, (f64::from(i) + 0.5) / 10.0);
        (rate + (10.0 * rate).sqrt() * stats::normal(random)).clamp(0.0, most)
    };
    trial.measured.series_completed = (0..60).map(at).collect();
    let mut run = Run { trials: vec![trial], ..Run::default() };
    run.plan.load.stages = stages.to_vec();
    run
}

#[test]
fn a_ramp_is_held_up_to_the_rate_that_the_server_completes() {
    let stages = [Stage { seconds: 6.0, from: 100.0, to: 3000.0 }];
    let mut random = fastrand::Rng::with_seed(1);
    let (mut whole, mut cut) = (0, 0);
    for _ in 0..200 {
        let all = course(&load(&stages, f64::INFINITY, &mut random)).unwrap();
        whole += usize::from(all.failed.is_none() && all.held_rate.is_some_and(|rate| (rate - 3000.0).abs() < 1.0));
        let some = course(&load(&stages, 1500.0, &mut random)).unwrap();
        cut += usize::from(some.held_rate.is_some_and(|rate| (1200.0..=1600.0).contains(&rate)));
        assert!(some.failed.is_some() && some.failed_why.is_some(), "{some:?}");
    }
    println!("ramps: {whole} of 200 held to the end, {cut} of 200 up to the planted rate");
    assert!(whole >= 195 && cut >= 195, "{whole} {cut}");
}

/// In one of six seconds, the connections of a twentieth of the requests were reset. In the other five seconds, all
/// answers came within a millisecond.
#[test]
fn a_second_without_a_known_percentile_makes_the_p99_of_its_stage_a_lower_bound() {
    let stages = [Stage { seconds: 6.0, from: 1000.0, to: 1000.0 }];
    let mut run = load(&stages, f64::INFINITY, &mut fastrand::Rng::with_seed(3));
    run.plan.objective.p99_us = Some(20_000.0);
    run.plan.objective.errors = 0.05;
    let second = |i: u32, failed| Moment {
        t_s: f64::from(i) + 0.5,
        seconds: 1.0,
        completed: 1000 - failed,
        failed,
        p99_us: (failed == 0).then_some(1000.0),
        ..Moment::default()
    };
    run.trials[0].moments = (0..6).map(|i| second(i, 0)).collect();
    let part = |run: &Run| course(run).unwrap().parts[0];
    assert!(!part(&run).p99_at_least && part(&run).breach.is_none());
    run.trials[0].moments[3] = second(3, 50);
    run.trials[0].measured.series_failed =
        (0..60).map(|step| if (30..40).contains(&step) { 50.0 } else { 0.0 }).collect();
    let reset = part(&run);
    assert!(reset.p99_at_least && reset.p99_us == Some(1000.0), "{reset:?}");
    assert_eq!(reset.breach.unwrap().kind, BreachKind::Unanswered, "a lower bound does not hold a limit");
    run.trials[0].moments[3] = Moment { completed: 0, p99_us: None, ..second(3, 0) };
    assert!(part(&run).p99_at_least, "no answer came back in a second of a thousand requests");
}

#[test]
fn steps_are_parts_and_a_sine_is_judged_by_its_rates() {
    let step = |rate| Stage { seconds: 2.0, from: rate, to: rate };
    let mut random = fastrand::Rng::with_seed(2);
    let steps = course(&load(&[step(500.0), step(1000.0), step(2000.0)], 1000.0, &mut random)).unwrap();
    assert_eq!(steps.parts.len(), 3, "{steps:?}");
    assert!(steps.held_rate == Some(1000.0) && steps.failed == Some(2), "{steps:?}");
    let down = course(&load(&[step(2000.0), step(1000.0), step(500.0)], 1000.0, &mut random)).unwrap();
    assert!(down.held_rate == Some(1000.0) && down.failed == Some(0), "{down:?}");
    let even = Run { trials: load(&[step(1.0)], 1.0, &mut random).trials, ..Run::default() };
    assert_eq!(course(&even), None);
}

/// Adds moments (intervals with percentiles) of `step_s` seconds to a load. The 99th percentile of a moment (interval
/// with percentiles) is a millisecond, or a second if the moment contains a time in `slow`.
fn divide(run: &mut Run, step_s: f64, slow: std::ops::Range<f64>) {
    let moment = |i: u32| {
        let (from_s, to_s) = (f64::from(i) * step_s, f64::from(i + 1) * step_s);
        let is_slow = from_s < slow.end && to_s > slow.start;
        let (p50_us, p99_us) = (Some(500.0), Some(if is_slow { 1e6 } else { 1000.0 }));
        Moment { t_s: from_s.midpoint(to_s), seconds: step_s, completed: 500, p50_us, p99_us, ..Moment::default() }
    };
    run.trials[0].moments = (0..(6.0 / step_s) as u32).map(moment).collect();
}

/// Lets a share of the requests fail between two times.
fn fail(run: &mut Run, share: f64, steps: std::ops::Range<usize>) {
    let trial = &mut run.trials[0];
    let mut failed = vec![0.0; 60];
    steps.clone().for_each(|i| failed[i] = share * trial.measured.series_completed[i]);
    for moment in &mut trial.moments {
        let [from_s, to_s] = moment.ends_s();
        let inside = steps.clone().filter(|i| (from_s..to_s).contains(&((*i as f64 + 0.5) / 10.0)));
        moment.failed = inside.map(|i| (failed[i] / 10.0) as u64).sum();
    }
    trial.measured.series_failed = failed;
}

/// The server failed from 2.0 s to 2.3 s, at 400/s to 445/s. The moments (intervals with percentiles) are longer than a
/// tenth of the ramp.
#[test]
fn a_ramp_that_failed_for_a_moment_blames_only_the_rates_of_that_moment() {
    let stages = [Stage { seconds: 6.0, from: 100.0, to: 1000.0 }];
    for step_s in [0.6, 0.7, 1.0, 1.1, 1.2] {
        let mut run = load(&stages, f64::INFINITY, &mut fastrand::Rng::with_seed(4));
        divide(&mut run, step_s, 9.0..9.0);
        fail(&mut run, 0.2, 20..23);
        let found = course(&run).unwrap();
        let failed: Vec<&CoursePart> = found.parts.iter().filter(|part| part.breach.is_some()).collect();
        assert!(!failed.is_empty() && failed.iter().all(|part| part.from < 445.0 && part.to > 400.0), "{failed:?}");
        assert!(found.held_rate.is_none_or(|rate| rate <= 400.0), "{found:?}");
        let unread = |part: &&CoursePart| part.p99_us.is_none() || part.failed_share.is_none();
        let whole = found.parts.iter().take(found.parts.len() - 1);
        assert_eq!(whole.filter(unread).count(), 0, "parts of {step_s} s without a reading: {found:?}");
    }
}

/// Requests failed only in the last tenth of a second before the rate rose, or only in the first tenth of a second
/// afterwards. If later requests failed, too, all failures belong to the higher rate.
#[test]
fn failures_at_the_edge_of_a_stage_are_blamed_on_neither_neighbour() {
    let step = |rate| Stage { seconds: 2.0, from: rate, to: rate };
    let mut run = load(&[step(500.0), step(1000.0), step(2000.0)], f64::INFINITY, &mut fastrand::Rng::with_seed(5));
    for steps in [39..40, 40..41] {
        fail(&mut run, 1.0, steps);
        let found = course(&run).unwrap();
        assert_eq!(
            found.parts.iter().map(|part| part.is_unknown).collect::<Vec<_>>(),
            [false, true, true],
            "{found:?}"
        );
        assert_eq!((found.held_rate, found.failed, found.unknown), (Some(500.0), None, Some(1)));
    }
    fail(&mut run, 1.0, 39..44);
    let found = course(&run).unwrap();
    assert_eq!((found.held_rate, found.failed, found.unknown), (Some(1000.0), Some(2), None), "{found:?}");
}

/// The server answers slowly in the last two seconds of the load. One moment (an interval for which percentiles were
/// measured) begins before these two seconds and ends during these two seconds.
#[test]
fn a_moment_of_two_stages_shows_neither_that_they_held_nor_that_they_failed() {
    let step = |rate| Stage { seconds: 2.0, from: rate, to: rate };
    let mut run = load(&[step(500.0), step(1000.0), step(2000.0)], f64::INFINITY, &mut fastrand::Rng::with_seed(6));
    divide(&mut run, 1.1, 4.0..6.0);
    assert!(course(&run).unwrap().unknown.is_none(), "no limit on the response time");
    run.plan.objective.p99_us = Some(20_000.0);
    let found = course(&run).unwrap();
    let results: Vec<(bool, bool)> = found.parts.iter().map(|part| (part.breach.is_some(), part.is_unknown)).collect();
    assert_eq!(results, [(false, false), (false, true), (true, false)], "{found:?}");
    assert_eq!((found.held_rate, found.failed, found.unknown), (Some(500.0), Some(2), Some(1)));
    run.trials[0].moments.clear();
    let found = course(&run).unwrap();
    assert_eq!((found.held_rate, found.failed, found.unknown), (None, None, Some(0)), "no time was read: {found:?}");
}

/// In this ramp, only the last stage missed the limit of 20 ms, with 26.8 ms. An earlier version of loadline compared
/// the limit with the percentile over all rates of the ramp.
#[test]
fn an_objective_that_the_last_stage_missed_is_not_met() {
    let step = |rate| Stage { seconds: 2.0, from: rate, to: rate };
    let mut run = load(&[step(500.0), step(1000.0), step(2000.0)], f64::INFINITY, &mut fastrand::Rng::with_seed(6));
    divide(&mut run, 1.0, 4.0..6.0);
    let trial = &mut run.trials[0];
    (trial.tally.sent, trial.measured.tally.completed, trial.rates.completed_rate) = (7000, 7000, 1166.0);
    (trial.latency_us.count, trial.latency_us.p99) = (7000, 15_000.0);
    crate::judge(&mut run);
    assert!(run.findings.outcomes[0].held && run.findings.failure.is_none(), "without an objective: {run:?}");
    run.plan.objective.p99_us = Some(20_000.0);
    crate::judge(&mut run);
    let outcome = run.findings.outcomes[0];
    assert!(!outcome.held && outcome.breach.is_some_and(|breach| breach.kind == BreachKind::P99), "{outcome:?}");
    assert_eq!(run.findings.failure, Some(run::Failure::Objective));
    let said = run.findings.argument.join(" ");
    assert!(said.contains("was not met at"), "the argument agrees: {said}");
}
