//! What the tests of S-Clients share: the slow server, the load, and what must hold of every run.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::{has, num, program, skip, verdict};

/// A server that answers 200 requests a second behind a short queue.
pub const SLOW: [&str; 6] = ["--backlog", "16", "--option", "work_us=5000", "--option", "work_by=loops"];
/// D, the descriptors.
pub const D: &str = "50";
/// T, the connect timeout.
pub const T: &str = "100ms";
/// D / T: connection attempts offered per second.
pub const OFFERED: f64 = 500.0;

/// A load of S-Clients with T, 2 s with its warmup.
pub fn load(binary: &Path, url: &str, descriptors: &str, more: &[&str]) -> Command {
    load_of(binary, url, descriptors, ("1700ms", more))
}

/// The same of another duration.
pub fn load_of(binary: &Path, url: &str, descriptors: &str, (duration, more): (&str, &[&str])) -> Command {
    let mut command = Command::new(binary);
    command.args(["load", url, "--s-clients", descriptors, "--connect-timeout", T, "--warmup", "300ms"]);
    command.args(["--at-rest", "0", "--duration", duration]).args(more);
    command
}

/// Offered at least D/T, never more sent than offered.
pub fn honest(run: &Value, offered: f64) {
    let trial = &run["trials"][0];
    assert!(num(&trial["offered_rate"]) >= 0.999 * offered, "offered {} of {offered}", trial["offered_rate"]);
    assert!(num(&trial["sent_rate"]) <= 1.001 * num(&trial["offered_rate"]), "{}", verdict(run));
}

/// Kinds of the incidents of the first trial.
pub fn incidents(run: &Value) -> Vec<&str> {
    let list = run["trials"][0]["incidents"].as_array();
    list.map_or(Vec::new(), |list| list.iter().filter_map(|i| i["kind"].as_str()).collect())
}

/// Errors of a kind in the first trial.
pub fn error(run: &Value, kind: &str) -> u64 {
    run["trials"][0]["errors"][kind].as_u64().unwrap_or(0)
}

/// A script in a network namespace of its own, where `"$1"` is the binary; says that the test is left out where that is not
/// allowed.
#[track_caller]
pub fn in_a_namespace(test: &str, binary: &Path, script: &str) -> Option<Command> {
    if !has(test, "unshare") || !has(test, "ip") {
        return None;
    }
    let namespace = |script: &str| {
        let mut command = Command::new(program("unshare").unwrap_or_default());
        command.args(["-rn", "sh", "-c", script, "sh"]).arg(binary);
        command
    };
    if !namespace("ip link set lo up").output().is_ok_and(|o| o.status.success()) {
        skip(test, "this process may not make network namespaces");
        return None;
    }
    Some(namespace(&format!("ip link set lo up; sysctl -qw net.ipv4.tcp_syncookies=0; {script}")))
}

/// Starts the slow server on port 80 and waits for it; `$server` is its process.
pub const SERVE: &str = "\"$1\" serve http --listen 127.0.0.1:80 --backlog 16 --option work_us=5000 --option work_by=loops \
                     >/dev/null 2>&1 & server=$!; \
                     until ss -Hltn | grep -q :80; do sleep 0.02; done; ";
