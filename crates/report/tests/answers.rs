//! Answers of `compare`, `what-if` and `history`, in the forms that people read. The forms show intervals and the
//! verdict, and hostile names stay text.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use loadline_report::{
    Style, brief_comparison, render_arena, render_comparison, render_history, render_size, render_what_if,
};
use run::{
    ArenaCapacity, ArenaCell, ArenaNoise, ArenaProfileResult, ArenaRefusalKind, ArenaResult, Change, ComparedCurves,
    ComparedFigure, Comparison, ComparisonOutcome, ComparisonResult, CurvePoint, Estimate, FigureRole, LoadPoint,
    NeededData, PodAmounts, PodResources, Resource, SideDeath, SizeGoal, SizeResult, SizeSetting, SizeStep, WhatIf,
    WindowOrder,
};

/// A hostile name that tries to run as a script and to reverse the following text.
const HOSTILE: &str = "old<script>alert('x')</script>|\u{1b}[31m\u{202e}";
/// Style wide enough for a table without line breaks within cells.
const WIDE: Style = Style { width: 300, color: false, ascii: false };

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

/// A comparison with a new server that takes 5 % more CPU time per request. The rates are not distinguishable.
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

fn estimate(value: f64, low: f64, high: f64) -> Estimate {
    Estimate { value, low, high }
}

/// A `what-if` for four CPUs instead of two, with 64 users.
fn doubled() -> WhatIf {
    let resource = |id: &str, device: &str, (limit, low, high): (f64, f64, f64), utilization| {
        let (id, device) = (id.to_string(), device.to_string());
        Resource { id, device, limit, low, high, utilization }
    };
    let point = |users: u32, rate: f64| LoadPoint {
        users,
        rate,
        rate_low: 0.9 * rate,
        rate_high: 1.1 * rate,
        response_us: 5000.0,
        response_low_us: 4600.0,
        response_high_us: 5500.0,
        ..LoadPoint::default()
    };
    let resources = vec![
        resource("server-disk", HOSTILE, (7300.0, 7100.0, 7550.0), 0.97),
        resource("server-cpu", "the server's CPUs", (9900.0, 9700.0, 10_200.0), 0.72),
    ];
    WhatIf {
        change: Change { server_cpus: Some(4.0), ..Change::default() },
        users: 64,
        now: 4900.0,
        rate: estimate(7150.0, 6940.0, 7410.0),
        response_us: estimate(8950.0, 8640.0, 9220.0),
        capacity: estimate(7010.0, 6800.0, 7260.0),
        bottleneck: resources.first().cloned(),
        resources,
        curve: vec![point(1, 900.0), point(64, 7150.0)],
        assumptions: vec![format!("a request of {HOSTILE} costs what it costs today")],
    }
}

/// Returns the text of a page without tags, as a browser shows it.
fn shown(html: &str) -> String {
    let body = html.split_once("<body").unwrap().1;
    let text: Vec<&str> = body.split('<').filter_map(|part| Some(part.split_once('>')?.1)).collect();
    text.join(" ").replace('\u{a0}', " ")
}

fn charts(html: &str) -> usize {
    html.matches("<figure class=\"chart").count()
}

fn all_in(text: &str, wanted: &[&str], form: &str) {
    for one in wanted {
        assert!(text.contains(one), "{one:?} is not in the {form}:\n{text}");
    }
}

/// Checks that names contain no tag, escape sequence or text direction.
fn harmless(form: &str, text: &str) {
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{form} lets an escape through");
    if form == "html" {
        assert!(text.matches("<script").count() <= 1 && text.contains("old&lt;script&gt;"), "{form}: a name is a tag");
        assert_eq!(text.matches("<svg").count(), text.matches("</svg>").count());
    }
}

/// Failures, a missing capacity, and undecided figures are described in words. None of them may appear as a speed.
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
        let wanted = ["+10 (+9.4 to +10.7) points", "undecided (×3 runs)", "more time will not help", "after 3 pairs"];
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
        let verdict =
            ["Regression: CPU per request 5.1 % higher", "decided by CPU per request: +5.1 % (+4.3 % to +6.2 %)"];
        all_in(&text, &verdict, form);
        all_in(&text, &["-1.0 % (-5.0 % to +4.0 %)", "undecided (×4 the time)", "0.0001", "Differs: kernel"], form);
        all_in(&text, &["4 pairs of windows, in the order of", "seed 7"], form);
        assert!(!text.contains("listed"), "{form}: a cost that does not differ is not shown");
    }
}

