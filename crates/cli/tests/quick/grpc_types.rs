//! Tests of gRPC calls whose messages are JSON. The server is `loadline serve grpc`, which describes its service.

use std::process::Command;

use serde_json::json as value;
use testkit::{Running, binary, json, loadline, num, refused, served, status, total};

fn server(options: &[&str]) -> Running {
    let mut command = Command::new(binary!());
    command.args(["serve", "grpc", "--body-bytes", "100"]).args(options);
    served(command)
}

const LOAD: [&str; 8] = ["--connections", "2", "--duration", "300ms", "--warmup", "0s", "--at-rest", "0"];

/// The types come from reflection, from a proto file and from a descriptor set. The bytes on the wire must not depend
/// on the source of the types.
#[test]
fn a_message_from_json_is_sent_with_types_of_each_source() {
    let server = server(&[]);
    let url = format!("grpc://{}/loadline.Calls/Unary", server.addr);
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    std::fs::write(path("calls.proto"), include_str!("../../../serve/src/services/calls.proto")).unwrap();
    std::fs::write(path("message.json"), r#"{"name": "abcd"}"#).unwrap();
    let from_file = format!("@{}", path("message.json"));
    let sent = |more: &[&str]| {
        let run = json(binary!(), &[&["load", &url, "--grpc-json"][..], more, &LOAD].concat());
        let completed = total(&run, "completed");
        assert!(completed > 10 && status(&run, "OK") == completed, "{more:?}: {run}");
        assert_eq!(run["trials"][0]["errors"], value!({}), "{more:?}");
        assert_eq!(run["plan"]["load"]["protocol"]["json"], more[0]);
        assert!(run["plan"]["load"]["protocol"].get("messages").is_none());
        // A call sends one frame with its headers, and one frame with its message. The second frame adds 9 bytes of
        // frame header and a prefix of 5 bytes to the message.
        num(&run["trials"][0]["bytes_sent"]) / total(&run, "sent") as f64
    };
    let reflected = sent(&[r#"{"name": "abcd"}"#]);
    let compiled = sent(&[&from_file, "--proto", &path("calls.proto")]);
    let empty = sent(&["{}"]);
    assert!((reflected - compiled).abs() < 1.0, "{reflected} {compiled}");
    assert!((reflected - empty - 6.0).abs() < 1.0, "the message has 6 bytes: {reflected} {empty}");
}

#[test]
fn several_messages_and_streams_are_timed() {
    let server = server(&["--first", "0ms", "--gap", "2ms", "--events", "5"]);
    let url = format!("grpc://{}/loadline.Calls/Both", server.addr);
    let more = ["--grpc-json", r#"[{"id": 1}, {"id": 2}]"#, "--stream", "grpc", "--grpc-gzip"];
    let run = json(binary!(), &[&["load", &url][..], &more, &LOAD].concat());
    let trial = &run["trials"][0];
    assert!(num(&trial["events"]) > 10.0 && trial["streams_broken"].is_null(), "{trial}");
    // The head comes with the first event, and the last event comes four gaps later. On a busy machine, all times are
    // longer.
    let [gap, transfer, wait] = ["gap_us", "transfer_us", "wait_us"].map(|time| num(&trial[time]["p50"]));
    assert!(transfer > 6e3 && wait < transfer, "{trial}");
    assert!((1.5e3..transfer / 2.0).contains(&gap), "{trial}");
    let one = format!("grpc://{}/loadline.Calls/Unary", server.addr);
    let said = refused(binary!(), &["load", &one, "--grpc-json", "[{}, {}]"]);
    assert!(said.contains("has 2 messages, but loadline.Calls.Unary takes one message"), "{said}");
}

#[test]
fn errors_say_what_to_do() {
    let server = server(&[]);
    let at = |method: &str| format!("grpc://{}/{method}", server.addr);
    for (method, more, says) in [
        ("loadline.Calls/Unary", &["--grpc-json", r#"{"nme": "x"}"#][..], r#"its form is {"id":"0","name":"""#),
        ("loadline.Calls/Unari", &["--grpc-json", "{}"], "did you mean Unary?"),
        ("loadline.Call/Unary", &["--grpc-json", "{}"], "did you mean loadline.Calls?"),
        ("loadline.Calls/Unary", &["--grpc-json", "@/no/such"], "/no/such"),
        ("loadline.Calls/Unary", &["--grpc-json", "{}", "--body", "/dev/null"], "either --body or --grpc-json"),
        ("loadline.Calls/Unary", &["--grpc-json", "{}", "--protoset", "/dev/null"], "no descriptor set"),
        ("loadline.Calls/Unary", &["--deadline", "0s"], "--deadline"),
    ] {
        let said = refused(binary!(), &[&["load", &at(method)][..], more].concat());
        assert!(said.contains(says), "{more:?}: {said}");
    }
    let mut command = Command::new(binary!());
    command.args(["serve", "h2"]);
    let other = served(command);
    let said = refused(binary!(), &["load", &format!("grpc://{}/a.B/C", other.addr), "--grpc-json", "{}"]);
    assert!(said.contains("reflection") && said.contains("--proto"), "{said}");
}

#[test]
fn services_of_a_server_and_of_files_are_listed() {
    let server = server(&[]);
    let listed = |args: &[&str]| {
        let output = loadline(binary!(), &[&["list"], args].concat());
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let all = listed(&["--grpc", &format!("grpc://{}", server.addr)]);
    assert!(all.contains("loadline.Calls\n  Unary    loadline.Request -> loadline.Answer\n"), "{all}");
    assert!(all.contains("  Both     stream loadline.Request -> stream loadline.Answer\n"), "{all}");
    let one = listed(&["--grpc", &format!("grpc://{}/loadline.Calls/Unary", server.addr)]);
    assert!(one.contains(r#"--grpc-json '{"id":"0","name":"","payload":""}'"#), "{one}");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("calls.proto");
    std::fs::write(&file, include_str!("../../../serve/src/services/calls.proto")).unwrap();
    assert_eq!(listed(&["--proto", &file.display().to_string()]), all);
    let said = refused(binary!(), &["list", "--grpc", "http://127.0.0.1:1/"]);
    assert!(said.contains("grpc://"), "{said}");
}
