//! Tests of mistakes that earlier versions of loadline made on real servers. In one version of loadline, the report
//! named a share of CPU time that no experiment had taken from the server. In another version, parts of a search used
//! another load than the user requested. In a third version, the verdict blamed the server for connects that another
//! program had dropped. In a fourth version of loadline, closed and open loops disagreed on whether response times
//! include handshakes. A lever is a temporary change that an experiment makes, such as slowing a CPU.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use testkit::{
    ChildProcess, OtherPrograms, Running, alone_with_release, bottleneck, first_line, json, nginx, num, program, serve,
    served, skip, verdict,
};

/// Python program that opens more connections to its own listener than the accept queue holds, and accepts none of
/// them. The kernel drops SYNs of connections beyond the accept queue, and sends them again after 1 s, 3 s and 7 s.
const OVERFLOWS: &str = r#"
import socket, sys
listener = socket.create_server(("127.0.0.1", 0), backlog=1)
print(listener.getsockname()[1], flush=True)
clients = []
for _ in range(64):
    client = socket.socket()
    client.setblocking(False)
    client.connect_ex(listener.getsockname())
    clients.append(client)
sys.stdin.read()
"#;

/// Returns the number of connects that this host's listeners have dropped because an accept queue was full.
fn overflows() -> u64 {
    let text = std::fs::read_to_string("/proc/net/netstat").unwrap();
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("TcpExt:"));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let mut pairs = names.split_whitespace().zip(values.split_whitespace());
    pairs.find(|(name, _)| *name == "ListenOverflows").unwrap().1.parse().unwrap()
}

fn serve_with(binary: &Path, args: &[&str]) -> Running {
    let mut command = Command::new(binary);
    command.arg("serve").args(args);
    served(command)
}

#[test]
fn the_dose_in_the_report_is_the_dose_that_was_given() {
    let test = "the printed share of CPU taken away";
    let (_alone, binary) = alone_with_release!("the printed share of CPU taken away");
    let server = serve(&binary, 1, &["--option", "spin=300"]);
    let others = OtherPrograms::watch();
    let run = json(&binary, &["prove", &format!("http://{}/", server.addr), "--cpus", "0", "--budget", "14s"]);
    if !others.stayed_away(test) {
        return;
    }
    let proof = &run["findings"]["proof"];
    let why = proof["why"].as_str().unwrap();
    let said = why.split("taking away ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<f64>().ok());
    let levers = proof["trials"].as_array().unwrap().iter().flat_map(|trial| trial["levers"].as_array().unwrap());
    let given: Vec<f64> = levers.filter(|lever| lever["lever"] == "server-cpu").map(|l| num(&l["taken"])).collect();
    let said = said.unwrap_or_else(|| panic!("no share of CPU taken away in {why:?}: {}", verdict(&run)));
    // `said` is the share in the report. loadline computes `said` from the CPU's speed while the lever (a process that
    // takes CPU time) is on, relative to the speed without the lever. Even a lever that is off takes a little CPU time.
    // The share in the report (`said`) therefore differs slightly from the share that the lever was told to take
    // (`given`).
    assert!(given.iter().any(|share| (100.0 * share - said).abs() < 2.0), "{said} % of {given:?}: {why}");
}

/// With one connection per request, the user waits for the handshake of each connection. `find` first uses a closed
/// loop and then an open loop, and the response times of both loops must include the handshake. If the closed loop left
/// the handshake out, the response time without load would be too short. A wrong response time without load would make
/// the knee and the default objective wrong, too.
#[test]
fn handshakes_belong_to_the_response_time_of_both_loops() {
    let test = "handshakes timed in closed and open loop";
    let (_alone, binary) = alone_with_release!("handshakes timed in closed and open loop");
    let server = serve_with(&binary, &["http", "--tls"]);
    let url = format!("https://localhost:{}/", server.addr.port());
    let others = OtherPrograms::watch();
    let run = json(&binary, &["find", &url, "--insecure", "--new-connections", "--budget", "12s", "--prove", "off"]);
    if !others.stayed_away(test) {
        return;
    }
    let trials = |kind: &'static str| run["trials"].as_array().unwrap().iter().filter(move |t| t["kind"] == kind);
    let highest = trials("sweep").map(|trial| num(&trial["completed_rate"])).fold(0.0, f64::max);
    let capacity = num(&run["findings"]["capacity"]["rate"]);
    assert!(capacity > 0.5 * highest, "{capacity} of {highest}: {}", verdict(&run));
    let median = |trial: &Value| num(&trial["latency_us"]["p50"]);
    let alone = trials("sweep").map(median).fold(f64::INFINITY, f64::min);
    let offered = trials("search").map(median).fold(f64::INFINITY, f64::min);
    // The search begins near the capacity, where requests queue. The median response time may be up to ten times the
    // median without load. By default, `find` also limits the median response time to ten times the median without
    // load.
    assert!((0.5..10.0).contains(&(offered / alone)), "open loop {offered} us, closed loop {alone} us");
    let knee = &run["findings"]["knee"]["concurrency"];
    assert!(knee.as_f64().is_none_or(|knee| knee > 0.5), "{knee}");
}

/// A load of 300 requests per second.
mod idle {
    use super::*;

    /// The accept queue of another program overflows all the time. The kernel counts overflows of accept queues for the
    /// whole host, not per listener.
    #[test]
    fn connects_that_another_program_drops_are_not_blamed_on_the_server() {
        let test = "another program's full queue";
        let (_alone, binary) = alone_with_release!("another program's full queue");
        let Some(server) = nginx(1, "", "") else { return skip(test, "nginx is not installed") };
        let Some(python) = program("python3") else { return skip(test, "python3 is not installed") };
        let mut command = Command::new(python);
        let mut other =
            ChildProcess::start(command.args(["-c", OVERFLOWS]).stdin(Stdio::piped()).stdout(Stdio::piped()));
        first_line(&mut other.0);
        let before = overflows();
        let url = format!("http://{}/file", server.addr);
        let run = json(&binary, &["load", &url, "--rate", "300", "--new-connections", "--duration", "8s"]);
        assert!(overflows() > before, "the other program drops connects");
        assert_ne!(bottleneck(&run), "accept-queue", "{}", verdict(&run));
        let said =
            format!("{} {}", run["findings"]["bottleneck"]["sentence"], run["findings"]["bottleneck"]["evidence"]);
        assert!(!said.contains("were dropped"), "{said}");
    }
}