/// The brief form has one sentence with the deciding figure, the deciding figures, and at most two warnings.
#[test]
fn a_brief_comparison_is_one_sentence_and_the_figures_that_decide() {
    let listed =
        ComparedFigure { role: FigureRole::Listed, ..figure("memory", (1.0, 0.9, 1.1), ComparisonResult::Same) };
    let notes = vec!["the first note".into(), "the second note".into()];
    let comparison = Comparison { comparisons: [slower().comparisons, vec![listed]].concat(), notes, ..slower() };
    let text = brief_comparison(&comparison, &WIDE);
    harmless("text", &text);
    assert_eq!(text.lines().next().unwrap(), "Regression: CPU per request 5.1 % higher");
    all_in(&text, &["+5.1 % (+4.3 % to +6.2 %)", "rate", "undecided", "! Differs: kernel", "! The first note"], "text");
    all_in(&text, &["1 more warning with -v", "1 more figure with -v"], "text");
    assert!(!text.contains("memory") && !text.contains("second note") && !text.contains("decided by"), "{text}");
    let died = SideDeath { new: true, text: "the server ended at 0.9 s".into() };
    let text = brief_comparison(&Comparison { deaths: vec![died], ..comparison }, &WIDE);
    assert!(text.starts_with("Regression: the new server ended at 0.9 s\n"), "{text}");
}

/// The title names the conclusion and its figures. A huge change is a factor, and a server that died comes first.
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
fn a_what_if_shows_each_prediction_with_its_interval() {
    for form in ["text", "markdown", "html"] {
        let made = render_what_if(form, &doubled(), HOSTILE, &WIDE).unwrap();
        harmless(form, &made);
        let text = if form == "html" { shown(&made) } else { made.replace('\\', "") };
        all_in(&text, &["7,150 requests/s with 64 users, limited by server-disk"], form);
        all_in(&text, &["6,940/s to 7,410/s; now 4,900/s", "8.64 ms to 9.22 ms on average"], form);
        all_in(&text, &["7,010 requests/s", "6,800/s to 7,260/s", "7,100/s to 7,550/s", "9,700/s to 10,200/s"], form);
        all_in(&text, &["full at 7,300/s", "Assumptions", "costs what it costs today"], form);
    }
}

#[test]
fn a_what_if_draws_its_curves_between_the_ends_of_their_intervals() {
    let html = render_what_if("html", &doubled(), "r", &WIDE).unwrap();
    all_in(&html, &["Throughput against users", "Response time against users", "server-disk full"], "html");
    assert_eq!(charts(&html), 2);
    assert!(!html.contains("<h3></h3>"), "a list without a title has no heading of nothing");
    let ends = "predicted: 900 at 1 to 7,150 at 64, highest 7,150 at 64. lower end: 810 at 1 to 6,440 at 64";
    all_in(&html, &[ends, "upper end: 990 at 1 to 7,870 at 64", "lower end: 4.6 ms at 1", "upper end: 5.5 ms"], "html");
}

/// Requests arrive faster than they are served. The response time grows without end, and no number is shown for it.
#[test]
fn a_what_if_of_too_many_arrivals_has_no_response_time() {
    let without_end = f64::INFINITY;
    let answer = WhatIf {
        change: Change { rate: Some(9000.0), ..Change::default() },
        response_us: estimate(without_end, without_end, without_end),
        ..doubled()
    };
    let html = render_what_if("html", &answer, "r", &WIDE).unwrap();
    let text = shown(&html);
    all_in(&text, &["9,000 requests/s are too many", "grows without limit"], "html");
    assert!(!html.contains("NaN") && !text.contains("inf"), "{text}");
}

