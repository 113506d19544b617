//! Tests of `loadline compare` on live servers that are measured.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::compare_command::{compare, cpus_of, text, unpinned};

/// With fewer than four CPUs, servers and generators share CPUs, so the measured figures mean little. Even then, both
/// servers must run at the same time and swap their CPUs.
#[test]
fn both_servers_run_at_once_and_get_back_the_cpus_that_they_had() {
    let _alone = testkit::alone();
    let (a, b) = (unpinned(200), unpinned(400));
    let before = cpus_of(a.pid());
    if !before.contains(['-', ',']) {
        return testkit::skip("both_servers_run_at_once", "there is one CPU");
    }
    let urls = [&a, &b].map(|s| format!("http://{}/", s.addr));
    let forced = [&*urls[0], &urls[1], "--duet", "always", "--connections", "4", "--budget", "12s", "--json"];
    let output = compare(&[&forced[..], &["--undecided", "pass"]].concat());
    let found: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output)));
    assert!(found["turns"]["at_once"] == true && found["verdict"] == "slower", "{found}");
    let new_first = found["turns"]["new_first"].as_array().unwrap();
    let swapped = new_first.iter().filter(|first| **first == true).count();
    assert!(new_first.len() >= 3 && (2 * swapped).abs_diff(new_first.len()) <= 1, "{}", found["turns"]);
    let cpu = found["comparisons"].as_array().unwrap().iter().find(|c| c["figure"] == "server CPU per request");
    assert!(cpu.is_some_and(|cpu| cpu["ratio"].as_f64().is_some_and(|ratio| ratio > 1.4)), "{found}");
    assert_eq!([cpus_of(a.pid()), cpus_of(b.pid())], [before.clone(), before]);
}

/// One server sleeps 2 ms per request in each of its two workers, and the other server sleeps 3 ms. The comparison
/// finds the capacity of each server, with the same objective for both.
#[test]
fn capacities_of_two_live_servers_are_compared() {
    let _alone = testkit::alone();
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_loadline"));
    let serve =
        |sleeps: &str| testkit::serve(program, 0, &["--model", "workers", "--option", "workers=2", "--option", sleeps]);
    let (a, b) = (serve("sleep_ms=2"), serve("sleep_ms=3"));
    let urls = [&a, &b].map(|s| format!("http://{}/", s.addr));
    let output = compare(&[&urls[0], &urls[1], "--budget", "42s", "--whole-budget", "--json"]);
    let found: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output)));
    let all = found["comparisons"].as_array().unwrap();
    let capacity = all.iter().find(|c| c["figure"] == "capacity").unwrap_or_else(|| panic!("{found}"));
    let ratio = capacity["ratio"].as_f64().unwrap();
    assert!((0.55..0.8).contains(&ratio), "2 over 3 ms is 0.667: {capacity}");
    let end = |name: &str| capacity[name].as_f64().unwrap_or_else(|| panic!("no interval: {capacity}"));
    assert!(end("low") < ratio.min(0.70) && end("high") > ratio.max(0.65), "{capacity}");
    let differ = found["differences"].as_array().unwrap();
    assert!(!differ.iter().any(|d| d.as_str().unwrap().starts_with("objective:")), "{differ:?}");
    assert!(found["verdict"] == "slower" && found["regression"] == true, "{found}");
}
