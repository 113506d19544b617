//! Code that tests of S-Clients share: a slow server, the load, and checks that every run must pass. (S-Clients are
//! sockets that try to connect for at most a fixed time T, and then begin anew.)

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::{has, num, program, skip, verdict};

/// Options of a server that handles 200 requests per second and has a short listen queue.
pub const SLOW: [&str; 6] = ["--backlog", "16", "--option", "work_us=5000", "--option", "work_by=loops"];
/// Number of descriptors, called D in the paper that introduced S-Clients (sockets that connect again and again).
pub const D: &str = "50";
/// Connect timeout, called T in the paper that introduced S-Clients (sockets that connect again and again).
pub const T: &str = "100ms";
/// Connection attempts that the load offers per second: D / T.
pub const OFFERED: f64 = 500.0;

/// Returns a command for a load of S-Clients (sockets that connect again and again) with the connect timeout [`T`]. The
/// load lasts 2 s, including a warm-up of 300 ms.
pub fn load(binary: &Path, url: &str, descriptors: &str, more: &[&str]) -> Command {
    load_of(binary, url, descriptors, ("1700ms", more))
}

/// Returns a command for the load that [`load`] describes, but with another duration.
pub fn load_of(binary: &Path, url: &str, descriptors: &str, (duration, more): (&str, &[&str])) -> Command {
    let mut command = Command::new(binary);
    command.args(["load", url, "--s-clients", descriptors, "--connect-timeout", T, "--warmup", "300ms"]);
    command.args(["--at-rest", "0", "--duration", duration]).args(more);
    command
}

/// Checks that the run offered at least `offered` connection attempts per second, and sent no more attempts than it
/// offered.
pub fn honest(run: &Value, offered: f64) {
    let trial = &run["trials"][0];
    assert!(num(&trial["offered_rate"]) >= 0.999 * offered, "offered {} of {offered}", trial["offered_rate"]);
    assert!(num(&trial["sent_rate"]) <= 1.001 * num(&trial["offered_rate"]), "{}", verdict(run));
}

/// Returns the kinds of the incidents in the first trial (one load).
pub fn incidents(run: &Value) -> Vec<&str> {
    let list = run["trials"][0]["incidents"].as_array();
    list.map_or(Vec::new(), |list| list.iter().filter_map(|i| i["kind"].as_str()).collect())
}

/// Returns the number of errors of a kind in the first trial (one load).
pub fn error(run: &Value, kind: &str) -> u64 {
    run["trials"][0]["errors"][kind].as_u64().unwrap_or(0)
}

/// Returns a command that runs a shell script in its own network namespace, where the loopback interface is up and
/// syncookies are off. In the script, `"$1"` is the binary. Skips the test if network namespaces are not allowed.
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

/// Shell code that starts the slow server on port 80 and waits until it listens. Afterwards, `$server` is the server's
/// process ID.
pub const SERVE: &str = "\"$1\" serve http --listen 127.0.0.1:80 --backlog 16 --option work_us=5000 --option work_by=loops \
                     >/dev/null 2>&1 & server=$!; \
                     until ss -Hltn | grep -q :80; do sleep 0.02; done; ";
