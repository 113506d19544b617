//! Tests of streams of events, which `loadline serve` sends.

use std::process::Command;

use serde_json::Value;
use testkit::{Running, ServedOverUdp, binary, json, loadline, num, refused, served};

/// Starts a server that answers each request with a stream of 20 events. The first event comes after 60 ms, and each
/// further event 10 ms after the previous event.
fn streams(options: &[&str]) -> Running {
    let mut command = Command::new(binary!());
    command.args(["serve", "sse", "--first", "60ms", "--gap", "10ms", "--events", "20"]).args(options);
    served(command)
}

const LOAD: [&str; 9] =
    ["--duration", "1500ms", "--warmup", "200ms", "--at-rest", "0", "--connections", "4", "--stream"];

/// Checks the times of the events. The server sends no event early. On a busy machine, responses take longer, and the
/// gap after a late event is shorter. The bounds therefore follow from the time of a whole response: the first event,
/// and then 19 gaps.
fn assert_times(trial: &Value, what: &str) {
    let [first, gap, whole] = ["first_event_us", "gap_us", "latency_us"].map(|time| num(&trial[time]["p50"]));
    assert!(first >= 58e3 && first < whole / 2.0, "{what}: the first event after {first} us of {whole}");
    assert!(whole >= 240e3, "{what}: a response took {whole} us, which is less than its schedule");
    let mean_gap = (whole - first) / 19.0;
    assert!(gap > mean_gap / 2.0 && gap < 1.5 * mean_gap, "{what}: gaps of {gap} us, on average {mean_gap}");
}

fn load(server: &Running, options: &[&str]) -> Value {
    let url = format!("http://{}/", server.addr);
    json(binary!(), &[&["load", &url][..], &LOAD, options].concat())
}

/// Checks the number of events in the measured window. Each stream that ended in the window has 20 events. At the
/// beginning and at the end of the window, up to four streams are incomplete. A stream takes 250 ms or more, so four
/// clients receive at most 320 events per second.
fn assert_events(trial: &Value, what: &str) {
    let (events, length_s) = (num(&trial["events"]), num(&trial["measured"]["length_s"]));
    let streams = num(&trial["measured"]["tally"]["completed"]);
    assert!(streams >= 4.0 && (events - 20.0 * streams).abs() <= 80.0, "{what}: {events} events, {streams} streams");
    assert!(events / length_s < 340.0, "{what}: {events} in {length_s} s");
}

#[test]
fn a_planted_schedule_is_measured_in_each_format() {
    for (options, format) in [(&[][..], "sse"), (&["-o", "format=ndjson"], "ndjson"), (&[], "chunks")] {
        let server = streams(options);
        let run = load(&server, &[format]);
        let trial = &run["trials"][0];
        assert_schedule(trial, format);
        let [head, first] = ["first_byte_us", "first_event_us"].map(|time| num(&trial[time]["p50"]));
        assert!(head < first / 2.0, "{format}: the head comes at once, not after {head} us");
        assert!((num(&trial["streams_open"]) - 4.0).abs() < 0.2, "{format}: {trial}");
    }
}

/// Streams with the same event times as [`streams`], but over HTTP/2, as a gRPC call whose server streams, and over
/// WebSocket.
#[test]
fn a_planted_schedule_is_measured_over_other_protocols() {
    for (service, scheme, format, options) in [
        ("h2", "h2c", "sse", &[][..]),
        ("h2", "h2c", "chunks", &[]),
        ("grpc", "grpc", "grpc", &["--body-bytes", "8"]),
        ("ws", "ws", "ws", &[]),
        ("ws", "ws", "ws", &["-o", "end=[DONE]"]),
    ] {
        let mut command = Command::new(binary!());
        command.args(["serve", service, "--first", "60ms", "--gap", "10ms", "--events", "20"]).args(options);
        let server = served(command);
        let path = if scheme == "grpc" { "/a.B/C" } else { "/" };
        let url = format!("{scheme}://{}{path}", server.addr);
        let end = if options.contains(&"end=[DONE]") { &["--stream-end", "[DONE]"][..] } else { &[] };
        let run = json(binary!(), &[&["load", &url][..], &LOAD, &[format], end].concat());
        assert_schedule(&run["trials"][0], &format!("{service} {format}"));
    }
}

/// Streams with the same event times as [`streams`], but over QUIC, with several streams on each connection.
#[test]
fn a_planted_schedule_is_measured_over_http3() {
    let mut command = Command::new(binary!());
    command.args(["serve", "h3", "--first", "60ms", "--gap", "10ms", "--events", "20"]);
    let server = ServedOverUdp::start(command);
    let url = format!("h3://{}/", server.addr);
    for (format, connections, streams) in [("sse", "4", "1"), ("chunks", "2", "2")] {
        let load = ["load", &url, "--insecure", "--connections", connections, "--streams", streams, "--stream", format];
        let window = ["--duration", "1500ms", "--warmup", "200ms", "--at-rest", "0"];
        assert_schedule(&json(binary!(), &[&load[..], &window].concat())["trials"][0], &format!("h3 {format}"));
    }
}

/// Checks the measured times and the number of the events, and that no stream failed.
fn assert_schedule(trial: &Value, what: &str) {
    assert_times(trial, what);
    assert_events(trial, what);
    assert_eq!((&trial["errors"], &trial["streams_broken"]), (&serde_json::json!({}), &Value::Null), "{what}");
}

#[test]
fn limits_on_events_decide_the_exit_status_and_are_told() {
    let server = streams(&["-o", "end=[DONE]"]);
    let url = format!("http://{}/", server.addr);
    let run = |options: &[&str]| loadline(binary!(), &[&["load", &url][..], &LOAD, &["sse"], options].concat());
    let held = run(&["--stream-end", "[DONE]", "--gap", "p50<5s", "--first-event", "p50<20s"]);
    let text = String::from_utf8_lossy(&held.stdout);
    assert!(held.status.success() && text.contains("First event") && text.contains("events/s"), "{text}");
    let broken = run(&["--gap", "p50<5ms"]);
    let text = String::from_utf8_lossy(&broken.stdout);
    assert!(broken.status.code() == Some(1) && text.contains("median gap between events"), "{text}");
    let unexpected = run(&["--expect", "gap-p50<5ms"]);
    assert_eq!(unexpected.status.code(), Some(1));
    let unended = run(&["--stream-end", "[END]"]);
    let text = String::from_utf8_lossy(&unended.stderr);
    assert!(unended.status.code() == Some(2) && text.contains("(--stream-end) is not in it"), "{text}");
}

#[test]
fn flags_of_streams_without_use_are_refused() {
    let told = |options: &[&str]| refused(binary!(), &[&["load", "http://127.0.0.1:1/"][..], options].concat());
    assert!(told(&["--gap", "p99<10ms"]).contains("--stream"));
    assert!(told(&["--stream", "xml"]).contains("sse, ndjson, chunks"));
    let redis = refused(binary!(), &["load", "redis://127.0.0.1:1", "--stream", "sse"]);
    assert!(redis.contains("--stream sse is not for this target"), "{redis}");
}
