//! No run makes a form panic or fail: arbitrary figures, names and gaps.

#![allow(clippy::unwrap_used)]

mod common;

use loadline_report::{Block, FORMS, Style, document, quantity, render};
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
        counts(),
    );
    (head, body).prop_map(|((kind, label, f, connections, open), (durations, series, client, server, counts))| {
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
                tally: counts.clone(),
                ..Measured::default()
            },
            tally: counts,
            latency_us: Summary { count: durations.len() as u64, mean: f[9], p50: f[10], p99: f[11], ..hist.summary() },
            key: Key { offered_rate: Some(f[0]), ..Key::default() },
            histograms: [("response".to_string(), hist)].into(),
            client,
            server,
            ..Trial::default()
        }
    })
}

/// Counts of a window in which some answers were refusals, some requests failed, and some were never answered.
fn counts() -> impl Strategy<Value = Tally> {
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

    /// Decided once: the pages name the trials that judge picked, and print the shares that judge counted.
    #[test]
    fn every_form_says_what_judge_decided(trials in prop::collection::vec(trial(), 1..6), experiment in any::<bool>()) {
        let mut run = Run { trials, ..Run::default() };
        // Names that stand nowhere else.
        run.trials.iter_mut().enumerate().for_each(|(i, t)| t.label = format!("trial-{i}-of-it"));
        run.plan.command = if experiment { "lab none".into() } else { "find".into() };
        judge::judge(&mut run);
        let found = &run.findings;
        let name = |place: Option<usize>| place.map(|at| format!("trial-{at}-of-it"));
        let doc = document(&run);
        let section = |id: &str| doc.sections.iter().find(|s| s.id == id);
        let said = |id: &str| section(id).map(|s| format!("{:?}", s.blocks));

        for (id, place) in [("utilisation", found.picks.shown), ("counters", found.picks.shown), ("series", found.picks.shown)] {
            if let Some(text) = said(id) {
                let named: Vec<usize> = (0..run.trials.len()).filter(|i| text.contains(&format!("trial-{i}-of-it"))).collect();
                let heads = section(id).map(|s| s.title.clone()).unwrap_or_default();
                prop_assert!(named.iter().all(|i| Some(*i) == place), "{} {:?} {}", id, place, text);
                prop_assert!(!heads.contains("trial-") || name(place).is_some_and(|n| heads.contains(&n)), "{}", heads);
            }
        }
        if let Some(text) = said("costs").or_else(|| said("all-costs")) {
            let allowed = [found.picks.decisive, found.picks.unloaded];
            let named = (0..run.trials.len()).filter(|i| text.contains(&format!("trial-{i}-of-it")));
            for i in named {
                prop_assert!(allowed.contains(&Some(i)), "costs of trial {}, {:?}", i, allowed);
            }
        }

        let shares: Vec<String> = found.outcomes.iter()
            .map(|o| o.failed_share.map_or_else(|| "–".into(), |s| quantity(s, loadline_report::Unit::Share))).collect();
        if let Some(Block::Table(table)) = section("trials").and_then(|s| s.blocks.first()) {
            let at = table.columns.iter().position(|c| c.name == "errors").unwrap();
            let printed: Vec<&str> = table.rows.iter().map(|r| r[at].text.as_str()).collect();
            prop_assert_eq!(printed, shares.iter().map(String::as_str).collect::<Vec<_>>());
        }
        let wide = Style { width: 400, color: false };
        for (form, row) in [("text", "trial-0-of-it"), ("markdown", "| trial-0-of-it"), ("html", "trial-0-of-it</td>")] {
            let text = render(form, &run, &wide).unwrap();
            let line = text.lines().find(|l| l.contains(row) && l.contains(shares[0].as_str()));
            prop_assert!(line.is_some(), "{}: no line of {} with {}\n{}", form, row, shares[0], text);
        }

        let beyond = found.picks.beyond.and_then(|at| found.outcomes[at].good_rate);
        prop_assert_eq!(doc.title.contains(" at most:"), beyond.is_some() && doc.title.contains("in time"));
        if let Some(rate) = beyond.filter(|_| doc.title.contains("at most")) {
            prop_assert!(doc.title.contains(&loadline_report::number(rate)), "{}", doc.title);
        }
        let held = found.picks.at_capacity.is_none_or(|at| found.outcomes[at].held);
        prop_assert!(held, "the capacity is of a trial that did not hold");
        let broken = found.capacity.as_ref().is_some_and(|c| !c.held);
        prop_assert!(!broken || found.failure.is_some(), "the exit status says it held");
    }
}
