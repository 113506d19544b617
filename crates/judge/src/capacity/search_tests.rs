//! Tests on made-up searches whose windows have known shares of late answers.

use run::{Capacity, Hist, LateCounts, Summary, Tenths, Trial, TrialKind, Window};

use crate::planted::{PlantedRun, Point};

/// Limit on the median response time, microseconds.
const LIMIT_US: f64 = 50_000.0;

/// Makes a run whose closed loop has steps with `steps` clients. Each entry of `windows` describes one open-loop
/// window: the offered rate, and the share of the answers in this window that took longer than [`LIMIT_US`].
fn searched(r1_us: f64, x_max: f64, steps: &[u32], windows: &'static [(f64, f64)]) -> PlantedRun {
    let rates: Vec<f64> = windows.iter().map(|(rate, _)| rate / x_max).collect();
    let counts = move |t: &mut Trial, p: &Point| {
        let window = windows.iter().find(|(rate, _)| (rate - p.offered).abs() < 1e-6);
        let Some((rate, share)) = window.filter(|_| t.kind == TrialKind::Search) else { return };
        let answered = (rate / 10.0).round();
        let late = (share * answered).round();
        let over = vec![LateCounts { limit_us: LIMIT_US, late: vec![late as u64; 20] }];
        t.measured.tenths = Tenths { answered: vec![answered as u64; 20], over, ..Tenths::default() };
        t.latency_us.p50 = if 2.0 * late > answered { 10.0 * LIMIT_US } else { 0.1 * LIMIT_US };
    };
    let planned = |plan: &mut run::Plan| plan.objective.p50_us = Some(LIMIT_US);
    PlantedRun::new(r1_us, x_max).steps(steps).rates(&rates).change(counts).plan(planned)
}

fn capacity(planted: &PlantedRun) -> Capacity {
    let mut run = planted.run();
    crate::judge(&mut run);
    run.findings.capacity.unwrap()
}

/// The sweep had time for only one step, with one client, which reached 150 requests/s. Open-loop windows held 600/s.
/// An earlier version of loadline took 150/s as the rate at which the server is full, and reported a capacity of 511/s.
#[test]
fn a_sweep_that_still_grew_does_not_tell_where_the_server_is_full() {
    let windows = &[(300.0, 0.0), (600.0, 0.04), (1200.0, 0.97), (440.0, 0.01), (450.0, 0.01)];
    let c = capacity(&searched(1e6 / 150.0, 1000.0, &[1], windows));
    assert!(c.rate > 600.0 && c.high.is_some_and(|high| high < 1500.0), "{c:?}");
}

/// Another program took 1.6 of 2 CPUs. The closed loop reached 340 requests/s at a quiet moment, and open-loop windows
/// at 240/s and 260/s failed. An earlier version of loadline reported that the objective was met up to 282/s.
#[test]
fn on_a_machine_whose_speed_changed_the_capacity_is_a_rate_that_held() {
    let windows = &[(220.0, 0.1), (240.0, 0.96), (260.0, 0.97)];
    let c = capacity(&searched(20_000.0, 340.0, &[1, 2, 4, 8, 16, 32], windows));
    assert!((c.rate - 220.0).abs() < 1e-6 && c.failed_at.is_some_and(|rate| (rate - 240.0).abs() < 1e-6), "{c:?}");
    assert!(c.low.is_some_and(|low| low < 220.0) && c.high.is_some_and(|high| high > 340.0), "{c:?}");
    assert!(c.method.contains("the machine's speed changed"), "{c:?}");
}

/// All windows that met the objective are below the interval of the model, which goes from 150 to 280 requests/s.
#[test]
fn the_interval_contains_the_highest_rate_that_held() {
    let windows = &[(220.0, 1.0), (150.0, 0.93), (110.0, 0.09), (90.0, 0.0), (130.0, 0.1), (120.0, 0.0)];
    let c = capacity(&searched(20_000.0, 270.0, &[1, 2, 4, 8, 16, 32], windows));
    assert!(c.rate <= 130.0 + 1e-6 && c.low.is_some_and(|low| low <= 130.0 + 1e-6), "{c:?}");
}

