//! Unusual runs: runs with malicious or missing values, and a run with a long chain of upstream services.

use std::collections::BTreeMap;

use run::*;

use super::{decided, find, with_stack};

/// Returns a run with a chain of upstream services. The names of the upstream services are long, and some contain HTML
/// tags.
pub fn behind() -> Run {
    let load = |address: String, from: &str, depth, limit| run::UpstreamLoad {
        behind: run::Upstream {
            address,
            from: from.into(),
            depth,
            processes: vec!["<i>a-process-with-a-long-name</i>:812".into(), "python3:813".into()],
            ..run::Upstream::default()
        },
        connections: Some(1_048_576.0),
        cpu_used: Some(0.98),
        cpu_allowed: Some(2.0),
        busiest_thread: Some(0.98),
        limit,
        ..run::UpstreamLoad::default()
    };
    let long = format!("unix:/{}", "a-directory/".repeat(30));
    let mut run = find();
    run.findings.behind = vec![
        load("127.0.0.1:8001".into(), "", 1, Some(run::UpstreamLimit::Thread)),
        load(long.clone(), "127.0.0.1:8001", 2, None),
        load("[2001:db8:1111:2222:3333:4444:5555:6666]:65535".into(), &long, 3, None),
    ];
    run.findings.bottleneck.waits_for =
        Some(run::WaitsFor { address: "127.0.0.1:8001".into(), ..run::WaitsFor::default() });
    let elasticity = run::Elasticity {
        lever: "behind-cpu".into(),
        estimate: run::Estimate::around(0.97, 0.05),
        ..run::Elasticity::default()
    };
    run.findings.proof = Some(run::Proof { elasticities: vec![elasticity], ..run::Proof::default() });
    run
}

/// Returns a run with hostile names, impossible figures and empty trials.
pub fn awkward() -> Run {
    let hostile = "<script>alert('x')</script> & \"quotes\" | pipe \u{1b}[31m\n=cmd()".to_string();
    let long = "a-very-long-name-without-any-space-".repeat(8);
    let odd = Trial {
        label: hostile.clone(),
        rates: Rates {
            offered_rate: f64::INFINITY,
            sent_rate: f64::NAN,
            completed_rate: 1e300,
            goodput: -1.0,
            concurrency: f64::NAN,
        },
        latency_us: Summary { count: 3, mean: f64::NAN, p99: f64::INFINITY, ..Summary::default() },
        histograms: BTreeMap::from([("response".into(), Hist::new())]),
        notes: vec![hostile.clone()],
        server: Some(with_stack(&hostile)),
        ..Trial::default()
    };
    let empty = Trial { label: long.clone(), kind: TrialKind::Sweep, ..Trial::default() };
    decided(Run {
        format: FORMAT.into(),
        version: "0.1.0".into(),
        command: hostile.clone(),
        elapsed_s: f64::NAN,
        trials: vec![
            odd,
            empty.clone(),
            Trial { kind: TrialKind::Search, ..empty.clone() },
            Trial { kind: TrialKind::Overload, ..empty },
        ],
        findings: Findings {
            bottleneck: Bottleneck {
                sentence: long,
                evidence: vec![Evidence {
                    text: hostile.clone(),
                    value: Some(f64::NAN),
                    limit: Some(0.0),
                    ..Evidence::default()
                }],
                ..Bottleneck::default()
            },
            checks: vec![Check { name: hostile, value: f64::NAN, limit: 1.0, pass: false, relation: Relation::AtMost }],
            knee: Some(Knee { concurrency: f64::INFINITY, r1_us: 0.0, x_max: f64::NAN, reached_at: None }),
            ..Findings::default()
        },
        interrupted: true,
        ..Run::default()
    })
}
