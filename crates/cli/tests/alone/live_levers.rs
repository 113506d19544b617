//! Levers that are another load, each on a real server where it decides: connections that are kept, and more threads of the generator.
//! (`window` is in `live_window.rs`, since it needs a long way.) Speed relations matter, so these take the release binary.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::Value;
use testkit::{alone_with_release, bottleneck, json, num, serve, verdict};

/// What a lever did: the ends of its interval around the ratio.
#[track_caller]
fn effect(run: &Value, lever: &str) -> [f64; 3] {
    let proof = &run["findings"]["proof"];
    let all = proof["effects"].as_array().unwrap_or_else(|| panic!("no lever of turns was pulled: {proof:#}"));
    let one = all.iter().find(|e| e["lever"] == lever).unwrap_or_else(|| panic!("no {lever}: {proof:#}"));
    ["low", "ratio", "high"].map(|name| num(&one[name]))
}

/// A server that takes four connections each 50 ms, and then answers at once: who connects once waits for that once.
#[test]
fn a_slow_accept_is_proven_by_keeping_connections() {
    let (_alone, binary) = alone_with_release!("proof of accept-queue");
    let slow = ["--model", "epoll", "--backlog", "4", "--option", "accept_every_ms=50", "--option", "accept_batch=4"];
    let server = serve(&binary, 1, &slow);
    let url = format!("http://{}/", server.addr);
    let args = ["prove", &url, "--cpus", "0", "--new-connections", "--connections", "16", "--budget", "32s"];
    let run = json(&binary, &args);
    let proof = &run["findings"]["proof"];
    assert_eq!(
        (bottleneck(&run), &proof["outcome"]),
        ("accept-queue", &"proven".into()),
        "{}\n{proof:#}",
        verdict(&run)
    );
    assert_eq!(proof["measured"]["lever"], "keep-alive", "{proof:#}");
    // Most of an answer's time is the wait to be accepted, which the prediction has to know.
    let predicted = num(&proof["prediction"]["ratio"]);
    let [low, ratio, high] = effect(&run, "keep-alive");
    assert!(predicted > 3.0 && low > 3.0, "{ratio} ({low} to {high}) times as much, predicted {predicted}");
}
