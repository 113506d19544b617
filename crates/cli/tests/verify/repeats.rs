//! Tests of `--repeat`: loadline repeats the whole load, and stores all repeats in one run.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use serde_json::Value;
use testkit::{alone, binary, json, num, serve};

fn each(run: &Value, of: impl Fn(&Value) -> u64) -> Vec<u64> {
    run["trials"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn each_repeat_of_a_search_has_its_own_budget() {
    let _alone = alone();
    let binary = Path::new(binary!());
    let server = serve(binary, 0, &["--option", "work_us=200"]);
    let url = format!("http://{}/", server.addr);
    let run = json(binary, &["find", &url, "--budget", "3s", "--prove", "off", "--connections", "4", "--repeat", "2"]);
    let repeats = run["findings"]["repeats"].as_array().unwrap();
    assert_eq!(repeats.len(), 2, "{repeats:#?}");
    let sweeps = |n: u64| {
        let trials = run["trials"].as_array().unwrap().iter();
        trials.filter(|t| t["kind"] == "sweep" && t["repeat"].as_u64().unwrap_or(0) == n).count()
    };
    assert!(sweeps(0) >= 1 && sweeps(1) >= 1, "{} and {}", sweeps(0), sweeps(1));
    let elapsed_s = num(&run["elapsed_s"]);
    assert!((4.0..12.0).contains(&elapsed_s), "{elapsed_s} s for two budgets of 3 s");
}

#[test]
fn a_repeated_experiment_has_the_checks_of_all_repeats() {
    let _alone = alone();
    let binary = Path::new(binary!());
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    let set = ["--set", "seconds=1", "--set", "calls=20", "--set", "rounds=1", "--set", "backends=[\"epoll\"]"];
    let lab = ["lab", "event-api", "--quick", "--repeat", "2", "--out", out.to_str().unwrap()];
    let run = json(binary, &[&lab[..], &set[..]].concat());
    let of = |n| each(&run, |t| t["repeat"].as_u64().unwrap_or(0)).iter().filter(|r| **r == n).count();
    assert!(of(0) > 2 && of(0) == of(1), "{} and {}", of(0), of(1));
    let kept: Value = serde_json::from_slice(&std::fs::read(out.join("run.json")).unwrap()).unwrap();
    assert_eq!(kept["trials"].as_array().unwrap().len(), of(0) + of(1));
    assert_eq!(kept["interrupted"], false, "{}", kept["notes"]);
    let names: Vec<&str> =
        kept["findings"]["checks"].as_array().unwrap().iter().filter_map(|c| c["name"].as_str()).collect();
    let alike = names.iter().filter(|name| names.contains(&name.trim_end_matches(" (repeat 2)"))).count();
    assert!(!names.is_empty() && alike == names.len(), "{names:?}");
}
