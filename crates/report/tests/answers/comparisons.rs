//! Tests of the report that `loadline compare` prints.

use loadline_report::{Style, brief_comparison, render_comparison};
use run::{
    ComparedCurves, ComparedFigure, Comparison, ComparisonOutcome, ComparisonResult, CurvePoint, FigureRole,
    NeededData, SideDeath, WindowOrder,
};

use crate::{HOSTILE, WIDE, all_in, charts, estimate, harmless, shown};

fn figure(name: &str, (ratio, low, high): (f64, f64, f64), word: ComparisonResult) -> ComparedFigure {
    ComparedFigure {
        figure: name.into(),
        role: FigureRole::Deciding,
        old: 400.0,
        new: 400.0 * ratio,
        ratio,
        low: Some(low),
        high: Some(high),
        p: Some(2e-5),
        word,
        windows: (20, 20),
        ..ComparedFigure::default()
    }
}

fn both(at: f64, old: f64, new: f64) -> CurvePoint {
    CurvePoint { at, old, new }
}

/// Returns a comparison in which the new server takes 5 % more CPU time per request. The comparison does not decide
/// whether the rates of the two servers differ.
fn slower() -> Comparison {
    let open = ComparedFigure { more: Some(3.2), ..figure("rate", (0.99, 0.95, 1.04), ComparisonResult::NotEnough) };
    let beside = ComparedFigure {
        beside: true,
        role: FigureRole::Listed,
        ..figure("listed", (1.0, 0.9, 1.1), ComparisonResult::Same)
    };
    let cpu = figure("CPU per request", (1.051, 1.043, 1.062), ComparisonResult::Slower);
    Comparison {
        old: HOSTILE.into(),
        new: "new".into(),
        differences: vec![format!("kernel {HOSTILE}")],
        comparisons: vec![cpu, open, beside],
        curves: ComparedCurves {
            rates: vec![both(1.0, 2500.0, 2400.0), both(8.0, 9000.0, 8600.0)],
            response_us: vec![both(0.5, 100.0, 105.0), both(0.99, 900.0, 940.0)],
        },
        turns: Some(WindowOrder { seed: 7, new_first: vec![true, false, false, true], at_once: false }),
        threshold: 0.03,
        outcome: ComparisonOutcome::Regressed,
        verdict: ComparisonResult::Slower,
        decided_by: Some("CPU per request".into()),
        regression: true,
        ..Comparison::default()
    }
}

/// The report must describe a missing capacity in words, and a difference between two shares of failures in percentage
/// points. For an undecided figure, the report must say how many more runs would decide it. The text must not contain
/// an infinite change or NaN.
#[test]
fn failures_a_missing_capacity_and_undecided_figures_are_described() {
    let said = Some("the new server held the objective at no tried rate (p99 was 30 ms)".to_string());
    let gone = ComparedFigure {
        said,
        new: f64::NAN,
        ratio: f64::NAN,
        low: None,
        high: None,
        ..figure("capacity", (1.0, 1.0, 1.0), ComparisonResult::Slower)
    };
    let failed = ComparedFigure {
        old: 0.0,
        new: 0.1,
        ratio: f64::INFINITY,
        low: None,
        high: None,
        difference: Some(estimate(0.1, 0.094, 0.107)),
        ..figure("failed share", (1.0, 1.0, 1.0), ComparisonResult::Slower)
    };
    let runs = ComparedFigure {
        more: Some(3.0),
        more_of: Some(NeededData::Runs),
        ..figure("memory", (2.0, 0.9, 3.0), ComparisonResult::NotEnough)
    };
    let comparison = |by: &str| Comparison {
        comparisons: vec![gone.clone(), failed.clone(), runs.clone()],
        notes: vec!["the budget ended after 3 pairs of windows".into()],
        decided_by: Some(by.into()),
        ..slower()
    };
    for (by, title) in
        [("failed share", "failed share 10 points higher"), ("capacity", "held the objective at no tried rate")]
    {
        let text = render_comparison("text", &comparison(by), &WIDE).unwrap();
        let wanted = ["+10 points (+9.4 to +10.7)", "×3 runs", "more time will not help", "after 3 pairs"];
        all_in(&text, &wanted, "text");
        assert!(text.lines().take(3).any(|line| line.contains(title)), "{title}: {text}");
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }
    let back: Comparison = serde_json::from_str(&serde_json::to_string(&comparison("capacity")).unwrap()).unwrap();
    assert!(back.comparisons[0].ratio.is_nan() && back.comparisons[1].difference == failed.difference);
}

