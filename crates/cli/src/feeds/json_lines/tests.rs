use super::contents::Load;
use super::*;
use crate::feeds::interval::tests::state;
use crate::live::{Model, SideNow};

/// Adds the names of all fields of a JSON value, including nested fields, to `all`.
fn names(value: &serde_json::Value, all: &mut Vec<String>) {
    for (name, value) in value.as_object().into_iter().flatten() {
        all.push(name.clone());
        if !["errors", "unexpected_statuses", "latency_us", "intensity", "findings"].contains(&name.as_str()) {
            names(value, all);
        }
    }
}

#[test]
fn a_line_has_the_figures_of_its_second_and_the_page_describes_each() {
    let shared = Shared::new(Model::new("load".into(), String::new(), 5.0));
    let mut looks = Looks::new(&shared);
    shared.lock().phase("2 connections", 5.0);
    let mut progress = state(0.5, 100, 3);
    (progress.detail.unexpected, progress.detail.unexpected_statuses) = (7, [(429, 7)].into());
    shared.lock().progress(progress);
    let mut look = looks.look();
    let uses = crate::live::Uses { cpus: Some(1.0), memory: Some(2.0), descriptors: Some(3.0) };
    look.sides = vec![SideNow { role: "server", cpu: Some(Default::default()), uses }];
    let text = line(&Second::new(&look, 0.5, Duration::from_millis(1234))).unwrap();
    assert!(text.ends_with("}\n") && text.matches('\n').count() == 1, "{text}");
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&value["line"], &value["elapsed_s"]), (&"second".into(), &1.234.into()));
    assert_eq!((&value["completed_rate"], &value["errors"]["reset"]), (&200.0.into(), &3.into()));
    assert_eq!(value["unexpected_statuses"]["429"], 7);
    assert!((value["latency_us"]["p50"].as_f64().unwrap() / 1000.0 - 1.0).abs() < 0.09, "{text}");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/json-lines.md");
    let page = std::fs::read_to_string(path).unwrap();
    let mut all = Vec::new();
    names(&value, &mut all);
    names(&serde_json::to_value(RunResult::new(&Run::default(), Some("x".as_ref()), 0)).unwrap(), &mut all);
    assert!(all.len() > 20, "{all:?}");
    all.iter().for_each(|name| assert!(page.contains(&format!("| `{name}` ")), "the page lacks {name}"));
}

/// A fifth of the requests got no answer within 50 ms (`--timeout`). The slowest answer took 1 ms.
#[test]
fn percentiles_of_a_second_count_timeouts_with_the_timeout() {
    let shared = Shared::new(Model::new("load".into(), String::new(), 5.0));
    let mut looks = Looks::new(&shared);
    shared.lock().phase("2 connections", 5.0);
    let mut progress = state(0.5, 80, 20);
    let mut ages = vec![0; run::CoarseHist::BUCKETS];
    ages[run::CoarseHist::bucket(50_000_000)] = 20;
    progress.detail.unanswered = run::CoarseHist::of(ages);
    shared.lock().progress(progress);
    let latency_us = Load::new(&looks.look(), 1.0).latency_us;
    for us in [latency_us.p90, latency_us.p99, latency_us.max] {
        assert!((44_000.0..=50_000.0).contains(&us), "{latency_us:?}");
    }
    let is_bound = |figure| latency_us.at_least.contains(figure);
    assert!(is_bound(run::SummaryFigure::P90) && !is_bound(run::SummaryFigure::P50), "{latency_us:?}");
}

#[test]
fn without_load_a_line_has_no_figures_of_a_load() {
    let shared = Shared::new(Model::new("find".into(), String::new(), 5.0));
    let value = serde_json::to_value(Second::new(&Looks::new(&shared).look(), 1.0, INTERVAL)).unwrap();
    assert!(value.get("completed").is_none() && value["trials"] == 0, "{value}");
}
