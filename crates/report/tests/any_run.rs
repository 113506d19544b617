//! No run makes a form panic or fail: arbitrary figures, names and gaps.

#![allow(clippy::unwrap_used)]

mod common;

use loadline_report::{FORMS, Style, render};
use proptest::prelude::*;
use run::*;

/// Figures as they come, the impossible ones among them.
fn figure() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => 0.0..1e7f64,
        1 => prop::num::f64::ANY,
        1 => Just(0.0),
        1 => prop::sample::select(vec![f64::NAN, f64::INFINITY, -1.0, 1e300, 1e-300]),
    ]
}

fn trial() -> impl Strategy<Value = Trial> {
    let kinds = [TrialKind::Fixed, TrialKind::Sweep, TrialKind::Search, TrialKind::Overload, TrialKind::Experiment];
    let head =
        (prop::sample::select(kinds.to_vec()), ".{0,40}", prop::array::uniform12(figure()), 1u32..5000, any::<bool>());
    let body = (
        prop::collection::vec(any::<u64>(), 0..20),
        prop::collection::vec(figure(), 0..20),
        side(),
        prop::option::of(side()),
    );
    (head, body).prop_map(|((kind, label, f, connections, open), (durations, series, client, server))| {
        let mut hist = Hist::new();
        durations.iter().for_each(|ns| hist.record_ns(*ns));
        let intensity = if open {
            // A plan is checked before it runs: its rate is always a number.
            let rate = if f[0].is_finite() { f[0] } else { 1.0 };
            Intensity::Open { rate, arrival: Arrival::Poisson, max_connections: connections }
        } else {
            Intensity::Closed { connections, pipeline: 1, think: ThinkTime::default() }
        };
        Trial {
            kind,
            label,
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
                ..Measured::default()
            },
            latency_us: Summary { count: durations.len() as u64, mean: f[9], p50: f[10], p99: f[11], ..hist.summary() },
            axes: [("clients".to_string(), f[0])].into(),
            histograms: [("response".to_string(), hist)].into(),
            client,
            server,
            ..Trial::default()
        }
    })
}

fn side() -> impl Strategy<Value = Side> {
    let column = (0..COUNTERS.len(), ".{0,12}", prop::collection::vec(prop::option::of(figure()), 0..8));
    let cost = ("[a-z._]{0,12}", figure(), ".{0,6}");
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
            absent: vec![],
        },
        costs: costs.into_iter().map(|(id, v, unit)| (id, Cost { per_request: Reading::Value(v), unit })).collect(),
        ..Side::default()
    })
}

fn findings() -> impl Strategy<Value = Findings> {
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
                unit: text.clone(),
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_run_breaks_a_form(
        trials in prop::collection::vec(trial(), 0..6),
        findings in findings(),
        command in ".{0,60}",
        width in 0usize..200,
    ) {
        let run = Run { command, trials, findings, ..Run::default() };
        for form in FORMS {
            let text = render(form.name, &run, &Style { width, color: false });
            prop_assert!(text.is_ok(), "{}: {:?}", form.name, text.err());
            if form.name == "json" {
                let back = serde_json::from_str::<Run>(text.as_deref().unwrap_or_default());
                prop_assert!(back.is_ok(), "does not load again: {:?}", back.err());
            }
            if form.name == "html" {
                let text = text.unwrap_or_default();
                prop_assert!(!text.contains("=\"NaN") && !text.contains("inf\""), "a coordinate is no number");
            }
        }
    }
}
