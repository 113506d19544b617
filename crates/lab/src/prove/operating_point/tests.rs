//! Tests of the load that an experiment runs.

use run::Knee;

use super::*;

/// Returns a run with a sweep, from pairs of connections and good answers per second.
fn sweep(steps: &[(u32, u64)]) -> Run {
    let trials = steps.iter().map(|(connections, completed)| {
        let think = run::ThinkTime::default();
        let intensity = Intensity::Closed { connections: *connections, pipeline: 1, think };
        let rates = run::Rates { completed_rate: *completed as f64, ..run::Rates::default() };
        Trial { kind: TrialKind::Sweep, intensity, rates, ..Trial::default() }
    });
    Run { trials: trials.collect(), ..Run::default() }
}

/// This test repeats a situation that was observed with redis and 16 requests in flight: a lever that stopped one side
/// (generator or server) soon left the other side idle.
#[test]
fn more_connections_are_taken_where_a_lever_would_stop_both_sides() {
    let mut run = sweep(&[(8, 120_000), (16, 136_000), (32, 130_000), (64, 119_000), (128, 119_000)]);
    run.trials.iter_mut().zip([57.0, 113.0, 237.0, 520.0, 1050.0]).for_each(|(t, us)| t.latency_us.p50 = us);
    assert_eq!(OperatingPoint::busy(&run, 16).connections, 64);
    run.trials.truncate(3);
    assert_eq!(OperatingPoint::busy(&run, 16).connections, 82, "0.6 ms of 136,000/s, which was not tried");
    run.plan.search.max_connections = 64;
    assert_eq!(OperatingPoint::busy(&run, 16).connections, 64, "no more are allowed");
    run.plan.search.max_connections = 24;
    assert_eq!(OperatingPoint::busy(&run, 16).connections, 16, "a few more change nothing");
}

/// The figures are those of a real server whose answers take 40 ms. The closed loop ended with 50 clients, but the
/// server's thread was full only with about 900 requests in flight. An experiment with 50 connections wrongly excluded
/// the server's thread as the limit.
#[test]
fn the_experiment_has_as_many_requests_in_flight_as_the_heaviest_open_loop() {
    let mut run = sweep(&[(1, 25), (2, 49), (10, 246), (50, 1171)]);
    run.trials.iter_mut().for_each(|t| t.latency_us.p50 = 40_700.0);
    for (offered, completed, concurrency) in [(9366.0, 9330.0, 399.3), (18_732.0, 13_603.0, 876.5)] {
        let intensity =
            Intensity::Open { rate: offered, arrival: run::Arrival::Poisson, max_connections: 1024, pipeline: 1 };
        let rates = run::Rates { offered_rate: offered, completed_rate: completed, concurrency, ..Default::default() };
        run.trials.push(Trial { kind: TrialKind::Search, intensity, rates, ..Trial::default() });
    }
    run.plan.search.max_connections = 1024;
    let point = OperatingPoint::busy(&run, 50);
    assert_eq!((point.connections, point.rate), (877, 13_603.0));
    assert_eq!(point.or_fewer(&run).len(), 1, "fewer would leave the thread partly idle");
    run.plan.search.max_connections = 600;
    assert_eq!(OperatingPoint::busy(&run, 50).connections, 600);
    run.trials.truncate(4);
    assert_eq!(OperatingPoint::busy(&run, 50).connections, 50);
}

/// An experiment may use at most eight times as many connections as the run. If an experiment needed more connections,
/// an earlier version of loadline kept the run's number of connections. Three of ten searches on a server with two
/// almost equally full resources therefore kept 8 connections, although the experiment needed 66. In the three searches
/// with 8 connections, the sum of the measured elasticities was 1.6 instead of 1.
#[test]
fn eight_times_the_connections_are_used_even_if_more_would_be_needed() {
    let mut run = sweep(&[(8, 116_000), (16, 90_000)]);
    run.trials.iter_mut().for_each(|t| t.latency_us.p50 = 60.0);
    run.plan.search.max_connections = 1000;
    assert_eq!(OperatingPoint::busy(&run, 8).connections, 64);
}

#[test]
fn if_four_connections_fill_a_server_more_are_used_if_the_sweep_tried_them() {
    let run = sweep(&[(1, 500), (2, 900), (4, 1000), (8, 980), (16, 700)]);
    assert_eq!(OperatingPoint::busy(&run, 4).connections, 8);
    assert_eq!(OperatingPoint::busy(&run, 16).connections, 16);
    let worse = sweep(&[(1, 500), (4, 1000), (8, 800), (16, 700)]);
    assert_eq!(OperatingPoint::busy(&worse, 4).connections, 4, "more of them is another server");
    assert_eq!(OperatingPoint::busy(&sweep(&[(1, 500)]), 1).connections, 1);
}

