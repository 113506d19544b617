//! Tests of `find` with each protocol and transport. As with HTTP, `find` must report a capacity, the server's cost per
//! request, and a verdict.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::Command;

use serde_json::Value;
use testkit::{ChildProcess, OtherPrograms, Running, alone, binary, eventually, free_port, json, served, total};

fn serve(args: &[&str]) -> Running {
    let mut command = Command::new(binary!());
    command.arg("serve").args(args);
    served(command)
}

/// Checks that a run contains a capacity, the server's cost per request and a verdict, as a run with HTTP does.
fn whole(what: &str, run: &Value) {
    let findings = &run["findings"];
    let rate = findings["capacity"]["rate"].as_f64().unwrap_or_default();
    assert!(rate > 50.0, "{what}: {}", findings["capacity"]);
    let id = findings["bottleneck"]["id"].as_str().unwrap_or_default();
    assert!(!id.is_empty(), "{what}: {}", findings["bottleneck"]);
    let loaded =
        |trial: &&Value| trial["total"]["completed"].as_u64().or(trial["completed"].as_u64()).unwrap_or(0) > 100;
    // Checks the last step with many completed requests. In a later step of the sweep, the server may answer so late
    // that few requests complete.
    let steps = || run["trials"].as_array().unwrap().iter().filter(|t| t["kind"] == "sweep");
    let trial = steps().rev().find(loaded).unwrap();
    let cpu = &trial["server"]["costs"]["process_cpu_us"]["per_request"];
    assert!(cpu.as_f64().is_some_and(|us| us > 0.1), "{what}: {cpu}");
    assert!(trial["errors"].as_object().is_none_or(|errors| errors.is_empty()), "{what}: {}", trial["errors"]);
}

fn find(what: &str, url: &str, more: &[&str]) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run").display().to_string();
    let budget: &[&str] = if more.contains(&"--budget") { &[] } else { &["--budget", "3s"] };
    let args = [&["find", url, "--prove", "off", "--connections", "16", "--out", &out], budget, more].concat();
    let run = json(binary!(), &args);
    whole(what, &run);
    run
}

#[test]
fn every_protocol_has_a_capacity_costs_and_a_verdict() {
    let _alone = alone();
    let (tls, h2) = (serve(&["http", "--tls"]), serve(&["h2"]));
    find("https", &format!("https://localhost:{}/", tls.addr.port()), &["--insecure"]);
    find("http2", &format!("http://{}/", h2.addr), &["--http2"]);
    drop((tls, h2));
    let (redis, grpc, ws) = (serve(&["redis"]), serve(&["grpc"]), serve(&["ws"]));
    find("redis", &format!("redis://{}", redis.addr), &["--command", "INCR n"]);
    find("grpc", &format!("grpc://{}/a.B/C", grpc.addr), &[]);
    find("ws", &format!("ws://{}/", ws.addr), &[]);
}

/// The limit is planted: each request takes 1 ms of the server's only thread, so the capacity is below 1000 requests/s.
#[test]
fn http3_has_a_capacity_costs_and_a_verdict() {
    let _alone = alone();
    let mut command = Command::new(binary!());
    command.args(["serve", "h3", "--option", "work_us=1000"]);
    let server = testkit::ServedOverUdp::start(command);
    let run = find("http3", &format!("h3://{}/", server.addr), &["--insecure", "--budget", "10s"]);
    let findings = &run["findings"];
    let rate = findings["capacity"]["rate"].as_f64().unwrap();
    assert!((300.0..1000.0).contains(&rate), "{}", findings["capacity"]);
    assert_eq!(findings["bottleneck"]["id"], "server-single-thread", "{}", findings["bottleneck"]);
}

#[test]
fn a_unix_socket_has_a_capacity_costs_and_a_verdict() {
    const SERVER: &str = r#"
import socketserver, sys, http.server
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def address_string(self): return "unix"
    def log_message(self, *_): pass
    def do_GET(self):
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
class Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads, request_queue_size = True, 128
Server(sys.argv[1], Handler).serve_forever()
"#;
    let _alone = alone();
    let Some(python) = testkit::program("python3") else { return testkit::skip("find over unix://", "no python3") };
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("s");
    let _server = ChildProcess::start(Command::new(python).args(["-c", SERVER]).arg(&socket));
    eventually(|| socket.exists().then_some(()));
    find("unix", &format!("unix://{}:/", socket.display()), &[]);
}

