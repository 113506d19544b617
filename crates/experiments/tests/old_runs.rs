//! Checks that stored runs of experiments still give the same tables and charts. The expected tables and charts agree
//! with the output of the loadline versions that wrote the runs.

#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::path::Path;

use loadline_experiments::present;
use run::{ChartSeries, ExperimentReport, load_run};

fn shown(name: &str) -> ExperimentReport {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../run/tests/fixtures").join(name);
    let mut run = load_run(&file).unwrap();
    present(&mut run);
    run.findings.experiment.unwrap()
}

/// Formats tables and charts as text, with one line for each table row and each curve.
fn lines(shown: &ExperimentReport) -> String {
    let mut out = String::new();
    for table in &shown.tables {
        let heads: Vec<&str> = table.columns.iter().map(|c| c.name.as_str()).collect();
        writeln!(out, "{}\n{}", table.caption, heads.join(" | ")).unwrap();
        for row in &table.rows {
            let cells: Vec<&str> = row.iter().map(|cell| cell.as_deref().unwrap_or("–")).collect();
            writeln!(out, "{}", cells.join(" | ")).unwrap();
        }
    }
    for chart in &shown.charts {
        writeln!(out, "{}: {} over {}", chart.title, chart.y.label, chart.x.label).unwrap();
        chart.series.iter().chain(&chart.published).for_each(|series| out += &curve(series));
    }
    out
}

fn curve(series: &ChartSeries) -> String {
    let points: Vec<String> = series.points().map(|(x, y)| format!("({x}, {y:.4})")).collect();
    format!("  {:?}: {}\n", series.name, points.join(" "))
}

#[test]
fn stored_runs_of_experiments_keep_their_tables_and_charts() {
    for name in ["adding-clients.json", "event-api.json", "io-models.json", "overload.json"] {
        insta::assert_snapshot!(name, lines(&shown(name)));
    }
}
