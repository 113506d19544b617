//! A testbed whose keeper is killed or stopped leaves nothing behind.
#![allow(clippy::unwrap_used)] // helpers of tests, too

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use testkit::{binary, eventually, has_testbed, signal};

fn loadline(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(binary!());
    command.arg("testbed").args(arguments).env("XDG_RUNTIME_DIR", dir);
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Makes a testbed; false where this machine cannot.
fn up(dir: &Path, test: &str, arguments: &[&str]) -> bool {
    let output = loadline(dir, arguments);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    if !has_testbed(test, &words) {
        return false;
    }
    assert!(output.status.success(), "{words}");
    true
}

fn gone(pids: &[u64]) {
    eventually(|| pids.iter().all(|pid| !Path::new(&format!("/proc/{pid}/ns/net")).exists()).then_some(()));
}

fn status(dir: &Path) -> serde_json::Value {
    serde_json::from_str(&said(&loadline(dir, &["status", "--json"]))).unwrap()
}

fn holders(status: &serde_json::Value) -> Vec<u64> {
    status[0]["hosts"].as_array().unwrap().iter().map(|h| h["netns_pid"].as_u64().unwrap()).collect()
}

#[test]
fn nothing_is_left_when_the_keeper_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    if !up(dir, "the_keeper_is_killed", &["up", "x", "--medium", "wan:delay=1ms"]) {
        return;
    }
    let mut stubborn = Command::new(binary!())
        .args(["testbed", "exec", "x", "client1", "--", "sleep", "600"])
        .env("XDG_RUNTIME_DIR", dir)
        .spawn()
        .unwrap();
    let found = status(dir);
    let pids = holders(&found);
    let keeper = found[0]["keeper"].as_u64().unwrap() as u32;
    std::thread::sleep(Duration::from_millis(200));
    signal(keeper, "KILL");
    gone(&pids);
    assert!(!stubborn.wait().unwrap().success());
    assert_eq!(said(&loadline(dir, &["down", "x"])), "x was not up\n");
    assert!(!dir.join("loadline").exists(), "no file is left");
}

#[test]
fn a_keeper_that_was_stopped_is_told_and_taken_down_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    if !up(dir, "a_stopped_keeper", &["up", "x", "--medium", "switch:100M"]) {
        return;
    }
    let found = status(dir);
    let pids = holders(&found);
    let keeper = found[0]["keeper"].as_u64().unwrap() as u32;
    signal(keeper, "STOP");
    let silent = loadline(dir, &["status", "x"]);
    let words = String::from_utf8_lossy(&silent.stderr).into_owned();
    assert!(words.contains("does not answer") && words.contains(&keeper.to_string()), "{words}");
    assert_eq!(said(&loadline(dir, &["down", "x"])), "x is down\n");
    gone(&pids);
    assert!(!dir.join("loadline").exists(), "no file is left");
}
