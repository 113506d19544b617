//! Tests of gRPC calls whose messages are JSON, against servers that describe themselves by reflection: grpc-go, and
//! grpcio with its reflection package. The servers check the content of the messages.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::{Command, Stdio};

use serde_json::{Value, json as value};
use testkit::{
    ChildProcess, alone, binary, eventually, first_line, go_peers, json, loadline, num, python_with_packages, refused,
    status, total,
};

/// Message for `UnaryCall` of the Go server, which refuses any other content.
const SIMPLE: &str = r#"{"responseSize": 30000, "fillUsername": true, "payload": {"body": "YWJj"}}"#;

struct GoServer {
    _held: ChildProcess,
    url: String,
    dir: tempfile::TempDir,
}

impl GoServer {
    fn start(test: &str) -> Option<Self> {
        let (peers, dir) = (go_peers(test)?, tempfile::tempdir().unwrap());
        let mut held = ChildProcess::start(Command::new(peers).arg("typed").arg(dir.path()).stdout(Stdio::piped()));
        let url = format!("grpc://{}/grpc.testing.TestService/", first_line(&mut held.0));
        Some(Self { _held: held, url, dir })
    }

    /// Waits until the server has counted `expected` calls in all. Returns the server's count.
    fn counted(&self, expected: u64) -> u64 {
        let read = || {
            let text = std::fs::read_to_string(self.dir.path().join("counts")).ok()?;
            text.split(' ').next()?.parse::<u64>().ok()
        };
        eventually(|| read().filter(|count| *count >= expected))
    }

    fn load(&self, method: &str, message: &str, more: &[&str]) -> Value {
        load(&format!("{}{method}", self.url), message, more)
    }
}

fn load(url: &str, message: &str, more: &[&str]) -> Value {
    let args = ["load", url, "--grpc-json", message, "--connections", "2", "--duration", "400ms", "--warmup", "0s"];
    let run = json(binary!(), &[&args[..], &["--at-rest", "0"], more].concat());
    assert_eq!(run["trials"][0]["errors"], value!({}), "{url} {more:?}");
    run
}

#[test]
fn grpc_go_reads_the_messages_and_counts_as_many_calls() {
    let _alone = alone();
    let Some(server) = GoServer::start("gRPC by reflection of grpc-go") else { return };
    let mut calls = 0;
    for more in [&[][..], &["--grpc-gzip", "--streams", "4"]] {
        let run = server.load("UnaryCall", SIMPLE, more);
        let completed = total(&run, "completed");
        calls += completed;
        assert_eq!((status(&run, "OK"), server.counted(calls)), (completed, calls), "{more:?}");
        let bytes = num(&run["trials"][0]["answer_bytes"]) / completed as f64;
        assert!(if more.is_empty() { bytes > 30e3 } else { bytes < 1e3 }, "zeros are short if compressed: {bytes}");
    }
    let run = server.load("StreamingInputCall", &format!("[{0}, {0}]", r#"{"payload": {"body": "YWJj"}}"#), &[]);
    calls += total(&run, "completed");
    assert_eq!(server.counted(calls), calls);
}

/// Each call has two messages of the client, and the server answers them by three messages, the last after 4 ms.
#[test]
fn messages_of_both_directions_are_timed() {
    let _alone = alone();
    let Some(server) = GoServer::start("a gRPC stream of grpc-go") else { return };
    let message = r#"{"responseParameters": [{"size": 10}, {"size": 20}]}
                     {"responseParameters": [{"size": 5, "intervalUs": 4000}]}"#;
    let trial = server.load("FullDuplexCall", message, &["--stream", "grpc"])["trials"][0].clone();
    let streams = num(&trial["measured"]["tally"]["completed"]);
    // Of streams that began before the measured window or ended after it, only the events inside the window are
    // counted.
    assert!((num(&trial["events"]) - 3.0 * streams).abs() < 20.0 && streams > 20.0, "{trial}");
    assert!(num(&trial["gap_us"]["max"]) > 3.9e3 && num(&trial["transfer_us"]["p50"]) > 3.5e3, "{trial}");
}

#[test]
fn a_deadline_ends_a_call_with_its_status() {
    let _alone = alone();
    let Some(server) = GoServer::start("a gRPC deadline of grpc-go") else { return };
    let hanging = SIMPLE.replacen('{', r#"{"fillServerId": true, "#, 1);
    let run = server.load("UnaryCall", &hanging, &["--deadline", "20ms", "--expect-status", "4"]);
    let completed = total(&run, "completed");
    assert_eq!(status(&run, "DEADLINE_EXCEEDED"), completed);
    assert!(completed > 5 && num(&run["trials"][0]["latency_us"]["min"]) > 19e3, "{run}");
    let url = format!("{}UnaryCall", server.url);
    let said = refused(binary!(), &["load", &url, "--grpc-json", &hanging, "--deadline", "20ms"]);
    assert!(said.contains("DEADLINE_EXCEEDED (4)"), "{said}");
    let said = refused(binary!(), &["load", &url, "--grpc-json", "{}"]);
    assert!(said.contains("the message has another content"), "{said}");
}

/// Server whose types exist only in its memory. The server checks the content of each message, and the metadata of each
/// call.
const PYTHON: &str = include_str!("grpc_types.py");

#[test]
fn grpcio_reads_the_messages_and_the_metadata() {
    let _alone = alone();
    let packages = ["grpcio==1.*", "grpcio-reflection==1.*"];
    let python = python_with_packages("gRPC by reflection of grpcio", "grpcio", &packages, PYTHON);
    let Some(mut command) = python else { return };
    let mut held = ChildProcess::start(&mut command);
    let at = first_line(&mut held.0);
    let order = r#"{"id": "7", "names": ["a", "b"], "at": "1970-01-02T00:00:00Z", "counts": {"x": 3}}"#;
    let run = load(&format!("grpc://{at}/shop.Orders/Place"), order, &["-H", "key: v"]);
    assert!(status(&run, "OK") == total(&run, "completed") && status(&run, "OK") > 20, "{run}");
    let three = format!("[{order}, {order}, {order}]");
    let trial = load(&format!("grpc://{at}/shop.Orders/Follow"), &three, &["--stream", "grpc"])["trials"][0].clone();
    assert!(num(&trial["events"]) > 20.0 && num(&trial["gap_us"]["p50"]) > 2.5e3, "{trial}");
    let listed = loadline(binary!(), &["list", "--grpc", &format!("grpc://{at}")]);
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(text.contains("shop.Orders\n  Place   shop.Order -> shop.Order\n"), "{text}");
}