#[test]
fn windows_that_agree_leave_the_estimate_as_it_is() {
    let windows = &[(800.0, 0.16), (960.0, 0.53), (880.0, 0.28), (950.0, 0.52), (930.0, 0.41)];
    let c = capacity(&searched(8_000.0, 1000.0, &[1, 2, 4, 8, 16, 32], windows));
    assert!((c.rate - 918.0).abs() < 10.0 && c.rate.is_normal(), "{c:?}");
}

/// One of 240 requests failed in the window at 120 requests/s. The objective allows one in a thousand. An earlier
/// version of loadline reported a capacity with an interval from 31 to 343 requests/s.
#[test]
fn one_failed_request_does_not_hide_where_answers_become_late() {
    let windows = &[(100.0, 0.0), (120.0, 0.0), (150.0, 0.1), (170.0, 0.2), (200.0, 0.9)];
    let fails = |t: &mut Trial, p: &Point| {
        if t.kind == TrialKind::Search && (p.offered - 120.0).abs() < 1e-6 {
            t.measured.tally.unexpected_status = 1;
        }
    };
    let c = capacity(&searched(20_000.0, 205.0, &[1, 2, 4, 8, 16, 32], windows).change(fails));
    assert!(c.low.is_some_and(|low| low > 150.0) && c.high.is_some_and(|high| high < 230.0), "{c:?}");
}

/// The objective limits only the time to the first byte. Another program filled the machine's CPUs during three
/// windows, in which answers were late. An earlier version of loadline used these three windows for the capacity
/// without a warning.
#[test]
fn a_window_beside_another_program_is_left_out_whatever_the_objective_limits() {
    let first_bytes = |t: &mut Trial, p: &Point| {
        if t.kind != TrialKind::Search {
            return;
        }
        let is_disturbed = [110.0, 120.0, 130.0].iter().any(|rate| (rate - p.offered).abs() < 1e-6);
        t.measured.others = vec![if is_disturbed { 0.9 } else { 0.02 }; 20];
        let late = if is_disturbed || p.offered > 190.0 { 19 } else { u64::from(p.offered > 160.0) * 6 };
        let mut hist = Hist::new();
        hist.record_many_ns(10_000_000, (p.offered * 2.0) as u64 * (20 - late) / 20);
        hist.record_many_ns(500_000_000, (p.offered * 2.0) as u64 * late / 20);
        t.first_byte_us = Summary::of(&hist);
        t.histograms.insert("first_byte".into(), hist);
    };
    let of = |rates: &[f64]| {
        let shares: Vec<f64> = rates.iter().map(|rate| rate / 205.0).collect();
        let planted = PlantedRun::new(20_000.0, 205.0).rates(&shares).change(first_bytes);
        let mut run = planted.plan(|plan| plan.objective.first_byte.p50_us = Some(LIMIT_US)).run();
        crate::judge(&mut run);
        (run.findings.capacity.unwrap(), run.findings.trust.warnings)
    };
    let (quiet, _) = of(&[100.0, 140.0, 170.0, 200.0]);
    let (beside, warnings) = of(&[100.0, 110.0, 120.0, 130.0, 140.0, 170.0, 200.0]);
    assert_eq!((beside.rate, beside.low, beside.high), (quiet.rate, quiet.low, quiet.high));
    assert!(warnings.iter().any(|text| text.contains("other programs took")), "{warnings:?}");
}

/// In this test, the machine paused at the beginning of each of four windows, so all their time is disturbed. Another
/// program disturbed a fifth window. Only the time of the fifth window counts as left out.
#[test]
fn time_that_is_included_does_not_count_as_left_out() {
    let windows = &[(100.0, 0.0), (130.0, 0.9), (150.0, 0.1), (170.0, 0.2), (200.0, 0.9)];
    let disturbs = |t: &mut Trial, p: &Point| {
        let is_spoiled = (p.offered - 130.0).abs() < 1e-6;
        t.measured.others = vec![if is_spoiled { 0.9 } else { 0.02 }; 20];
        if t.kind == TrialKind::Search && !is_spoiled {
            t.measured.pauses = vec![Window { begin_s: 0.0, end_s: 0.1 }];
        }
    };
    let c = capacity(&searched(20_000.0, 205.0, &[1, 2, 4, 8, 16, 32], windows).change(disturbs));
    assert!(c.left_out.is_some_and(|left_out| (left_out.seconds - 2.0).abs() < 1e-9), "{c:?}");
}
