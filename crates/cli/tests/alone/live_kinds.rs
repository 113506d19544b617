//! Tests of mistakes that earlier versions of loadline made on real servers. In one version of loadline, the verdict
//! blamed the server for connects that another program had dropped. In another version, closed and open loops disagreed
//! on whether response times include handshakes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use testkit::{
    ChildProcess, OtherPrograms, Running, alone_with_release, bottleneck, first_line, json, nginx, num, program,
    served, skip, verdict,
};

/// Python program that opens more connections to its own listener than the accept queue holds, and accepts none of
/// them. The kernel drops the SYNs of further connections, and sends them again after 1 s, 3 s and 7 s.
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
