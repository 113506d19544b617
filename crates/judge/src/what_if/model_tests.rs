//! Tests of the model: its capacity, its queue, and its agreement with measured rates.

use run::{Change, Run};

use super::model::{Model, ServerCpu};
use super::solve::solve;
use super::tests::capped;
use super::what_if;
use crate::planted::{PlantedRun, Who};

/// The generator and the server's only thread share two CPUs. With cheap requests, the CPUs are full first. With
/// expensive requests, the server's thread is full first.
#[test]
fn dearer_requests_never_raise_the_rate() {
    let rate = |factor: f64| {
        let (work_s, beside_s) = (2.8e-6 * factor, 3.2e-6);
        let cpu = ServerCpu { work_s, beside_s, behind_s: 0.0, cpus: 2.0, threads: 1.0, quota: f64::INFINITY };
        solve(&Model { server_cpu: Some(cpu), elsewhere_s: 18e-6, ..capped(f64::INFINITY, 4, 0.0) }).0
    };
    let rates: Vec<f64> = (0..60).map(|step| rate(0.5 + 0.05 * f64::from(step))).collect();
    assert!(rates.windows(2).all(|pair| pair[1] < pair[0]), "{rates:?}");
}

/// A quota stops a server for a part of each period. Until the quota is used up, the quota slows no request.
#[test]
fn a_quota_caps_the_rate_and_slows_nothing_below_it() {
    let (rate, response_s) = solve(&capped(0.2, 1, 0.0));
    assert!((rate - 500.0).abs() < 1e-6 && (response_s - 2e-3).abs() < 1e-9, "{rate}/s, {response_s} s");
    assert!((solve(&capped(0.4, 1, 0.0)).0 - 1000.0).abs() < 1e-6);
    let (rate, response_s) = solve(&capped(0.2, 1, 10e-3));
    assert!((rate - 1.0 / 10.45e-3).abs() < 1e-3 && (response_s - 450e-6).abs() < 1e-9, "{rate}/s, {response_s} s");
    assert_eq!(solve(&capped(0.2, 1, 10e-3)), solve(&capped(f64::INFINITY, 1, 10e-3)));
}

/// In an M/M/1 queue, a request waits for all requests that arrived before it. At rates above the limit of the first
/// full resource, the wait is infinite.
#[test]
fn arrivals_queue_and_above_the_capacity_the_wait_is_infinite() {
    let model = |rate| Model { arrivals: Some(rate), ..capped(f64::INFINITY, 1, 0.0) };
    let (rate, response_s) = solve(&model(1250.0));
    assert!((rate - 1250.0).abs() < 1e-9 && (response_s - (800e-6 + 50e-6)).abs() < 1e-9, "{rate}/s, {response_s} s");
    assert_eq!(solve(&model(2600.0)), (2500.0, f64::INFINITY));
    let quota = Model { arrivals: Some(600.0), ..capped(0.2, 1, 0.0) };
    assert_eq!(solve(&quota), (500.0, f64::INFINITY));
}

/// One thread is 88 % busy at the plateau. The model therefore treats the thread as full, and predicts the highest
/// measured rate for more users.
#[test]
fn a_resource_full_at_the_highest_rate_is_full_at_that_rate_in_the_model() {
    let cpu = |p: &crate::planted::Point| p.x / 315.0 * 0.88e6;
    let planted = PlantedRun::new(3000.0, 315.0).none(Who::Server, "thread.cpu").per_s(
        Who::Server,
        "process.cpu",
        "srv:100",
        cpu,
    );
    let mut run = planted.per_s(Who::Server, "thread.cpu", "srv:100/101", cpu).run();
    crate::judge(&mut run);
    assert_eq!(run.findings.bottleneck.id, "server-single-thread", "{:#?}", run.findings.bottleneck);
    let answer = what_if(&run, &Change { users: Some(512), ..Change::default() }).unwrap();
    assert!((answer.rate.value / 315.0 - 1.0).abs() < 0.02, "{answer:#?}");
    let twice = what_if(&run, &Change { users: Some(512), workers: Some(2), ..Change::default() }).unwrap();
    assert!((twice.rate.value / 630.0 - 1.0).abs() < 0.05, "{twice:#?}");
}

/// Makes a run of a server that sleeps for 20 ms and uses 101 µs of CPU time per answer. The run has one load, with
/// `connections` connections.
fn sleeps(connections: u32) -> Run {
    let rate = f64::from(connections) / 20.6e-3;
    let mut run = PlantedRun::new(20_600.0, 1e9)
        .steps(&[connections])
        .rates(&[])
        .per_s(Who::Server, "process.cpu", "srv:100", move |_| rate * 101.0)
        .change(|t, _| t.kind = run::TrialKind::Fixed)
        .run();
    crate::judge(&mut run);
    run
}

/// An earlier version of the queueing model left out the time for which the server sleeps. Without the server's sleep,
/// the model predicted 23,500 requests per second for more CPUs, which in fact change nothing.
#[test]
fn the_model_contains_time_that_no_counter_explains() {
    for connections in [1, 4, 8] {
        let (run, rate) = (sleeps(connections), f64::from(connections) / 20.6e-3);
        let more = what_if(&run, &Change { server_cpus: Some(8.0), ..Change::default() }).unwrap();
        assert!((more.now / rate - 1.0).abs() < 0.03 && (more.rate.value / rate - 1.0).abs() < 0.03, "{more:#?}");
        assert!(more.rate.low <= rate && rate <= more.rate.high && more.rate.high < 1.2 * rate, "{more:#?}");
        assert!(more.capacity.value.is_nan(), "one load level shows no capacity: {more:#?}");
        let users = what_if(&run, &Change { users: Some(10 * connections), ..Change::default() }).unwrap();
        assert!(users.rate.value < 10.3 * rate, "{users:#?}");
        // The server may have had only as many workers as there were clients.
        assert!(connections == 1 || users.rate.low <= 1.05 * rate, "{users:#?}");
    }
}

#[test]
fn a_model_that_misses_the_measured_rate_predicts_nothing() {
    let cpu = |p: &crate::planted::Point| p.x * 10.0;
    let planted = PlantedRun::new(20_000.0, 200.0).none(Who::Server, "thread.cpu");
    let mut run = planted.per_s(Who::Server, "process.cpu", "srv:100", cpu).run();
    crate::judge(&mut run);
    // A single client's request took 2 ms. No counter shows why several clients completed only 200 requests per second.
    let alone = run.trials.iter_mut().find(|t| crate::context::single::clients(t) <= 1.0).unwrap();
    (alone.latency_us.mean, alone.latency_us.p50) = (2000.0, 2000.0);
    run.findings.bottleneck.id = "unknown".into();
    let answer = what_if(&run, &Change { users: Some(64), ..Change::default() });
    assert!(answer.as_ref().is_err_and(|why| why.contains("do not explain its rate")), "{answer:#?}");
}