/// A comparison of three servers: two share the first group, and the last one has no rank.
fn arena() -> ArenaResult {
    let estimate = |value: f64| Some(Estimate { value, low: 0.98 * value, high: 1.02 * value });
    let cell = |entry: &str, cpu: f64| ArenaCell {
        entry: entry.into(),
        profile: "hello".into(),
        group: Some(1),
        capacity: Some(ArenaCapacity { rate: 1e6 / cpu, low: 0.9e6 / cpu, high: 1.1e6 / cpu }),
        cpu_us_per_request: estimate(cpu),
        p99_us: estimate(20.0 * cpu),
        rss_bytes: estimate(1e7),
        bottleneck: Some("server-cpu".into()),
        run: Some(format!("runs/{entry}--hello")),
        ..ArenaCell::default()
    };
    let refused = ArenaCell {
        group: None,
        refused: Some(format!("its command ended: {HOSTILE}")),
        refused_kind: Some(ArenaRefusalKind::Failed),
        run: Some("javascript:alert(1)".into()),
        ..cell("node", 50.0)
    };
    let at_least = ArenaCell {
        group: None,
        refused: Some("no load overloaded it".into()),
        refused_kind: Some(ArenaRefusalKind::NotOverloaded),
        capacity: Some(ArenaCapacity { rate: 40_000.0, low: 39_000.0, high: f64::NAN }),
        ..cell("idle", 60.0)
    };
    let profile = ArenaProfileResult {
        profile: "hello".into(),
        load: "http /, up to 64 connections".into(),
        common_rate: Some(5000.0),
        rounds: 9,
        groups: 1,
    };
    let noise = ArenaNoise {
        profile: "hello".into(),
        entry: "nginx".into(),
        ratio: Some(Estimate { value: 1.004, low: 0.99, high: 1.02 }),
        tied: true,
        pairs: 9,
    };
    ArenaResult {
        file: "arena.toml".into(),
        seed: 7,
        profiles: vec![profile],
        cells: vec![cell("nginx", 20.0), cell("epoll", 20.2), refused, at_least],
        noise: vec![noise],
        ..ArenaResult::default()
    }
}

