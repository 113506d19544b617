//! Test of the third series of trials (`entries=[3]`) of `lab io-models`. Several server processes hold 24,000
//! connections at the same time, which is more than one process can have.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use testkit::{alone, binary, has_testbed, json, skip};

/// Number of connections that the servers must hold at the same time. Each connection needs a descriptor in a server
/// process and one in a client process.
const CONNECTIONS: u64 = 24_000;
/// Memory for both ends of all connections, KiB.
const NEEDS_KIB: u64 = 1_500_000;

/// Returns the reason why this machine cannot run the test; `None` if it can run the test.
fn forbidden() -> Option<String> {
    let (_, hard) = sys::limits::descriptors();
    if hard < 13_000 {
        return Some(format!("a process may have {hard} descriptors; 13,000 are needed (ulimit -Hn)"));
    }
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = memory.lines().find_map(|l| l.strip_prefix("MemAvailable:"));
    let free: u64 = line.and_then(|l| l.split_whitespace().next()?.parse().ok()).unwrap_or(0);
    (free < NEEDS_KIB).then(|| format!("{free} KiB of memory are available; {NEEDS_KIB} are needed"))
}

#[test]
fn twenty_four_thousand_connections_are_held_at_once_across_processes() {
    let _alone = alone();
    if let Some(why) = forbidden() {
        return skip("24,000 connections", &why);
    }
    let sets = ["entries=[3]", "third=24000", "block_rate=20000", "seconds=3", "warmup_s=10"];
    let mut args = vec!["lab", "io-models", "--model", "epoll"];
    sets.iter().for_each(|set| args.extend(["--set", set]));
    let run = json(binary!(), &args);
    let trials = run["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 1, "{}", run["notes"]);
    let trial = &trials[0];
    assert_eq!(trial["connected"].as_u64(), Some(CONNECTIONS), "{} {}", trial["errors"], trial["notes"]);
    assert_eq!(trial["axes"]["held"].as_f64(), Some(CONNECTIONS as f64), "{}", trial["notes"]);
    assert_eq!(trial["errors"].as_object().map_or(0, |e| e.len()), 0, "{}", trial["errors"]);
    assert!(trial["completed"].as_u64() >= Some(CONNECTIONS), "each connection has sent at least its first message");
    let (_, hard) = sys::limits::descriptors();
    let processes = trial["server"]["processes"].as_array().map_or(0, Vec::len) as u64;
    assert!(processes >= CONNECTIONS.div_ceil(hard), "{processes} server processes");
}

#[test]
fn a_medium_between_the_hosts_reports_the_wire_s_utilization() {
    let _alone = alone();
    let sets = ["entries=[1]", "first=30", "seconds=2", "warmup_s=2"];
    let mut args = vec!["lab", "io-models", "--quick", "--json", "--model", "epoll,uring", "--medium", "hub100"];
    sets.iter().for_each(|set| args.extend(["--set", set]));
    let output = std::process::Command::new(binary!()).args(&args).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    if !has_testbed("io-models over a hub", &words) {
        return;
    }
    let run: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {words}"));
    let trials = run["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 2, "{}", run["notes"]);
    for trial in trials {
        assert_eq!(trial["axes"]["held"].as_f64(), Some(30.0), "{} {}", trial["errors"], trial["notes"]);
        let used = trial["axes"]["wire_use"].as_f64().expect("a hub has a rate");
        // The answers must have passed the simulated wire, so its use is above 0. A wire carries at most its rate,
        // except for a burst after an idle time.
        assert!(used > 0.0 && used < 1.5, "{used}");
        assert!(trial["completed"].as_u64() > Some(0), "{}", trial["errors"]);
    }
}

#[test]
fn an_experiment_without_hosts_refuses_a_medium() {
    let args = ["lab", "bursty", "--quick", "--medium", "hub100"];
    let output = std::process::Command::new(binary!()).args(args).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && words.contains("leave --medium out"), "{words}");
}

#[test]
fn an_experiment_of_one_machine_refuses_hosts() {
    let args = ["lab", "bursty", "--quick", "--client-hosts", "a", "--via", "env {host}", "--agent-path", "/nothing"];
    let output = std::process::Command::new(binary!()).args(args).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && words.contains("request-rate, adding-clients, io-models take hosts"),
        "{words}"
    );
}
