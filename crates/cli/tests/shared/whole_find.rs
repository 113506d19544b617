//! Helper for tests of `find` with each protocol and transport: a run must have all its parts.

#![allow(clippy::unwrap_used)]

use serde_json::Value;
use testkit::{binary, json};

/// Checks that a run contains a capacity, the server's cost per request and a verdict, as a run with HTTP does.
fn whole(what: &str, run: &Value) {
    let findings = &run["findings"];
    let rate = findings["capacity"]["rate"].as_f64().unwrap_or_default();
    assert!(rate > 50.0, "{what}: {}", findings["capacity"]);
    let id = findings["bottleneck"]["id"].as_str().unwrap_or_default();
    assert!(!id.is_empty(), "{what}: {}", findings["bottleneck"]);
    let loaded =
        |trial: &&Value| trial["total"]["completed"].as_u64().or(trial["completed"].as_u64()).unwrap_or(0) > 100;
    // Checks the last step with many completed requests. In a later step of the sweep, the server may answer so late
    // that few requests complete.
    let steps = || run["trials"].as_array().unwrap().iter().filter(|t| t["kind"] == "sweep");
    let trial = steps().rev().find(loaded).unwrap();
    let cpu = &trial["server"]["costs"]["process_cpu_us"]["per_request"];
    assert!(cpu.as_f64().is_some_and(|us| us > 0.1), "{what}: {cpu}");
    assert!(trial["errors"].as_object().is_none_or(|errors| errors.is_empty()), "{what}: {}", trial["errors"]);
}

/// Runs `find` without an experiment, checks that the run is whole, and returns it. Without a budget in `more`, the
/// budget is 3 s.
pub(crate) fn find(what: &str, url: &str, more: &[&str]) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run").display().to_string();
    let budget: &[&str] = if more.contains(&"--budget") { &[] } else { &["--budget", "3s"] };
    let args = [&["find", url, "--prove", "off", "--connections", "16", "--out", &out], budget, more].concat();
    let run = json(binary!(), &args);
    whole(what, &run);
    run
}
