//! Tests of `find` with protocols in which requests do not wait for each other: HTTP/3, and streams of HTTP/2.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::Command;

use testkit::{OtherPrograms, Running, alone, binary, free_port};

use crate::whole_find::find;

/// The test sets the server's limit: each request takes 1 ms of the server's only thread, so the capacity is below 1000
/// requests/s.
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

/// The server handles one request at a time, each in 2.5 ms of wall clock time. If a busy machine delays the
/// server, the server catches up afterwards, so its mean rate is exact. The server allows four streams per
/// connection. The load has eight requests per connection, so four of them must wait for a stream.
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
    // If the machine stalls, one step of the sweep may take a second. The verdict needs several steps, so the
    // budget is long.
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
