//! Tests of the report about the undecided figures of a comparison.

#![allow(clippy::unwrap_used)]

use loadline_report::{Style, render_comparison};
use run::{ComparedFigure, Comparison, ComparisonOutcome, ComparisonResult, Estimate, FigureRole};

fn figure(name: &str, (ratio, low, high): (f64, f64, f64), word: ComparisonResult) -> ComparedFigure {
    ComparedFigure {
        figure: name.into(),
        role: FigureRole::Required,
        old: 400.0,
        new: 400.0 * ratio,
        ratio,
        low: Some(low),
        high: Some(high),
        word,
        windows: (20, 20),
        ..ComparedFigure::default()
    }
}

fn open(name: &str, more: f64, resolution: Option<f64>) -> ComparedFigure {
    ComparedFigure { more: Some(more), resolution, ..figure(name, (1.01, 0.95, 1.07), ComparisonResult::NotEnough) }
}

fn comparison(open_figure: &str) -> Comparison {
    let failed = ComparedFigure {
        old: 0.0,
        new: 0.0,
        open: [0, 34],
        difference: Some(Estimate { value: 0.0, low: -0.0004, high: 0.0004 }),
        ..figure("failed share", (1.0, 1.0, 1.0), ComparisonResult::Same)
    };
    let cost = ComparedFigure {
        beside: true,
        role: FigureRole::Listed,
        title: "context switches of the host".into(),
        ..figure("context_switches", (1.3, 1.2, 1.4), ComparisonResult::Slower)
    };
    Comparison {
        old: "old".into(),
        new: "new".into(),
        comparisons: vec![open("p50", 3.4, None), open("completed rate", 1530.0, Some(0.124)), failed, cost],
        open: vec![open_figure.into()],
        threshold: 0.03,
        measured_s: 60.0,
        ..Comparison::default()
    }
}

fn text(open_figure: &str) -> String {
    let c = comparison(open_figure);
    assert_eq!(c.outcome, ComparisonOutcome::Undecided);
    render_comparison("text", &c, &Style { width: 300, color: false, ascii: false }).unwrap()
}

/// The advice must contain a measuring time, or the smallest change that an hour would show. The report must name costs
/// in words. If some requests had no answer, the report must show the share of failed requests as a lower bound.
#[test]
fn an_undecided_figure_says_which_time_decides_it_or_what_cannot_be_told() {
    let soon = text("p50");
    let wanted = ["undecided  4 min", "≥0 %", "34 of the new server", "context switches of the host"];
    assert!(wanted.iter().all(|part| soon.contains(part)) && !soon.contains("context_switches"), "{soon}");
    let never = text("completed rate").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        never
            .contains("an hour of measuring on this machine would not show a difference below 12.4 % (completed rate)"),
        "{never}"
    );
    assert!(!never.contains("1,530"), "{never}");
}
