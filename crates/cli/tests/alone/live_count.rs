//! Tests of levers (temporary changes by an experiment) that tell limits with similar symptoms apart. Taking whole CPUs
//! away distinguishes a server that handles one request at a time from a server that uses all CPUs. Doubling the load
//! distinguishes a full server from a distant server, for which the clients only wait.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use testkit::{
    ChildProcess, OtherPrograms, TwoHosts, alone_with_release, first_line, json, num, program, skip, verdict,
};

/// A server with four processes, each of which computes for 2 ms per request. With the argument "lock", the processes
/// compute one after the other, because each locks the same file.
const PROCESSES: &str = r#"
import fcntl, os, socket, sys, tempfile, threading, time
listener = socket.create_server(("127.0.0.1", 0), backlog=128)
print(listener.getsockname()[1], flush=True)
name = tempfile.NamedTemporaryFile()
def compute():
    end = time.thread_time() + 0.002
    while time.thread_time() < end:
        sum(range(50))
def serve(peer):
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    lock = open(name.name)
    while peer.recv(4096):
        if sys.argv[1] == "lock":
            fcntl.flock(lock, fcntl.LOCK_EX)
        compute()
        fcntl.flock(lock, fcntl.LOCK_UN)
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
children = []
for _ in range(8):
    child = os.fork()
    if child == 0:
        while True:
            serve(listener.accept()[0])
    children.append(child)
sys.stdin.read()
for child in children:
    os.kill(child, 9)
"#;

/// Returns the throughput with fewer CPUs divided by the throughput with all CPUs, and the run. Skips the test and
/// returns `None` if a program is missing.
fn with_fewer_cpus(binary: &Path, test: &str, how: &str) -> Option<(f64, Value)> {
    let Some(python) = program("python3") else {
        skip(test, "python3 is not installed");
        return None;
    };
    let mut command = Command::new(python);
    command.args(["-c", PROCESSES, how]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut server = ChildProcess::start(&mut command);
    let url = format!("http://127.0.0.1:{}/", first_line(&mut server.0));
    let others = OtherPrograms::watch();
    let run = json(binary, &["prove", &url, "--connections", "8", "--budget", "15s"]);
    let trials = run["findings"]["proof"]["trials"].as_array().unwrap().clone();
    let is_count = |trial: &&Value| trial["levers"][0]["lever"] == "server-cpu-count";
    let trial = trials.iter().find(is_count).unwrap_or_else(|| panic!("{:#}", run["findings"]["proof"]));
    let lever = &trial["levers"][0];
    let taken = num(&lever["taken"]);
    assert!(taken > 0.2 && taken < 0.6, "half of the CPUs were ordered: {taken}");
    others.stayed_away(test).then(|| (ratio(trial, lever), run))
}

/// Returns the mean rate in the slots (short periods) with the lever on, divided by the mean rate in the slots with the
/// lever off.
fn ratio(trial: &Value, lever: &Value) -> f64 {
    let rates = trial["completed_rate"].as_array().unwrap().iter().zip(lever["on"].as_array().unwrap());
    let mean = |with: bool| {
        let all: Vec<f64> =
            rates.clone().filter(|(_, on)| **on == with).filter_map(|(rate, _)| rate.as_f64()).collect();
        all.iter().sum::<f64>() / all.len() as f64
    };
    mean(true) / mean(false)
}

#[test]
fn work_in_turns_needs_one_cpu_and_work_side_by_side_needs_them_all() {
    let (_alone, binary) = alone_with_release!("fewer CPUs");
    let Some((serial, run)) = with_fewer_cpus(&binary, "processes that take turns", "lock") else { return };
    let Some((parallel, _)) = with_fewer_cpus(&binary, "processes side by side", "none") else { return };
    println!("with half of the CPUs: {serial:.2} in turns, {parallel:.2} side by side");
    assert!(serial > parallel + 0.2, "{serial} {parallel}");
    assert_ne!(run["findings"]["bottleneck"]["id"], "server-cpu", "{}", verdict(&run));
}

/// Tests in which the clients mostly wait for the round trip of the network.
mod idle {
    use super::*;

    /// The round trip to the server takes 30 ms, and there are 4 connections. No resource is full, so twice the
    /// connections complete twice the requests. The lever of the experiment tries twice the connections, although the
    /// user allowed only 4.
    #[test]
    fn over_a_distance_twice_the_load_is_twice_the_throughput() {
        let (_alone, binary) = alone_with_release!("more load over a distance");
        let Some(hosts) = TwoHosts::up("more load over a distance", &binary, "wan:delay=15ms") else { return };
        let run = hosts.run("prove", &[], &["--connections", "4", "--budget", "30s"]);
        let proof = &run["findings"]["proof"];
        let effects = proof["effects"].as_array().unwrap_or_else(|| panic!("{proof:#}"));
        let load = effects.iter().find(|effect| effect["lever"] == "load").unwrap_or_else(|| panic!("{proof:#}"));
        assert!(num(&load["low"]) > 1.5 && num(&load["high"]) < 2.5, "{load}");
        assert_eq!(run["findings"]["bottleneck"]["id"], "not-saturated", "{}", verdict(&run));
    }
}
