//! Tests of the report that `loadline arena` prints.

use loadline_report::{Style, render_arena};
use run::{ArenaCapacity, ArenaCell, ArenaNoise, ArenaProfileResult, ArenaRefusalKind, ArenaResult, Estimate};

use crate::{HOSTILE, WIDE};

/// Returns a comparison of four servers: two share the best group, and two have no rank.
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
        "50,000/s (45,000/s to 55,000/s)",
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
    assert!(markdown.contains("| nginx | 1 |") && markdown.contains("50,000/s (45,000/s to 55,000/s)"), "{markdown}");
}

/// The chart of servers whose CPU times differ by one percent must not begin at 0, where all dots would be in one
/// place.
#[test]
fn dots_of_similar_servers_are_far_apart() {
    let mut result = arena();
    result.cells.truncate(2);
    let page = render_arena("html", &result, &WIDE).unwrap();
    // The page has the chart twice: for wide windows and for phones.
    let (_, chart) = page.split_once("CPU time per request against latency").unwrap();
    let (chart, _) = chart.split_once("</svg>").unwrap();
    let dots = chart.split("cx=\"").skip(1).filter_map(|dot| dot.split_once('"')?.0.parse::<f64>().ok());
    let (first, last) = dots.fold((f64::INFINITY, 0.0_f64), |(first, last), x| (first.min(x), last.max(x)));
    assert!(last - first > 100.0, "{first} to {last}: {chart}");
}

#[test]
fn the_only_ranked_server_is_not_called_the_best() {
    let mut result = arena();
    result.cells.remove(1);
    let title = |result: &ArenaResult| render_arena("text", result, &WIDE).unwrap().lines().next().unwrap().to_owned();
    assert!(title(&result).contains("nginx is the only one with a rank"), "{}", title(&result));
    let second = ArenaCell { group: Some(2), entry: "slow".into(), ..result.cells[0].clone() };
    result.cells.push(second);
    assert!(title(&result).contains("nginx is best"), "{}", title(&result));
}
