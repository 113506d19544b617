//! Tests of `find` with planted limits: a gRPC server with four workers, and a server that sends at most six streams at
//! a time.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::Value;
use testkit::{alone, binary, json, num, python_server, python_with, script_server, skip};

/// Checks the capacity per second, and that the workers are the limit.
pub(super) fn check(run: &Value, capacity: std::ops::RangeInclusive<f64>) {
    let found = &run["findings"];
    assert!(capacity.contains(&num(&found["capacity"]["rate"])), "{}", found["capacity"]);
    assert_eq!(found["bottleneck"]["id"], "server-concurrency", "{}", found["bottleneck"]);
}

/// Each call occupies one of four workers for 10 ms, so the server completes at most 400 calls/s.
const WORKERS: &str = r#"
import grpc, time
from concurrent import futures
def call(message, context):
    time.sleep(0.01)
    return message
class Handler(grpc.GenericRpcHandler):
    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(call)
server = grpc.server(futures.ThreadPoolExecutor(4))
server.add_generic_rpc_handlers((Handler(),))
port = server.add_insecure_port("127.0.0.1:0")
server.start()
print("127.0.0.1:%d" % port, flush=True)
server.wait_for_termination()
"#;

#[test]
fn find_finds_the_workers_of_a_grpc_server() {
    let _alone = alone();
    let Some(python) = python_with("the workers of a gRPC server", "grpc") else { return };
    let (_server, addr) = python_server(&python, WORKERS, &[]);
    let url = format!("grpc://{addr}/a.B/C");
    let run = json(binary!(), &["find", &url, "--connections", "64", "--budget", "20s", "--prove", "off"]);
    check(&run, 250.0..=400.0);
}

/// Each stream has ten events, one every 10 ms. Six threads send one stream each, so the server completes at most 60
/// streams/s. All other clients wait for a thread.
const SENDERS: &str = r#"
import socket, threading, time
s = socket.create_server(("127.0.0.1", 0), backlog=512)
print("%s:%d" % s.getsockname(), flush=True)
free = threading.Semaphore(6)
def stream(c):
    c.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in range(10):
        time.sleep(0.01)
        c.sendall(b"9\r\ndata: a\n\n\r\n")
    c.sendall(b"0\r\n\r\n")
def talk(c):
    try:
        while c.recv(65536):
            with free: stream(c)
    except OSError: pass
while True:
    threading.Thread(target=talk, args=(s.accept()[0],), daemon=True).start()
"#;

#[test]
fn find_finds_the_streams_that_a_server_sends_at_a_time() {
    let _alone = alone();
    let Some((_server, addr)) = script_server(SENDERS) else {
        return skip("a limit of streams at a time", "python3 is not installed");
    };
    let url = format!("http://{addr}/");
    let run =
        json(binary!(), &["find", &url, "--stream", "sse", "--connections", "64", "--budget", "25s", "--prove", "off"]);
    check(&run, 40.0..=60.0);
}