/// This test repeats a situation that was observed with Python threads that share the interpreter lock: one client
/// saturated the server, and the sweep ended at 4 connections without a gain. After a sweep up to 4 connections, an
/// earlier version of loadline made the experiment with one connection, and so with one request in flight.
#[test]
fn a_server_that_one_client_fills_is_tested_with_several_requests_in_flight() {
    let mut run = sweep(&[(1, 310), (2, 299), (4, 299)]);
    run.plan.search.max_connections = 1000;
    let found = OperatingPoint::busy(&run, 1);
    assert_eq!((found.connections, found.rate, (1000.0 * found.response_s).round()), (8, 299.0, 27.0));
    run.trials[2].rates.completed_rate = 250.0;
    assert_eq!(OperatingPoint::busy(&run, 1).connections, 8, "threads that take turns lose a part of the rate");
    run.plan.search.max_connections = 4;
    assert_eq!(OperatingPoint::busy(&run, 1).connections, 4, "no more are allowed");
    let collapses = sweep(&[(1, 500), (2, 400), (4, 200)]);
    assert_eq!(OperatingPoint::busy(&collapses, 1).connections, 1, "the server does much less with more of them");
}

#[test]
fn fewer_connections_that_still_fill_a_server_are_offered_from_the_most_down() {
    let operating_point = OperatingPoint {
        connections: 64,
        pipeline: 1,
        think: ThinkTime::default(),
        rate: 150.0,
        response_s: 0.42,
        turn_response_s: 0.42,
        at_rate: None,
    };
    let with_knee = |concurrency| {
        let mut run = Run::default();
        run.findings.knee = Some(Knee { concurrency, x_max: 150.0, ..Knee::default() });
        run
    };
    let connections =
        |run: &Run| operating_point.clone().or_fewer(run).iter().map(|s| s.connections).collect::<Vec<_>>();
    assert_eq!(
        (connections(&with_knee(3.13)), connections(&with_knee(1.1)), connections(&Run::default())),
        (vec![64, 13, 6], vec![64, 8, 2], vec![64])
    );
    assert_eq!(connections(&with_knee(f64::NAN)), vec![64]);
    assert!((operating_point.clone().or_fewer(&with_knee(3.0))[1].response_s - 0.08).abs() < 1e-9);
}

/// This test repeats a situation that was observed with a proxy that lets six requests wait: 16 connections had 326
/// answers per second, 151 of them good. In an experiment with 16 connections, taking half of the backend's CPU changed
/// nothing, because refusals replaced answers.
#[test]
fn an_experiment_has_no_load_that_the_server_refuses() {
    let mut run = sweep(&[(1, 79), (2, 161), (16, 326)]);
    let tally = &mut run.trials[2].measured.tally;
    (tally.completed, tally.unexpected_status) = (309, 169);
    run.plan.search.max_connections = 64;
    assert_eq!(OperatingPoint::busy(&run, 2).connections, 2);
    assert_eq!(most_served(&run), 15);
    run.trials[2].measured.tally.unexpected_status = 0;
    assert_eq!((OperatingPoint::busy(&run, 2).connections, most_served(&run)), (16, 64));
}

/// In this test, the server has three workers, each of which needs 0.1 s per request. The sweep was short: it had only
/// steps with 1, 2 and 31 connections, and showed no knee of the throughput curve.
#[test]
fn a_short_sweep_has_fewer_connections_too() {
    let mut run = sweep(&[(1, 10), (2, 19), (31, 30)]);
    run.trials.iter_mut().zip([0.1e6, 0.1e6, 1e6]).for_each(|(t, us)| t.latency_us.p50 = us);
    let found = OperatingPoint::busy(&run, 31).or_fewer(&run);
    assert_eq!(found.iter().map(|point| point.connections).collect::<Vec<_>>(), [31, 12, 6]);
}

/// The turns that measure costs come after the search, with the connections of the load test on which the verdict
/// relies. An earlier version of loadline used the rate and the pipeline depth of the cost turns for the experiment.
#[test]
fn turns_that_measure_costs_are_not_the_load_of_the_verdict() {
    for kind in [TrialKind::Handshakes, TrialKind::Classes] {
        let mut run = sweep(&[(1, 3000), (2, 6000), (4, 9000), (4, 20_000)]);
        run.plan.search.max_connections = 4;
        run.trials.iter_mut().for_each(|t| t.latency_us.p50 = 1000.0);
        run.trials[2].intensity = Intensity::Closed { connections: 4, pipeline: 16, think: ThinkTime::default() };
        run.trials[3].kind = kind;
        let found = OperatingPoint::observed(&run, 4);
        assert_eq!((found.pipeline, found.rate, served(&run)), (16, 9000.0, Some(9.0)));
        (run.trials[3].measured.tally.completed, run.trials[3].measured.tally.unexpected_status) = (9, 5);
        assert!(refuses(&run.trials[3]));
        assert_eq!(most_served(&run), 4);
    }
}

