//! Test that `--json-lines` prints lines of JSON, and nothing else, to standard output.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use serde_json::Value;
use testkit::{ChildProcess, binary, loadline, serve};

const SHORT: [&str; 6] = ["--connections", "2", "--warmup", "0s", "--at-rest", "0s"];

#[test]
fn each_second_has_a_line_and_the_last_line_has_the_result() {
    let server = serve(binary!(), 0, &[]);
    let (url, dir) = (format!("http://{}/", server.addr), tempfile::tempdir().unwrap());
    let out = dir.path().join("run").display().to_string();
    let args = [&["load", &url, "--json-lines", "--duration", "1500ms", "--out", &out][..], &SHORT].concat();
    let output = loadline(binary!(), &args);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let result = lines.pop().unwrap();
    assert!(!lines.is_empty() && lines.iter().all(|line| line["line"] == "second"), "{text}");
    let loaded = lines.iter().filter(|line| line["completed"].as_u64().is_some_and(|n| n > 0));
    assert!(loaded.clone().count() > 0, "{text}");
    let sum: u64 = loaded.map(|line| line["completed"].as_u64().unwrap()).sum();
    let run: Value = serde_json::from_slice(&std::fs::read(dir.path().join("run/run.json")).unwrap()).unwrap();
    assert_eq!(result["trials"][0]["completed"], run["trials"][0]["completed"]);
    // Each of the two connections may get one answer after the last line.
    let all = result["trials"][0]["completed"].as_u64().unwrap();
    assert!((all.saturating_sub(2)..=all).contains(&sum), "the last line has the rest: {sum} of {all}");
    let fields = [&result["line"], &result["dir"], &result["exit_status"]].map(ToString::to_string);
    assert_eq!(fields, ["\"result\"".to_owned(), format!("{out:?}"), "0".to_owned()]);
}

#[test]
fn a_reader_that_leaves_ends_the_run_and_its_measurements_are_kept() {
    let server = serve(binary!(), 0, &[]);
    let (url, dir) = (format!("http://{}/", server.addr), tempfile::tempdir().unwrap());
    let mut command = Command::new(binary!());
    command.args(["load", &url, "--json-lines", "--duration", "60s", "--out"]).arg(dir.path().join("run")).args(SHORT);
    let mut child = ChildProcess::start(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()));
    let mut line = String::new();
    BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("{\"line\":\"second\""), "{line}");
    let status = child.0.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    assert!(dir.path().join("run/run.json").exists());
}

#[test]
fn the_last_line_has_the_real_exit_status() {
    let server = serve(binary!(), 0, &[]);
    let (url, dir) = (format!("http://{}/", server.addr), tempfile::tempdir().unwrap());
    // A directory in the place of a file makes the last write fail.
    std::fs::create_dir_all(dir.path().join("run/latency.hlog")).unwrap();
    let out = dir.path().join("run").display().to_string();
    let args = [&["load", &url, "--json-lines", "--duration", "500ms", "--out", &out][..], &SHORT].concat();
    let output = loadline(binary!(), &args);
    let text = String::from_utf8(output.stdout).unwrap();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!((output.status.code(), &last["exit_status"]), (Some(2), &Value::from(2)));
}
