//! Tests of `--traceparent`: a share of the requests carries a trace context, and the run names the slowest of these
//! requests.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;
use testkit::{ServedOverUdp, binary, json, refused, reporting, served, total};

/// Returns the value of a request's header `traceparent`; empty without this header.
fn traceparent(request: &str) -> &str {
    request.lines().find_map(|line| line.strip_prefix("traceparent: ")).unwrap_or_default()
}

const SHORT: [&str; 8] = ["--connections", "1", "--duration", "300ms", "--warmup", "0s", "--at-rest", "0s"];

#[test]
fn the_ids_of_the_run_are_those_that_the_server_got() {
    let (addr, requests) = reporting();
    let url = format!("http://{addr}/");
    let run = json(binary!(), &[&["load", &url, "--traceparent", "50%"], &SHORT[..]].concat());
    let all: Vec<String> = requests.try_iter().collect();
    let traced: BTreeSet<&str> =
        all.iter().map(|request| traceparent(request)).filter(|value| !value.is_empty()).collect();
    let (count, requests) = (total(&run, "traced"), total(&run, "completed"));
    assert_eq!(count as usize, traced.len(), "each trace comes once");
    assert!(count > requests / 4 && count < requests * 3 / 4, "{count} of {requests}");
    let slowest = run["trials"][0]["slowest_traces"].as_array().unwrap();
    assert!(!slowest.is_empty() && slowest.len() <= 100);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    for request in slowest {
        let value = format!("00-{}-{}-01", text(&request["trace_id"]), text(&request["span_id"]));
        assert!(traced.contains(&*value), "{value}");
        assert_eq!(request["status"], "200");
    }
    let times: Vec<f64> = slowest.iter().map(|request| request["latency_us"].as_f64().unwrap()).collect();
    assert!(times.is_sorted_by(|a, b| a >= b), "{times:?}");
}

#[test]
fn http3_requests_have_a_trace_context_too() {
    let mut command = Command::new(binary!());
    command.args(["serve", "h3"]);
    let server = ServedOverUdp::start(command);
    let url = format!("h3://{}/", server.addr);
    let run = json(binary!(), &[&["load", &url, "--insecure", "--traceparent", "100%"], &SHORT[..]].concat());
    // All sent requests carry a trace context, except the test request before the load.
    assert!(total(&run, "traced") > 0 && total(&run, "traced") + 1 == total(&run, "sent"), "{}", run["trials"][0]);
    assert_eq!(run["trials"][0]["errors"], serde_json::json!({}));
    assert!(!run["trials"][0]["slowest_traces"].as_array().unwrap().is_empty());
}

#[test]
fn http2_requests_have_a_trace_context_too_and_other_protocols_refuse_it() {
    let mut command = Command::new(binary!());
    command.args(["serve", "h2"]);
    let server = served(command);
    let url = format!("http://{}/", server.addr);
    let run = json(binary!(), &[&["load", &url, "--http2", "--traceparent", "100%"], &SHORT[..]].concat());
    // Of all sent requests, only the test request before the load has no trace context.
    assert!(total(&run, "traced") > 0 && total(&run, "traced") + 1 == total(&run, "sent"), "{}", run["trials"][0]);
    assert_eq!(run["trials"][0]["errors"], serde_json::json!({}));
    let said = refused(binary!(), &["load", "redis://127.0.0.1:1", "--traceparent", "1%"]);
    assert!(said.contains("only requests of http://"), "{said}");
    let said = refused(binary!(), &["load", &url, "--traceparent", "1%", "-H", "traceparent: x"]);
    assert!(said.contains("leave out the header traceparent"), "{said}");
}
