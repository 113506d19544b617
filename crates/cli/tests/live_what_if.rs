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

/// What the changed server completes a second under more clients than fill it, for so long that it matters little how many
/// periods of a quota fall into the window: those of a search hold five.
fn came(binary: &Path, server: &Running) -> f64 {
    let url = format!("http://{}/", server.addr);
    let run = json(binary, &["load", &url, "--cpus", "0", "--connections", "16", "--duration", "8s"]);
    num(&run["trials"][0]["completed_rate"])
}

/// The prediction is within a tenth of what came.
#[track_caller]
fn comes_true(answer: &Value, came: f64) {
    let predicted = num(&answer["rate"]["value"]);
    assert!((predicted / came - 1.0).abs() <= 0.1, "predicted {predicted}, came {came}: {answer:#}");
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
    comes_true(&answer, came(&binary, &with(6)));
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
    comes_true(&answer, came(&binary, &with(&twice)));
    assert_eq!(before["findings"]["bottleneck"]["id"], "server-cpu-quota", "{}", verdict(&before));
}