#[test]
fn an_arena_names_the_best_and_says_why_others_have_no_rank() {
    let text = render_arena("text", &arena(), &Style::default()).unwrap();
    for words in [
        "hello: nginx and epoll share the first group with 20 µs of CPU per request",
        "in 9 rounds of turns",
        "20 µs (19.6 µs to 20.4 µs)",
        "50,000/s",
        "a second start of nginx took +0.4 %",
        "No rank",
        "its command ended",
        "≥ 40,000/s",
        "seed 7",
    ] {
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(words), "{words}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    let nobody = render_arena("text", &ArenaResult::default(), &Style::default()).unwrap();
    assert!(nobody.contains("No server got a rank"), "{nobody}");
}

#[test]
fn the_page_of_an_arena_can_be_sorted_and_leads_to_its_reports() {
    let page = render_arena("html", &arena(), &WIDE).unwrap();
    assert!(page.contains("<table class=\"sort\">") && page.contains("data-sort=\"20\""), "{page}");
    assert!(page.contains("<a href=\"runs/nginx--hello/report.html\">nginx</a>"), "{page}");
    assert!(!page.contains("javascript:") && !page.contains("<script>alert"), "{page}");
    assert!(page.contains("99th percentile"), "the chart is there");
    let json: serde_json::Value = serde_json::from_str(&render_arena("json", &arena(), &WIDE).unwrap()).unwrap();
    assert_eq!((&json["cells"][0]["group"], &json["cells"][2]["group"]), (&1.into(), &serde_json::Value::Null));
    assert_eq!(json["cells"][2]["refused_kind"], "failed");
    assert_eq!(json["cells"][3]["refused_kind"], "not-overloaded");
    assert_eq!(json["cells"][3]["capacity"]["high"], serde_json::Value::Null);
    let markdown = render_arena("markdown", &arena(), &WIDE).unwrap();
    assert!(markdown.contains("| nginx | 1 |"), "{markdown}");
}

/// Two quotas, of which the second is enough, and a server that did not start.
fn sizes() -> SizeResult {
    let step = |quota: f64, rate: f64| SizeStep {
        setting: SizeSetting { quota: Some(quota), workers: Some(1), ..SizeSetting::default() },
        capacity: Some(ArenaCapacity { rate, low: 0.95 * rate, high: 1.05 * rate }),
        p99_us: Some(90_000.0),
        throttled_periods: Some(0.9),
        cost_cpus: Some(quota),
        bottleneck: Some("server-cpu-quota".into()),
        run: Some("runs/1".into()),
        ..SizeStep::default()
    };
    let enough = SizeStep {
        predicted: Some(Estimate { value: 490.0, low: 470.0, high: 510.0 }),
        meets: true,
        ..step(0.5, 500.0)
    };
    let failed = SizeStep {
        setting: SizeSetting { quota: Some(1.0), workers: Some(2), ..SizeSetting::default() },
        limited: Some(HOSTILE.into()),
        ..SizeStep::default()
    };
    let amounts = PodAmounts { cpu: "500m".into(), memory: Some("64Mi".into()) };
    SizeResult {
        target: "http://127.0.0.1:8080/".into(),
        command: HOSTILE.into(),
        steps: vec![step(0.25, 250.0), enough, failed],
        cheapest: Some(1),
        goal: SizeGoal::Cpus,
        resources: Some(PodResources { requests: amounts.clone(), limits: amounts }),
        ..SizeResult::default()
    }
}

#[test]
fn sizes_name_the_cheapest_setting_and_its_container() {
    let text = render_size("text", &sizes(), &WIDE).unwrap();
    let container =
        "resources: { requests: { cpu: \"500m\", memory: \"64Mi\" }, limits: { cpu: \"500m\", memory: \"64Mi\" } }";
    let (measured, predicted) = ("500/s (475/s to 525/s)", "490/s (470/s to 510/s)");
    for words in ["Cheapest that is enough: quota 0.5, 1 worker: 500/s", measured, predicted, "90 %", container] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let narrow = render_size("text", &sizes(), &Style::default()).unwrap();
    assert!(narrow.lines().all(|line| line.chars().count() <= 80) && !narrow.contains('\u{1b}'), "{narrow}");
    let page = render_size("html", &sizes(), &WIDE).unwrap();
    assert!(page.contains("<a href=\"runs/1/report.html\">") && page.contains("Capacity against CPUs"), "{page}");
    assert!(!page.contains("<script>alert"), "{page}");
    let markdown = render_size("markdown", &sizes(), &WIDE).unwrap();
    assert!(markdown.contains("`resources: {"), "{markdown}");
    let json: serde_json::Value = serde_json::from_str(&render_size("json", &sizes(), &WIDE).unwrap()).unwrap();
    assert_eq!((&json["steps"][1]["setting"]["quota"], &json["cheapest"]), (&0.5.into(), &1.into()));
    assert_eq!(json["steps"][0]["predicted"], serde_json::Value::Null);
    let none = render_size("text", &SizeResult::default(), &WIDE).unwrap();
    assert!(none.contains("No setting meets the objective"), "{none}");
}

#[test]
fn a_comparison_states_its_smallest_change_and_the_data_for_one_percent() {
    let with = |one_percent_s: Option<f64>, one_percent_runs: Option<f64>| Comparison {
        smallest_change: Some(0.0213),
        smallest_change_of: Some("server CPU per request".into()),
        one_percent_s,
        one_percent_runs,
        decided_after_s: Some(15.2),
        ..slower()
    };
    let flat = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = |c: &Comparison| flat(brief_comparison(c, &WIDE));
    assert!(shown(&with(Some(250.0), None)).contains("2.13 % of server CPU per request; 1 % needs about 5 min."));
    assert!(shown(&with(None, Some(6.0))).contains("1 % needs about 6 runs of each side."));
    assert!(!shown(&slower()).contains("Smallest change"));
    let whole = flat(render_comparison("text", &with(Some(9000.0), None), &WIDE).unwrap());
    assert!(whole.contains("Decided after 16 s.") && whole.contains("1 % needs about 3 h."), "{whole}");
}

#[test]
fn a_history_shows_each_change_with_its_interval_and_charts_with_marks() {
    let history = common::history::history(HOSTILE);
    for form in ["text", "markdown", "html"] {
        let made = render_history(form, &history, &WIDE).unwrap();
        harmless(form, &made);
        let text = if form == "html" { shown(&made) } else { made.replace('\\', "") };
        all_in(&text, &["Worse: server CPU per request +4.95 % since old", "+4.95 % (+4.1 % to +5.8 %)"], form);
        all_in(&text, &["worse, new", "+2 points (+1.5 points to +2.5 points)", "worse, new, undone"], form);
        all_in(&text, &["Skipped 1 file", "Plans with too few runs", "its last 10 runs"], form);
        assert_eq!(text.contains("commit-12"), form == "html", "only a page lists all runs");
    }
    let page = render_history("html", &history, &WIDE).unwrap();
    assert_eq!(charts(&page), 3);
    let json = render_history("json", &history, &WIDE).unwrap();
    let found: serde_json::Value = serde_json::from_str(&json).unwrap();
    let change = &found["changes"][0];
    assert!(change["at"] == 33 && change["label"] == HOSTILE && change["change"] == 0.0495 && change["p"] == 2e-9);
}

#[test]
fn a_history_without_a_change_and_one_of_too_few_runs_say_so() {
    let whole = common::history::history("x");
    let quiet = run::History { changes: Vec::new(), fails: false, ..whole.clone() };
    let text = render_history("text", &quiet, &WIDE).unwrap();
    assert!(
        text.starts_with("No new change for the worse") && text.contains("No change of server CPU per request"),
        "{text}"
    );
    let few = run::History { series: Vec::new(), ..quiet };
    assert!(render_history("text", &few, &WIDE).unwrap().starts_with("Too few runs for a change"));
}
