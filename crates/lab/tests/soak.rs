//! Ten minutes of load in virtual time, on a server that leaks memory with each request, and on a server without a
//! leak. The run on the leaking server must report the leak with its growth per hour. The run on the server without a
//! leak must have no warning.

#![allow(clippy::unwrap_used, reason = "helpers of tests, too")]

use load::{Service, SimServer};
use loadline_lab::Point;
use run::{
    Arrival, Column, CounterId, DriftMetric, Intensity, LoadPlan, Plan, Recording, Run, Side, TENTH_S, Trial, TrialKind,
};
use testkit::VirtualServer;

const LENGTH_S: f64 = 600.0;
const RATE: f64 = 200.0;
/// Memory of the server before the first request, bytes.
const AT_FIRST: f64 = 60e6;
/// Maximum random addition to the memory, bytes.
const UP_AND_DOWN: f64 = 3e6;

/// Returns the result of a simulated load test of ten minutes.
fn soaked() -> Trial {
    let server = SimServer { service: Service::Exponential, service_ns: 2_000_000, workers: 1, ..SimServer::default() };
    let intensity = Intensity::Open { rate: RATE, arrival: Arrival::Poisson, max_connections: 100, pipeline: 1 };
    let mut virtual_server = VirtualServer::new(server, Plan::default(), 1);
    let late_us = vec![100_000.0];
    let plan = LoadPlan { intensity, duration_s: LENGTH_S, late_us, protocol: protocol(), ..LoadPlan::default() };
    virtual_server.conduct(&plan, &Point { kind: TrialKind::Fixed, ..Point::default() }).unwrap()
}

fn protocol() -> run::Protocol {
    run::Protocol::Echo { message_bytes: 1 }
}

/// Returns the run of a server that leaks this many bytes with each answered request.
fn kept(bytes_a_request: f64) -> Run {
    let mut trial = soaked();
    let (begin_s, mut random) = (trial.measured.window.begin_s, fastrand::Rng::with_seed(3));
    let each_second = (1.0 / TENTH_S).round() as usize;
    let mut answered = 0;
    let memory = trial.measured.tenths.answered.chunks(each_second).map(|tenths| {
        answered += tenths.iter().sum::<u64>();
        Some(AT_FIRST + bytes_a_request * answered as f64 + UP_AND_DOWN * random.f64())
    });
    let values: Vec<Option<f64>> = memory.collect();
    let t_s = (0..values.len()).map(|second| begin_s + second as f64).collect();
    let columns = vec![Column { counter: CounterId::new("process.rss"), instance: "app:7".into(), values }];
    let recording = Recording { t_s, columns, ..Recording::default() };
    trial.server = Some(Side { processes: vec!["app:7".into()], recording, ..Side::default() });
    let mut run = Run { trials: vec![trial], ..Run::default() };
    judge::judge(&mut run);
    run
}

#[test]
fn a_server_that_leaks_a_little_per_request_is_named() {
    let run = kept(250.0);
    let completed = run.trials[0].measured.tally.completed as f64;
    assert!((completed / (RATE * LENGTH_S) - 1.0).abs() < 0.05, "{completed} requests in ten minutes");
    let [drift] = &run.findings.drifts[..] else { unreachable!("{:#?}", run.findings.drifts) };
    assert!(drift.of == DriftMetric::Level && drift.sentence.contains("memory grew"), "{drift:?}");
    // At 200 requests/s, a leak of 250 bytes per request is 180 MB per hour.
    assert!((drift.per_s / (250.0 * RATE) - 1.0).abs() < 0.1, "{drift:?}");
    assert!(run.findings.trust.warnings.contains(&drift.sentence), "it is shown");
}

#[test]
fn a_server_without_a_leak_is_not_named() {
    assert_eq!(kept(0.0).findings.drifts, []);
}
