use super::*;

pub(super) fn tick(t_s: f64, completed: u64) -> Tick {
    Tick { t_s, completed, ..Tick::default() }
}

#[test]
fn a_steady_agent_has_a_steady_rate() {
    let mut progress = Progress::new(2);
    for i in 1..=10 {
        progress.push(0, tick(f64::from(i) * 0.1, i as u64 * 100), 9.0);
        progress.push(1, tick(f64::from(i) * 0.1 + 0.03, i as u64 * 50 + 15), 9.0);
    }
    let rates = progress.rates(0.2, 1.0);
    assert_eq!(rates.len(), 8);
    assert!(rates.iter().all(|r| (r - 1500.0).abs() < 1.0), "{rates:?}");
    assert_eq!((progress.now().completed, progress.known_until()), (1515, 1.0));
}

#[test]
fn a_stranger_s_time_does_not_make_a_series_of_a_year() {
    let mut progress = Progress::new(1);
    [1e18, 0.2, 0.1, -1e300].into_iter().for_each(|t_s| progress.push(0, tick(t_s, 1), 1.0));
    assert_eq!(progress.known_until(), 0.2);
    progress.push(0, tick(0.3, u64::MAX), 1.0);
    assert_eq!(progress.now().completed, u64::MAX);
}

#[test]
fn settling_is_reported_in_the_shortest_steps_with_enough_requests() {
    let told = |every_ms: u64, per_s: u64, until_ms: u64| {
        let mut progress = Progress::new(1);
        (every_ms..=until_ms)
            .step_by(every_ms as usize)
            .for_each(|ms| progress.push(0, tick(ms as f64 / 1e3, ms * per_s / 1000), 9.0));
        progress.settling().len()
    };
    assert_eq!([told(5, 20_000, 200), told(5, 6_000, 200), told(5, 1_000, 200)], [40, 20, 4]);
    assert_eq!(told(5, 100, 200), 2, "five in a twentieth of a second would scatter by half");
    assert_eq!(told(100, 20_000, 200), 2, "what is not told is not known");
    assert_eq!(told(5, 20_000, 800), 8, "by then the tenths tell more");
}

/// Eight hours at ten ticks (progress reports) per second are 288,000 ticks. During one second after the first
/// hour, no request was completed.
#[test]
fn a_load_of_hours_needs_the_memory_of_one_and_loses_no_standstill() {
    let (mut progress, ticks) = (Progress::new(1), 8 * 36_000_u64);
    let mut most = 0;
    for i in 1..=ticks {
        let quiet = i.clamp(36_000, 36_010) - 36_000;
        progress.push(0, Tick { in_flight: 3, ..tick(i as f64 * 0.1, (i - quiet) * 10) }, 1e6);
        most = most.max(progress.ticks[0].len());
    }
    assert!(most <= MAX_TICKS && progress.now().completed == (ticks - 10) * 10, "{most}");
    let Series { step_s, completed: rates, .. } = progress.series(0.0, ticks as f64 * 0.1);
    assert!(rates.len() <= MAX_STEPS as usize && step_s == 6.4, "{} of {step_s} s", rates.len());
    let sum: f64 = rates.iter().map(|rate| rate * step_s).sum();
    assert!((sum / progress.now().completed as f64 - 1.0).abs() < 1e-3, "{sum}");
    let told = progress.silence(0.0, ticks as f64 * 0.1).unwrap();
    assert!((told.begin_s - 3600.0).abs() < 0.11 && told.end_s.is_some_and(|e| (e - 3601.0).abs() < 0.11), "{told:?}");
    assert_eq!(progress.series(0.0, 100.0).step_s, STEP_S);
    // From now on, the server gives no answers.
    (1..=ticks).for_each(|i| progress.push(0, tick((ticks + i) as f64 * 0.1, ticks * 10), 1e6));
    assert!(progress.ticks[0].len() <= MAX_TICKS, "{}", progress.ticks[0].len());
}

#[test]
fn without_reports_the_series_is_unknown_and_rates_are_first_empty_and_then_zero() {
    assert!(Progress::new(1).series(0.0, 10.0).completed.is_empty());
    assert!(Progress::new(1).rates(0.0, 0.05).is_empty());
    assert_eq!(Progress::new(1).rates(0.0, 0.2), [0.0, 0.0]);
}

#[test]
fn failed_and_refused_requests_have_their_own_series() {
    let mut progress = Progress::new(1);
    for i in 1..=10_u64 {
        let late = i.saturating_sub(5);
        progress.push(0, Tick { refused: late * 10, errors: late, ..tick(i as f64 * 0.1, i * 10) }, 9.0);
    }
    let series = progress.series(0.0, 1.0);
    assert!(series.failed[..5].iter().all(|rate| *rate < 1e-6) && (series.failed[7] - 110.0).abs() < 1e-6);
    assert!((series.refused[7] - 100.0).abs() < 1e-6, "{:?}", series.refused);
    assert!(progress.series(0.0, 0.4).failed.is_empty());
}
