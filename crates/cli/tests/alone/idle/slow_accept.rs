//! Tests of levers (temporary changes by an experiment) that change the load: keeping connections open, and more
//! generator threads. Each test uses a real server with the limit that the tested lever is meant to find. (The lever
//! `window` needs a long round-trip time, and is tested in `live_window.rs`.) These tests need the release binary,
//! because their results depend on the relative speeds of client and server.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::Value;
use testkit::{alone_with_release, bottleneck, json, num, serve, verdict};

/// Returns the effect of a lever: throughput with the lever, divided by throughput without the lever. The array
/// contains the lower end of the ratio's interval, the ratio, and the upper end of the interval.
#[track_caller]
fn effect(run: &Value, lever: &str) -> [f64; 3] {
    let proof = &run["findings"]["proof"];
    let all = proof["effects"].as_array().unwrap_or_else(|| panic!("no lever of turns was pulled: {proof:#}"));
    let one = all.iter().find(|e| e["lever"] == lever).unwrap_or_else(|| panic!("no {lever}: {proof:#}"));
    ["low", "ratio", "high"].map(|name| num(&one[name]))
}

/// The server of this test accepts four connections every 50 ms, and answers requests at once. A client that keeps its
/// connection open waits only once until the server accepts the connection.
#[test]
fn a_slow_accept_is_proven_by_keeping_connections() {
    let (_alone, binary) = alone_with_release!("proof of accept-queue");
    let slow = ["--model", "epoll", "--backlog", "4", "--option", "accept_every_ms=50", "--option", "accept_batch=4"];
    let server = serve(&binary, 1, &slow);
    let url = format!("http://{}/", server.addr);
    let args = ["prove", &url, "--cpus", "0", "--new-connections", "--connections", "16", "--budget", "24s"];
    let run = json(&binary, &args);
    let proof = &run["findings"]["proof"];
    assert_eq!(
        (bottleneck(&run), &proof["outcome"]),
        ("accept-queue", &"proven".into()),
        "{}\n{proof:#}",
        verdict(&run)
    );
    assert_eq!(proof["measured"]["lever"], "keep-alive", "{proof:#}");
    // Most of the response time is a wait in the accept queue. The prediction must include the wait in the accept
    // queue.
    let predicted = num(&proof["prediction"]["ratio"]);
    let [low, ratio, high] = effect(&run, "keep-alive");
    assert!(predicted > 3.0 && low > 3.0, "{ratio} ({low} to {high}) times as much, predicted {predicted}");
}