/// The server handles one request at a time, each in 2.5 ms of wall clock time. If a busy machine delays the server,
/// the server catches up afterwards, so its mean rate is exact. The server allows four streams per connection. The load
/// has eight requests per connection, so four of them must wait for a stream.
#[test]
fn a_limit_of_streams_is_evidence_of_the_verdict() {
    const SERVER: &str = r#"
const http2 = require('node:http2');
const waiting = []; let clock = 0;
setInterval(() => {
  const now = performance.now();
  while (waiting.length > 0 && clock + 2.5 <= now) { clock += 2.5; waiting.shift()(); }
}, 2);
const server = http2.createServer({ settings: { maxConcurrentStreams: 4 } }, (request, response) => {
  request.on('error', () => {});
  if (waiting.length === 0) clock = Math.max(clock, performance.now() - 100);
  waiting.push(() => response.end('ok'));
});
server.on('sessionError', () => {});
server.listen(Number(process.argv[1]), '127.0.0.1');
"#;
    let _alone = alone();
    let Some(node) = testkit::program("node") else { return testkit::skip("find --http2 to streams", "no node") };
    let (port, mut command) = (free_port(), Command::new(node));
    command.args(["-e", SERVER, &port.to_string()]);
    let server = Running::start(command, port, tempfile::tempdir().unwrap());
    // If the machine stalls, one step of the sweep may take a second. The verdict needs several steps, so the budget is
    // long.
    let more = ["--http2", "--streams", "8", "--budget", "15s"];
    let others = OtherPrograms::watch();
    let run = find("streams", &format!("http://{}/", server.addr), &more);
    let verdict = &run["findings"]["bottleneck"];
    let loaded = run["trials"].as_array().unwrap().iter().filter(|trial| trial["stream_limit"] == 4).count();
    assert!(loaded >= 3, "each connection is told the limit: {loaded}");
    if !others.stayed_away("find --http2 to streams") {
        return;
    }
    assert_eq!(verdict["id"], "server-concurrency", "{verdict}");
    let evidence = verdict["evidence"].as_array().unwrap();
    let limit = evidence.iter().find(|line| line["counter"] == "stream_limit");
    let text = limit.and_then(|line| line["text"].as_str()).unwrap_or_default();
    assert!(text.contains("4 streams per connection (SETTINGS_MAX_CONCURRENT_STREAMS)"), "{verdict}");
}

/// At the end of `find`, six or nine short measurements alternate between three uses of connections. The three uses of
/// connections are kept connections, one connection per request with full handshakes, and one connection per request
/// with resumed handshakes.
#[test]
fn find_tells_what_a_handshake_costs() {
    let _alone = alone();
    let server = serve(&["http", "--tls", "--body-bytes", "4KiB"]);
    let url = format!("https://localhost:{}/", server.addr.port());
    let run = find("handshakes", &url, &["--insecure", "--budget", "16s"]);
    let turns: Vec<&Value> =
        run["trials"].as_array().unwrap().iter().filter(|trial| trial["kind"] == "handshakes").collect();
    assert!([6, 9].contains(&turns.len()), "two or three rounds of three kinds: {}", turns.len());
    let of = |label: &str, key: &str| -> u64 {
        let those = turns.iter().filter(|trial| trial["label"] == label);
        those.map(|trial| trial[key].as_u64().unwrap_or(0)).sum()
    };
    let (full, again) = ("a connection for each request", "a connection for each request, sessions resumed");
    assert!(of(full, "handshakes") > 0 && of(full, "handshakes_resumed") == 0, "{}", of(full, "handshakes_resumed"));
    let (made, resumed) = (of(again, "handshakes"), of(again, "handshakes_resumed"));
    // In each measurement, the first handshakes on each of the four connections cannot resume a session, because no
    // ticket has arrived yet.
    assert!(made > 0 && resumed + 24 >= made, "{resumed} of {made}");
    let cost = &run["findings"]["tls_handshake_cpu_us"];
    for side in ["server", "client", "server_resumed", "client_resumed"] {
        assert!(cost[side]["us"].as_f64().is_some_and(|us| us > 1.0), "{side}: {cost}");
    }
    assert!(cost["how"].as_str().is_some_and(|how| how.contains("in turns")), "{cost}");
    let answers = turns.iter().map(|trial| trial["answer_bytes"].as_u64().unwrap_or(0)).sum::<u64>();
    let received = turns.iter().map(|trial| trial["bytes_received"].as_u64().unwrap_or(0)).sum::<u64>();
    assert!(total(&run, "completed") > 0 && answers > 4096 && answers < received, "{answers} of {received}");
}
