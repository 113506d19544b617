//! A run of an experiment with tables and charts.

use run::*;

use super::trials::filled;
use super::{decided, find};

/// Returns a run of an experiment with one to five clients on a slow network. The results of this run resemble the
/// published results.
pub fn experiment() -> Run {
    let rates = [198.2, 371.0, 468.9, 509.3, 513.8];
    let step = |(i, x): (usize, &f64)| {
        let n = i as f64 + 1.0;
        let mut t = filled(*x, n / x * 1e6, 0.1);
        t.label = if i == 0 { "1 client".into() } else { format!("{n} clients") };
        t.kind = TrialKind::Experiment;
        t.key.clients = Some(n as u32);
        t.rates.concurrency = n;
        t
    };
    let check = |name: &str, value: f64, limit: f64, pass: bool, relation: Relation| Check {
        name: name.into(),
        value,
        limit,
        pass,
        relation,
    };
    let mut run = find();
    run.findings.experiment = Some(shown(&rates));
    run.command = "loadline lab sample".into();
    run.plan.command = "lab sample".into();
    run.trials = rates.iter().enumerate().map(step).collect();
    run.findings.capacity = None;
    run.findings.fits.clear();
    run.findings.bottleneck.id = "network-medium".into();
    run.findings.knee = Some(Knee { concurrency: 2.63, r1_us: 5113.8, x_max: 514.3, reached_at: Some(4.0) });
    run.findings.conclusions = vec![
        "Every added client waits for the wire: neither host is busy, and the response time grows by 1/Xmax a client."
            .into(),
    ];
    run.findings.checks = vec![
        check("wire use at five clients", 0.934, 0.9, true, Relation::AtLeast),
        check("response time follows N/X, largest deviation", 0.031, 0.02, false, Relation::AtMost),
    ];
    decided(run)
}

/// Returns a table with the growth from row to row, a chart with published points, and a chart with two lines and a
/// marked value.
fn shown(rates: &[f64; 5]) -> ExperimentReport {
    let row = |(i, x): (usize, &f64)| {
        let growth =
            i.checked_sub(1).map_or(String::new(), |last| format!("+{:.1} %", (x / rates[last] - 1.0) * 100.0));
        vec![Some(format!("{} clients", i + 1)), Some(format!("{x:.0}")), Some(growth), None]
    };
    let table = ResultTable {
        caption: "Each step, and what it changed.".into(),
        columns: vec![
            ResultColumn::words("trial", 0),
            ResultColumn::numbers("reads/s", 1),
            ResultColumn::numbers("growth", 1),
            ResultColumn::numbers("wire use", 1),
        ],
        rows: rates.iter().enumerate().map(row).collect(),
        absent: "not measured in this trial".into(),
        full_only: false,
    };
    let points = || rates.iter().zip(1..).map(|(x, n)| (f64::from(n), *x));
    let axis = |label: &str| ChartAxis { label: label.into(), ..ChartAxis::default() };
    let one = Chart {
        title: "Each client brings less than the one before".into(),
        caption: "Reads of 2048 bytes per second; hollow: the source's.".into(),
        x: axis("clients"),
        y: axis("reads per second"),
        series: vec![ChartSeries::new("reads", points())],
        published: vec![ChartSeries::new("", [(1.0, 195.55), (2.5, 364.41), (9.0, 514.0)])],
        levels: Vec::new(),
    };
    let two = Chart {
        title: "Response time on two back ends".into(),
        y: ChartAxis { label: "response time".into(), unit: FigureUnit::Micros, logarithmic: true },
        series: ["epoll", "select"].map(|name| ChartSeries::new(name, points().map(|(n, x)| (n, n / x * 1e6)))).into(),
        published: vec![ChartSeries::new("select", [(2.0, 5488.3)])],
        levels: vec![ChartLevel { y: 7000.0, label: "published: 7 ms".into() }],
        ..one.clone()
    };
    ExperimentReport { tables: vec![table], charts: vec![one, two], ..ExperimentReport::default() }
}
