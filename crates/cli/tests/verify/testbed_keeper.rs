//! Test that nothing of a testbed (hosts in network namespaces) remains if its keeper (the process that keeps the
//! testbed running) is killed or stopped.
#![allow(clippy::unwrap_used)] // The lint allows unwrap in tests, but not in helpers of tests.

use std::process::Command;
use std::time::Duration;

use testkit::{binary, signal};

use crate::testbed_command::{gone, holders, loadline, said, status, up};

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
fn a_stopped_keeper_is_reported_and_its_testbed_is_removed() {
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
