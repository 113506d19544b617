//! Tests of `--spans` and `--otlp`. loadline must store the spans that a server sends during a run in the run's trial,
//! and push figures of the run to a receiver of metrics.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json as value};
use testkit::{binary, free_port, json};

/// Returns a span in OTLP's JSON form. The span belongs to the trace that the header `traceparent` of a request names.
fn span(traceparent: &str, number: u64, parent: &str, name: &str, (begin_ns, end_ns): (u64, u64)) -> Value {
    let trace: &str = traceparent.split('-').nth(1).unwrap();
    value!({"traceId": trace, "spanId": format!("{number:016x}"), "parentSpanId": parent, "name": name,
            "startTimeUnixNano": begin_ns.to_string(), "endTimeUnixNano": end_ns.to_string()})
}

/// Starts a server that sends spans about its requests to `receiver`. Each request spends 2 ms in a database and 1 ms
/// elsewhere.
fn traced_server(receiver: u16) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, mut piece, mut number) = (client.unwrap(), [0; 4096], 0);
            let mut sender = None;
            while let Ok(n @ 1..) = client.read(&mut piece) {
                let head = String::from_utf8_lossy(&piece[..n]).into_owned();
                let traced = head.lines().find_map(|line| line.strip_prefix("traceparent: "));
                let now_ns = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
                std::thread::sleep(Duration::from_millis(3));
                if let Some(traced) = traced {
                    number += 2;
                    let root = format!("{number:016x}");
                    let spans = [
                        span(traced, number, "", "GET /", (now_ns, now_ns + 3_000_000)),
                        span(traced, number + 1, &root, "SELECT", (now_ns + 500_000, now_ns + 2_500_000)),
                    ];
                    let name = value!([{"key": "service.name", "value": {"stringValue": "shop"}}]);
                    let scope = value!([{"spans": spans}]);
                    let body = value!({"resourceSpans": [{"resource": {"attributes": name}, "scopeSpans": scope}]})
                        .to_string();
                    let sender = sender.get_or_insert_with(|| TcpStream::connect(("127.0.0.1", receiver)).unwrap());
                    let head = "POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json";
                    write!(sender, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
                    let mut answer = [0; 256];
                    let n = sender.read(&mut answer).unwrap();
                    assert!(answer[..n].starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer[..n]));
                }
                client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
            }
        }
    });
    addr
}

/// Starts a receiver of metrics that answers each push. Returns the receiver's address, and a channel with the bodies
/// of the pushes.
fn metrics_receiver() -> (SocketAddr, Receiver<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (addr, (told, bodies)) = (listener.local_addr().unwrap(), channel());
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, mut request, mut piece) = (client.unwrap(), Vec::new(), [0; 65536]);
            let body = loop {
                let n = client.read(&mut piece).unwrap();
                request.extend_from_slice(&piece[..n]);
                let text = String::from_utf8_lossy(&request).into_owned();
                let body = text.split_once("\r\n\r\n").and_then(|(_, body)| serde_json::from_str(body).ok());
                if let Some(body) = body {
                    break body;
                }
            };
            // The test may look for the body as soon as the sender has the answer.
            let _ = told.send(body);
            client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").unwrap();
        }
    });
    (addr, bodies)
}

#[test]
fn spans_of_the_server_and_metrics_of_the_load_join() {
    let port = free_port();
    let (server, (receiver, bodies)) = (traced_server(port), metrics_receiver());
    let (url, otlp) = (format!("http://{server}/"), format!("http://{receiver}"));
    let run = json(
        binary!(),
        &[
            "load",
            &url,
            "--connections",
            "1",
            "--duration",
            "600ms",
            "--warmup",
            "0s",
            "--at-rest",
            "0s",
            "--traceparent",
            "100%",
            "--spans",
            &port.to_string(),
            "--otlp",
            &otlp,
        ],
    );
    let trial = &run["trials"][0];
    let spans = &trial["spans"];
    let traces = spans["traces"].as_u64().unwrap();
    assert!(traces > 2, "{spans}");
    let sum = |name: &str| spans["spans"].as_array().unwrap().iter().find(|sum| sum["name"] == name).unwrap().clone();
    assert_eq!((&sum("GET /")["self_us"], &sum("SELECT")["self_us"]), (&value!(1000.0), &value!(2000.0)));
    // The measured window may begin or end between two spans of one request. The counts of spans and of requests may
    // therefore differ by one request, because there is only one client.
    let count = sum("SELECT")["count"].as_u64().unwrap();
    assert!(sum("SELECT")["service"] == "shop" && traces - count <= 1, "{spans}");
    let last = bodies.try_iter().last().expect("figures were pushed");
    let metrics = last["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap();
    let completed = metrics.iter().find(|metric| metric["name"] == "loadline.requests.completed").unwrap();
    let pushed: u64 = completed["sum"]["dataPoints"][0]["asInt"].as_str().unwrap().parse().unwrap();
    assert!(pushed > 0 && pushed <= trial["completed"].as_u64().unwrap(), "{pushed}");
}
