//! What `what-if` predicts from one run, held against a second run of the server that was changed so. Speed relations
//! matter, so these take the release binary.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use serde_json::Value;
use testkit::{ControlGroup, Running, alone_with_release, free_port, json, num, serve, verdict};

/// Finds out about a server, and keeps the run.
fn found(binary: &Path, server: &Running, out: &Path) -> Value {
    let url = format!("http://{}/", server.addr);
    let out = out.to_str().unwrap();
    json(binary, &["find", &url, "--cpus", "0", "--prove", "off", "--budget", "16s", "--out", out])
}

/// The highest rate of good answers that a closed loop reached.
fn highest(run: &Value) -> f64 {
    let trials = run["trials"].as_array().unwrap().iter().filter(|t| t["kind"] == "sweep");
    trials.map(|t| num(&t["completed_rate"])).fold(0.0, f64::max)
}

/// The prediction is within a tenth of what came, which lies in its interval or as near.
#[track_caller]
fn comes_true(answer: &Value, after: &Value) {
    let (predicted, came) = (num(&answer["rate"]["value"]), highest(after));
    assert!(
        (predicted / came - 1.0).abs() <= 0.1,
        "predicted {predicted}, came {came}: {answer:#}\n{}",
        verdict(after)
    );
}

#[test]
fn twice_the_slots_are_predicted() {
    let (_alone, binary) = alone_with_release!("what-if of slots");
    let dir = tempfile::tempdir().unwrap();
    let with = |n: u32| {
        serve(&binary, 1, &["--model", "workers", "--option", &format!("workers={n}"), "--option", "sleep_ms=20"])
    };
    let before = found(&binary, &with(3), &dir.path().join("before"));
    assert_eq!(before["findings"]["bottleneck"]["id"], "server-concurrency", "{}", verdict(&before));
    let answer = json(&binary, &["what-if", dir.path().join("before").to_str().unwrap(), "--workers", "6"]);
    comes_true(&answer, &found(&binary, &with(6), &dir.path().join("after")));
    assert_eq!(answer["bottleneck"]["id"], "server-concurrency", "{answer:#}");
}

#[test]
fn twice_the_quota_is_predicted() {
    let (_alone, binary) = alone_with_release!("what-if of a quota");
    let dir = tempfile::tempdir().unwrap();
    let with = |group: &ControlGroup| {
        let port = free_port();
        let mut command = group.command(&binary);
        command.args(["serve", "http", "--listen", &format!("127.0.0.1:{port}"), "--option", "work_us=400"]);
        Running::start(command, port, tempfile::tempdir().unwrap())
    };
    let group = |quota_us: u32| {
        let (quota, period) = (quota_us.to_string(), "100000");
        let one = [("cpu.cfs_period_us", period), ("cpu.cfs_quota_us", quota.as_str())];
        let two = format!("{quota} {period}");
        ControlGroup::make("what-if of a quota", "cpu", &one, &[("cpu.max", two.as_str())])
    };
    let Some(fifth) = group(20_000) else { return };
    let before = found(&binary, &with(&fifth), &dir.path().join("before"));
    let answer = json(&binary, &["what-if", dir.path().join("before").to_str().unwrap(), "--quota", "0.4"]);
    let Some(twice) = group(40_000) else { return };
    comes_true(&answer, &found(&binary, &with(&twice), &dir.path().join("after")));
    assert_eq!(before["findings"]["bottleneck"]["id"], "server-cpu-quota", "{}", verdict(&before));
}
