//! Tests of `find` with each protocol and transport. As with HTTP, `find` must report a capacity, the server's cost per
//! request, and a verdict. The tests allow any verdict, so other programs may run at the same time.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::Command;

use serde_json::Value;
use testkit::{ChildProcess, Running, alone, binary, eventually, json, served, total, verdict};

use crate::whole_find::find;

fn serve(args: &[&str]) -> Running {
    let mut command = Command::new(binary!());
    command.arg("serve").args(args);
    served(command)
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

/// The sweep (closed loops with more and more clients), the search (open loops) and the experiment must all use the
/// streams that the user requested.
#[test]
fn streams_are_used_in_every_part_of_find() {
    let _alone = alone();
    let server = serve(&["h2"]);
    let url = format!("http://{}/", server.addr);
    let run = json(binary!(), &["find", &url, "--http2", "--streams", "8", "--budget", "16s"]);
    for kind in ["sweep", "search", "proof"] {
        let trials = run["trials"].as_array().unwrap().iter().filter(|trial| trial["kind"] == kind);
        let streams: Vec<&Value> = trials.map(|trial| &trial["intensity"]["pipeline"]).collect();
        assert!(!streams.is_empty() && streams.iter().all(|n| **n == 8), "{kind}: {streams:?}\n{}", verdict(&run));
    }
}
