//! Helpers for the tests of `loadline testbed`, which two test targets share.

use std::path::Path;
use std::process::{Command, Output};

use testkit::{binary, eventually, has_testbed};

/// Runs `loadline testbed` with `dir` as its runtime directory.
pub(crate) fn loadline(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(binary!());
    command.arg("testbed").args(arguments).env("XDG_RUNTIME_DIR", dir);
    command.output().unwrap()
}

/// Returns the standard output of a command that must have succeeded.
pub(crate) fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Creates a testbed. Returns false if this machine cannot make a testbed.
pub(crate) fn up(dir: &Path, test: &str, arguments: &[&str]) -> bool {
    let output = loadline(dir, arguments);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    if !has_testbed(test, &words) {
        return false;
    }
    assert!(output.status.success(), "{words}");
    true
}

/// Waits until the processes in `pids`, each of which keeps a network namespace alive, have ended.
pub(crate) fn gone(pids: &[u64]) {
    eventually(|| pids.iter().all(|pid| !Path::new(&format!("/proc/{pid}/ns/net")).exists()).then_some(()));
}

/// Returns the status of the running testbeds.
pub(crate) fn status(dir: &Path) -> serde_json::Value {
    serde_json::from_str(&said(&loadline(dir, &["status", "--json"]))).unwrap()
}

/// Returns the IDs of the processes that keep the network namespaces of the first testbed in existence.
pub(crate) fn holders(status: &serde_json::Value) -> Vec<u64> {
    status[0]["hosts"].as_array().unwrap().iter().map(|h| h["netns_pid"].as_u64().unwrap()).collect()
}
