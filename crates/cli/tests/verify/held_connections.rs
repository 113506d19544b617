//! Test of `lab connections`: several generators and servers hold more connections than one process can have.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use testkit::{alone, binary, json, skip};

const CONNECTIONS: u64 = 20_000;
/// Maximum memory outside the kernel per connection, bytes. A connection needs only a third of this memory. The rest is
/// a reserve for tables of the process, which grow in steps.
const USER_BYTES: f64 = 300.0;

/// Returns the reason why this machine cannot hold the connections; `None` if it can hold them. Each process needs
/// 10,300 descriptors, and each connection needs 11 kB of memory.
fn forbidden() -> Option<String> {
    let (_, hard) = sys::limits::descriptors();
    if hard < 11_000 {
        return Some(format!("a process may have {hard} descriptors; 11,000 are needed (ulimit -Hn)"));
    }
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = memory.lines().find_map(|l| l.strip_prefix("MemAvailable:"));
    let free: u64 = line.and_then(|l| l.split_whitespace().next()?.parse().ok()).unwrap_or(0);
    (free < 500_000).then(|| format!("{free} KiB of memory are available; 500,000 are needed"))
}

#[test]
fn twenty_thousand_connections_are_held_with_little_memory() {
    let _alone = alone();
    if let Some(why) = forbidden() {
        return skip("20,000 held connections", &why);
    }
    let sets = ["connections=20000", "connects=10000", "rate=500", "seconds=1"];
    let mut args = vec!["lab", "connections"];
    sets.iter().for_each(|set| args.extend(["--set", set]));
    let run = json(binary!(), &args);
    let trials = run["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 2, "few, and all: {}", run["notes"]);
    let trial = &trials[1];
    let axis = |name: &str| trial["axes"][name].as_f64().unwrap_or(f64::NAN);
    assert_eq!(axis("held"), CONNECTIONS as f64, "{} {}", trial["errors"], trial["notes"]);
    assert_eq!(trial["errors"].as_object().map_or(0, |e| e.len()), 0, "{}", trial["errors"]);
    assert!(axis("opened_s") >= 1.9, "20,000 at 10,000 a second: {}", axis("opened_s"));
    assert!(trial["completed"].as_u64() > Some(0), "{}", trial["notes"]);
    for side in ["client", "server"] {
        assert_eq!(trial[side]["processes"].as_array().map_or(0, Vec::len), 2, "{}", trial[side]["processes"]);
    }
    for name in ["client_memory_per_connection_bytes", "memory_per_connection_bytes"] {
        assert!(axis(name) < USER_BYTES, "{name}: {}", axis(name));
    }
    let checks = run["findings"]["checks"].as_array().unwrap();
    let sockets = checks.iter().find(|c| c["name"].as_str().is_some_and(|n| n.starts_with("sockets"))).unwrap();
    assert_eq!(sockets["pass"].as_bool(), Some(true), "both ends are in the kernel: {sockets}");
}

#[test]
fn too_many_connections_are_refused_with_the_possible_number() {
    let args = ["lab", "connections", "--json", "--set", "connections=4000000000"];
    let output = std::process::Command::new(binary!()).args(args).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && words.contains("ask for at most"), "{words}");
    assert!(words.contains("--set connections="), "{words}");
}
