//! Generates runs with arbitrary figures and names, in which parts may be missing.

#![allow(dead_code, unreachable_pub)]

use proptest::prelude::*;
use run::*;

/// Generates arbitrary figures, including impossible ones such as NaN or negative rates.
pub fn figure() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => 0.0..1e7f64,
        1 => prop::num::f64::ANY,
        1 => Just(0.0),
        1 => prop::sample::select(vec![f64::NAN, f64::INFINITY, -1.0, 1e300, 1e-300]),
    ]
}

pub fn trial() -> impl Strategy<Value = Trial> {
    let kinds = [
        TrialKind::Fixed,
        TrialKind::Sweep,
        TrialKind::Search,
        TrialKind::Overload,
        TrialKind::Experiment,
        TrialKind::Proof,
        TrialKind::Watched,
        TrialKind::Handshakes,
        TrialKind::Classes,
    ];
    let head =
        (prop::sample::select(kinds.to_vec()), ".{0,40}", prop::array::uniform12(figure()), 1u32..5000, any::<bool>());
    let body = (
        prop::collection::vec(any::<u64>(), 0..20),
        prop::collection::vec(figure(), 0..20),
        side(),
        prop::option::of(side()),
        counts(),
        prop::collection::vec(0u64..1000, 0..3),
    );
    (head, body).prop_map(
        |((kind, label, f, connections, open), (durations, series, client, server, counts, parts))| {
            let mut hist = Hist::new();
            durations.iter().for_each(|ns| hist.record_ns(*ns));
            let intensity = if open {
                // The rate is always finite, because loadline checks a plan before it runs the plan.
                let rate = if f[0].is_finite() { f[0] } else { 1.0 };
                Intensity::Open { rate, arrival: Arrival::Poisson, max_connections: connections, pipeline: 1 }
            } else {
                Intensity::Closed { connections, pipeline: 1, think: ThinkTime::default() }
            };
            Trial {
                kind,
                label,
                repeat: connections % 3,
                intensity,
                rates: Rates {
                    offered_rate: f[1],
                    sent_rate: f[2],
                    completed_rate: f[3],
                    goodput: f[4],
                    concurrency: f[5],
                },
                measured: Measured {
                    window: Window { begin_s: f[6], end_s: f[7] },
                    length_s: f[8],
                    series_completed: series,
                    slot_rates: Vec::new(),
                    slot_times: Vec::new(),
                    tally: counts.clone(),
                    ..Measured::default()
                },
                tally: counts,
                latency_us: Summary {
                    count: durations.len() as u64,
                    mean: f[9],
                    p50: f[10],
                    p99: f[11],
                    ..run::Summary::of(&hist)
                },
                key: Key::default().with(ValueName::new("offered_rate"), f[0]),
                histograms: [("response".to_string(), hist)].into(),
                client,
                server,
                host_loads: parts.iter().enumerate().map(host_load).collect(),
                classes: parts.iter().enumerate().map(|(i, n)| class(i, *n)).collect(),
                ..Trial::default()
            }
        },
    )
}

fn host_load((i, completed): (usize, &u64)) -> HostLoad {
    HostLoad { host: format!("h{i}"), agents: 1, completed: *completed, share: 0.5, clock_us: 0.0 }
}

fn class(i: usize, completed: u64) -> ClassPart {
    let mut response = Hist::new();
    (0..completed).for_each(|n| response.record_ns(n * 1000));
    let measured = ClassTally { begun: completed + 1, completed, failed: 1, ..ClassTally::default() };
    ClassPart { name: format!("class {i}"), total: measured, measured, response, ..ClassPart::default() }
}

/// Generates the counts of a window. Some answers may have an unexpected status, and some requests may fail or get no
/// answer.
pub fn counts() -> impl Strategy<Value = Tally> {
    let few = || prop_oneof![3 => Just(0u64), 1 => 0u64..50];
    (0u64..2000, few(), few(), few()).prop_map(|(completed, refused, resets, unanswered)| Tally {
        attempted: 10,
        connected: 10,
        sent: completed + resets + unanswered,
        completed,
        unexpected_status: refused.min(completed),
        errors: Errors([(ErrorKind::Reset, resets)].into()),
        unanswered,
        ..Tally::default()
    })
}

pub fn side() -> impl Strategy<Value = Side> {
    let column = (0..COUNTERS.len(), ".{0,12}", prop::collection::vec(prop::option::of(figure()), 0..8));
    let units = [FigureUnit::Micros, FigureUnit::Bytes, FigureUnit::PerRequest, FigureUnit::Plain];
    let cost = ("[a-z._]{0,12}", figure(), prop::sample::select(units.to_vec()));
    let parts =
        (prop::collection::vec(figure(), 0..8), prop::collection::vec(column, 0..8), prop::collection::vec(cost, 0..4));
    (parts, any::<bool>()).prop_map(|((t_s, columns, costs), shared)| Side {
        shared,
        processes: columns.iter().map(|c| c.1.clone()).collect(),
        counters: columns
            .iter()
            .map(|c| (CounterId::new(COUNTERS[c.0].id), Reading::Value(t_s.len() as f64)))
            .collect(),
        recording: Recording {
            t_s,
            columns: columns
                .into_iter()
                .map(|(i, instance, values)| Column { counter: CounterId::new(COUNTERS[i].id), instance, values })
                .collect(),
            ..Recording::default()
        },
        costs: costs.into_iter().map(|(id, v, unit)| (id, Cost { per_request: Reading::Value(v), unit })).collect(),
        ..Side::default()
    })
}

pub fn findings() -> impl Strategy<Value = Findings> {
    (prop::array::uniform8(figure()), ".{0,60}", any::<bool>()).prop_map(|(f, text, flag)| Findings {
        capacity: flag.then(|| Capacity {
            rate: f[0],
            failed_at: Some(f[1]),
            objective: text.clone(),
            held: flag,
            ..Capacity::default()
        }),
        knee: Some(Knee { concurrency: f[2], r1_us: f[3], x_max: f[4], reached_at: Some(f[5]) }),
        bottleneck: Bottleneck {
            id: text.clone(),
            confidence: f[6],
            evidence: vec![Evidence {
                text: text.clone(),
                value: Some(f[6]),
                limit: Some(f[7]),
                unit: FigureUnit::PerSecond,
                ..Evidence::default()
            }],
            ..Bottleneck::default()
        },
        fits: [("usl".to_string(), Fit { points: 3, r2: f[7], ..Fit::default() })].into(),
        checks: vec![Check { name: text, value: f[0], limit: f[1], ..Check::default() }],
        trust: Trust { generator_ceiling: Some(f[2]), probe_share: Some(f[3]), ..Trust::default() },
        ..Findings::default()
    })
}