/// An earlier version of loadline used pipelines of 16 requests in the sweep, but sent one request at a time in the
/// experiment. Because the pipelines differed, the experiment rejected a correctly named bottleneck.
#[test]
fn the_load_is_that_of_the_trial_with_the_verdict() {
    let mut run = sweep(&[(8, 9000), (16, 9000)]);
    run.trials.iter_mut().for_each(|t| t.latency_us.p50 = 2000.0);
    let think = ThinkTime { mean_ms: 3.0, ..ThinkTime::default() };
    run.trials[0].intensity = Intensity::Closed { connections: 8, pipeline: 16, think: think.clone() };
    let found = OperatingPoint::busy(&run, 8);
    assert_eq!((found.connections, found.pipeline, &found.think), (8, 16, &think), "16 without it are another load");
    run.findings.knee = Some(Knee { concurrency: 20.0, x_max: 9000.0, ..Knee::default() });
    let fewer: Vec<(u32, u32)> = found.or_fewer(&run).iter().map(|o| (o.connections, o.pipeline)).collect();
    assert_eq!(fewer, [(8, 16), (7, 16), (5, 16)], "27 requests are not in flight, because their clients pause");
}

/// In this test, the server completes 80 requests per second, four at a time. 128 clients pause for 1 s after each
/// answer. An earlier version of loadline used 16 and 8 connections for the experiment, which leave the server idle
/// most of the time.
#[test]
fn clients_that_pause_fill_a_server_only_if_there_are_enough_of_them() {
    let mut run = sweep(&[(1, 1), (64, 61), (128, 80)]);
    let think = ThinkTime { mean_ms: 1000.0, ..ThinkTime::default() };
    for (trial, (connections, p50)) in run.trials.iter_mut().zip([(1, 50e3), (64, 52e3), (128, 600e3)]) {
        trial.latency_us.p50 = p50;
        trial.intensity = Intensity::Closed { connections, pipeline: 1, think: think.clone() };
    }
    run.findings.knee = Some(Knee { concurrency: 4.0, x_max: 80.0, ..Knee::default() });
    let found = OperatingPoint::observed(&run, 128).or_fewer(&run);
    assert_eq!(found.iter().map(|o| o.connections).collect::<Vec<_>>(), [128, 96, 88]);
    assert!((found[1].response_s - 0.2).abs() < 1e-9, "{}", found[1].response_s);
    assert_eq!(found[1].clone().with(40).response_s, 0.0, "so few clients do not reach this rate");
}

/// The test repeats measurements of a server that answers 1 % of its requests after 500 ms. The median response
/// time was 0.3 ms, and turns of 0.25 s showed only how the load begins.
#[test]
fn turns_outlast_the_slow_answers_that_occupy_most_connections() {
    let of_slow = |slow: u64| {
        let mut run = sweep(&[(32, 6000)]);
        let mut hist = run::Hist::new();
        hist.record_many_ns(300_000, 1000 - slow);
        hist.record_many_ns(500_000_000, slow);
        run.trials[0].latency_us = run::Summary::of(&hist);
        run.trials[0].histograms.insert("response".into(), hist);
        OperatingPoint::observed(&run, 32)
    };
    let (slow, even) = (of_slow(10), of_slow(0));
    assert!((0.1..0.3).contains(&slow.turn_response_s) && slow.response_s < 0.001, "{slow:?}");
    assert_eq!(even.turn_response_s, even.response_s);
    assert_eq!(slow.clone().with(64).turn_response_s, slow.turn_response_s);
}

#[test]
fn cpus_are_taken_from_a_server_with_enough_requests_for_them() {
    let one = OperatingPoint::observed(&sweep(&[(1, 900)]), 1);
    let of = |cpus, most| one.for_cpus(cpus, most).map(|point| point.connections);
    assert_eq!((of(2, 1000), of(8, 1000), of(2, 4)), (Ok(8), Ok(16), Ok(4)));
    assert!(of(2, 1).unwrap_err().contains("1 request in flight"));
}

/// A server refuses requests beyond five in flight. With eight connections, most answers are refusals. An earlier
/// version of loadline therefore measured how many refusals the CPUs allow.
#[test]
fn time_slots_use_no_load_that_is_mostly_refused() {
    let mut run = sweep(&[(1, 800), (2, 1600), (4, 3100), (8, 7500)]);
    assert_eq!(unrefused(&run, 8), 8);
    (run.trials[3].measured.tally.completed, run.trials[3].measured.tally.unexpected_status) = (7500, 3500);
    assert_eq!((unrefused(&run, 8), unrefused(&run, 2)), (4, 2));
    run.trials.drain(..3);
    assert_eq!(unrefused(&run, 8), 8, "no other load was tried");
}
