//! `find` against each protocol and transport: a capacity, what a request costs the server, and a verdict, as for http.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::Command;

use serde_json::Value;
use testkit::{Held, Running, alone, binary, eventually, json, served};

fn serve(args: &[&str]) -> Running {
    let mut command = Command::new(binary!());
    command.arg("serve").args(args);
    served(command)
}

/// Holds that a run of a few seconds says what one of http would.
fn whole(what: &str, run: &Value) {
    let findings = &run["findings"];
    let rate = findings["capacity"]["rate"].as_f64().unwrap_or_default();
    assert!(rate > 50.0, "{what}: {}", findings["capacity"]);
    let id = findings["bottleneck"]["id"].as_str().unwrap_or_default();
    assert!(!id.is_empty(), "{what}: {}", findings["bottleneck"]);
    let loaded =
        |trial: &&Value| trial["total"]["completed"].as_u64().or(trial["completed"].as_u64()).unwrap_or(0) > 100;
    // What is past the limit may be answered too late.
    let steps = || run["trials"].as_array().unwrap().iter().filter(|t| t["kind"] == "sweep");
    let trial = steps().rev().find(loaded).unwrap();
    let cpu = &trial["server"]["costs"]["process_cpu_us"]["per_request"];
    assert!(cpu.as_f64().is_some_and(|us| us > 0.1), "{what}: {cpu}");
    assert!(trial["errors"].as_object().is_none_or(|errors| errors.is_empty()), "{what}: {}", trial["errors"]);
}

fn find(what: &str, url: &str, more: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run").display().to_string();
    let args =
        [&["find", url, "--budget", "3s", "--prove", "off", "--connections", "16", "--out", &out], more].concat();
    whole(what, &json(binary!(), &args));
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
fn a_unix_socket_has_them_too() {
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
    let _server = Held::start(Command::new(python).args(["-c", SERVER]).arg(&socket));
    eventually(|| socket.exists().then_some(()));
    find("unix", &format!("unix://{}:/", socket.display()), &[]);
}
