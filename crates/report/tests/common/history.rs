//! A series of forty runs, built by hand. The CPU time per request grows by 5 % at run 33, counted from 0.

use run::{
    FigureUnit, History, HistoryChange, HistoryFigure, HistoryRun, HistorySeries, HistoryValue, SkippedRun, SmallSeries,
};

/// Returns a history with a series of example runs. `label` is the label of the first run after the change of the
/// figure.
pub fn history(label: &str) -> History {
    let runs = (0..40).map(|at| HistoryRun {
        run: format!("runs/{at}"),
        label: if at == 33 { label.into() } else { format!("commit-{at}") },
        started: format!("2026-11-{:02}T03:00:00Z", 1 + at / 2),
    });
    let cpu = |at: u32| Some(if at < 33 { 100.0 } else { 105.0 } + f64::from(at % 3));
    let values = |of: &dyn Fn(u32) -> Option<f64>, half: f64| {
        let value =
            |value: f64| HistoryValue { value, low: Some(value * (1.0 - half)), high: Some(value * (1.0 + half)) };
        (0..40).map(|at| of(at).map(value)).collect()
    };
    let figure = |name: &str, unit, values| HistoryFigure { figure: name.into(), unit, more_is_better: false, values };
    let change = HistoryChange {
        figure: "server CPU per request".into(),
        unit: FigureUnit::Micros,
        at: 33,
        label: label.into(),
        run: "runs/33".into(),
        started: "2026-11-17T03:00:00Z".into(),
        before: 101.0,
        after: 106.0,
        change: 0.0495,
        low: 0.041,
        high: 0.058,
        p: 2e-9,
        worse: true,
        new: true,
        fails: true,
        ..HistoryChange::default()
    };
    let lost = HistoryChange {
        figure: "failed share".into(),
        unit: FigureUnit::Share,
        change: 0.02,
        low: 0.015,
        high: 0.025,
        undone: true,
        fails: false,
        ..change.clone()
    };
    let series = HistorySeries {
        name: format!("load http://127.0.0.1:8080/{label}, 16 connections"),
        runs: runs.collect(),
        figures: vec![
            figure("server CPU per request", FigureUnit::Micros, values(&cpu, 0.01)),
            figure("p99", FigureUnit::Micros, values(&|at| (at > 3).then_some(900.0), 0.0)),
            figure("failed share", FigureUnit::Share, values(&|at| Some(f64::from(at % 5) * 1e-4), 0.0)),
        ],
    };
    History {
        directory: format!("runs{label}"),
        fails: true,
        recent: 10,
        threshold: 0.005,
        changes: vec![change, lost],
        series: vec![series],
        small: vec![SmallSeries { name: format!("find {label}"), runs: 2 }],
        skipped: vec![SkippedRun { file: format!("runs/{label}/run.json"), reason: "not a regular file".into() }],
        notes: vec![format!("measured by loadline {label}")],
    }
}