#[test]
fn a_comparison_shows_its_verdict_and_the_interval_of_each_figure() {
    for form in ["text", "markdown", "html"] {
        let made = render_comparison(form, &slower(), &WIDE).unwrap();
        harmless(form, &made);
        let text = if form == "html" { shown(&made) } else { made.replace('\\', "") };
        let verdict = ["Regression: CPU per request 5.1 % higher", "decided by CPU per request: +5.1 % (+4.3 to +6.2)"];
        all_in(&text, &verdict, form);
        all_in(&text, &["-1.0 % (-5.0 to +4.0)", "×4 the time", "p-value", "0.0001", "Differs: kernel"], form);
        all_in(&text, &["4 pairs of windows, in the order of", "seed 7"], form);
        assert!(!text.contains("listed"), "{form}: a cost that does not differ is not shown");
    }
}

/// The brief form has one sentence, the table of the deciding figures, the smallest change that the comparison would
/// show, and at most two warnings. The sentence of the brief form names the deciding figure.
#[test]
fn a_brief_comparison_is_one_sentence_and_the_figures_that_decide() {
    let listed =
        ComparedFigure { role: FigureRole::Listed, ..figure("memory", (1.0, 0.9, 1.1), ComparisonResult::Same) };
    let notes = vec!["the first note".into(), "the second note".into()];
    let comparison = Comparison { comparisons: [slower().comparisons, vec![listed]].concat(), notes, ..slower() };
    let text = brief_comparison(&comparison, &WIDE);
    harmless("text", &text);
    assert_eq!(text.lines().next().unwrap(), "Regression: CPU per request 5.1 % higher");
    all_in(&text, &["+5.1 % (+4.3 to +6.2)", "rate", "undecided", "! Differs: kernel", "! The first note"], "text");
    all_in(&text, &["1 more warning with -v", "1 more figure with -v"], "text");
    assert!(!text.contains("memory") && !text.contains("second note") && !text.contains("decided by"), "{text}");
    let died = SideDeath { new: true, text: "the server ended at 0.9 s".into() };
    let text = brief_comparison(&Comparison { deaths: vec![died], ..comparison }, &WIDE);
    assert!(text.starts_with("Regression: the new server ended at 0.9 s\n"), "{text}");
}

/// In a terminal of 80 columns, each row must fit on one line. The change and the ends of its interval must have the
/// same unit.
#[test]
fn a_row_fits_into_80_columns_and_a_change_has_one_unit() {
    let cpu = figure("server CPU per request", (1.62, 0.74, 2.4), ComparisonResult::NotEnough);
    let failed = ComparedFigure {
        old: 0.0,
        new: 0.0,
        difference: Some(estimate(0.0, -0.000_699, 0.000_829)),
        ..figure("failed share", (1.0, 1.0, 1.0), ComparisonResult::Same)
    };
    let cpu = ComparedFigure { unit: run::FigureUnit::Micros, more: Some(3.0), ..cpu };
    let comparison = Comparison { comparisons: vec![cpu, failed], measured_s: 19.0, ..slower() };
    let narrow = Style { width: 80, ..WIDE };
    for text in [brief_comparison(&comparison, &narrow), render_comparison("text", &comparison, &narrow).unwrap()] {
        for row in [
            "server CPU per request  400 µs  648 µs        ×1.62 (×0.74 to ×2.4)  undecided",
            "+0 points (-0.07 to +0.083)  same",
        ] {
            assert!(text.lines().any(|line| line.trim_end().ends_with(row)), "{row}: {text}");
        }
    }
    assert!(render_comparison("text", &comparison, &WIDE).unwrap().contains("57 s"));
}

/// The title must name the conclusion and the figures on which it is based. A huge change must be written as a factor.
/// If the new server's process ended early, the title must begin with this fact.
#[test]
fn the_title_names_the_conclusion_and_the_figures_behind_it() {
    let with = |outcome, verdict, comparisons, open: &[&str]| Comparison {
        outcome,
        verdict,
        comparisons,
        open: open.iter().map(|name| (*name).to_string()).collect(),
        ..slower()
    };
    let same = figure("completed rate", (1.001, 0.99, 1.02), ComparisonResult::Same);
    let huge = figure("p99", (6415.5, 120.0, 9e5), ComparisonResult::Slower);
    let open = figure("p50", (1.02, 0.9, 1.1), ComparisonResult::NotEnough);
    let cases = [
        (
            with(ComparisonOutcome::Regressed, ComparisonResult::Slower, vec![huge, same.clone()], &[]),
            "Regression: p99 6,420 times as high; the same within 3 %: completed rate",
        ),
        (
            with(ComparisonOutcome::Undecided, ComparisonResult::NotEnough, vec![same.clone(), open], &["p50"]),
            "Undecided: p50; the same within 3 %: completed rate",
        ),
        (
            with(ComparisonOutcome::Passed, ComparisonResult::Same, vec![same], &[]),
            "No difference: the same within 3 %: completed rate",
        ),
        (with(ComparisonOutcome::Undecided, ComparisonResult::NotEnough, vec![], &[]), "Undecided: too little data"),
    ];
    for (comparison, title) in cases {
        let text = render_comparison("text", &comparison, &WIDE).unwrap();
        assert!(text.starts_with(title), "{title}: {text}");
        assert!(!text.contains("641452"), "{text}");
    }
    let apart = with(ComparisonOutcome::Undecided, ComparisonResult::NotEnough, vec![], &[]);
    let text =
        render_comparison("text", &Comparison { no_common_load: true, decided_by: None, ..apart }, &WIDE).unwrap();
    assert!(text.starts_with("Undecided: the two sides have no load in common"), "{text}");
    assert!(text.contains("same load (--rate, --connections)") && !text.contains("easure longer"), "{text}");
    let died = SideDeath { new: true, text: "the server ended at 0.9 s (app:12)".into() };
    let text = render_comparison("text", &Comparison { deaths: vec![died], ..slower() }, &WIDE).unwrap();
    assert!(text.starts_with("Regression: the new server ended at 0.9 s (app:12)"), "{text}");
}

#[test]
fn a_comparison_draws_each_ratio_with_its_interval_and_both_curves() {
    let html = render_comparison("html", &slower(), &WIDE).unwrap();
    all_in(&html, &["<title>CPU per request 1.05 (1.04 to 1.06)</title>"], "html");
    all_in(&html, &["New over old", "Throughput against clients", "Response time at every percentile"], "html");
    assert_eq!(charts(&html), 3, "intervals, throughput, response times");
    let bare = Comparison { curves: ComparedCurves::default(), ..slower() };
    assert_eq!(charts(&render_comparison("html", &bare, &WIDE).unwrap()), 1, "no curve without points");
}

#[test]
fn a_comparison_states_its_smallest_change_and_the_data_for_one_percent() {
    let with = |one_percent_s: Option<f64>, one_percent_runs: Option<f64>| Comparison {
        smallest_change: Some(0.0213),
        smallest_change_of: Some("server CPU per request".into()),
        one_percent_s,
        one_percent_runs,
        decided_after_s: Some(15.2),
        outcome: ComparisonOutcome::Passed,
        verdict: ComparisonResult::Same,
        regression: false,
        ..slower()
    };
    let flat = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = |c: &Comparison| flat(brief_comparison(c, &WIDE));
    assert!(shown(&with(Some(250.0), None)).contains("2.13 % of server CPU per request; 1 % needs about 5 min."));
    assert!(shown(&with(None, Some(6.0))).contains("1 % needs about 6 runs of each side."));
    // Every comparison states its smallest change, whatever its result is.
    for (outcome, verdict) in [
        (ComparisonOutcome::Regressed, ComparisonResult::Slower),
        (ComparisonOutcome::Undecided, ComparisonResult::NotEnough),
        (ComparisonOutcome::Passed, ComparisonResult::Faster),
    ] {
        let other = Comparison { outcome, verdict, ..with(Some(250.0), None) };
        assert!(shown(&other).contains("2.13 % of server CPU per request; 1 % needs about 5 min."), "{outcome:?}");
    }
    let unknown = Comparison { smallest_change: None, ..with(None, None) };
    assert!(shown(&unknown).contains("is not known: it has too few windows or runs."), "{}", shown(&unknown));
    let whole = flat(render_comparison("text", &with(Some(9000.0), None), &WIDE).unwrap());
    assert!(whole.contains("Decided after 16 s.") && whole.contains("1 % needs about 3 h."), "{whole}");
}
