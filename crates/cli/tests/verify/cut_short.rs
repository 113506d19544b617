//! Tests of runs that are killed, or whose server stops answering. loadline must keep the measurements, and mark the
//! run as incomplete.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::{Command, Stdio};

use serde_json::Value;
use testkit::{alone, binary, eventually, loadline, script_server, serve, signal, skip};

#[test]
fn a_killed_run_is_marked_as_incomplete() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let server = serve(binary!(), 0, &[]);
    let mut command = Command::new(binary!());
    command.args(["find", &format!("http://{}/", server.addr), "--budget", "12s", "--out"]).arg(dir.path());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let text = eventually(|| std::fs::read(dir.path().join("run.json")).ok());
    signal(child.id(), "KILL");
    child.wait().unwrap();
    let run: Value = serde_json::from_slice(&text).unwrap();
    assert!(run["interrupted"] == true && !run["trials"].as_array().unwrap().is_empty(), "{:#}", run["interrupted"]);
}

/// Python program of a server that answers for four seconds after the first request. After these four seconds, the
/// server still accepts requests but does not answer, as if the link were broken.
const FALLS_SILENT: &str = r#"
import socketserver, sys, time
begin = []
class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        while data := self.request.recv(65536):
            begin or begin.append(time.monotonic())
            if time.monotonic() - begin[0] > 4:
                time.sleep(3600)
            self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" * data.count(b"\r\n\r\n"))
class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 1024
with Server(("127.0.0.1", 0), Handler) as server:
    print("127.0.0.1:%d" % server.server_address[1], flush=True)
    server.serve_forever()
"#;

#[test]
fn a_server_that_stops_answering_ends_the_run_and_is_its_headline() {
    let _alone = alone();
    let Some((_server, addr)) = script_server(FALLS_SILENT) else {
        return skip("a server that falls silent", "python3 is not installed");
    };
    let dir = tempfile::tempdir().unwrap();
    let (url, out) = (format!("http://{addr}/"), dir.path().to_str().unwrap());
    let args = ["find", &url, "--budget", "12s", "--timeout", "1s", "--connect-timeout", "1s", "--out", out];
    let output = loadline(binary!(), &args);
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let run: Value = serde_json::from_slice(&std::fs::read(dir.path().join("run.json")).unwrap()).unwrap();
    assert!(output.status.code() == Some(1) && run["interrupted"] == true, "{text}");
    assert_eq!(run["findings"]["failure"], "died", "{text}");
    assert!(text.contains("he server, or the path to it, stopped answering"), "{text}");
    let trials = run["trials"].as_array().unwrap();
    assert!(trials.len() >= 2 && trials.last().unwrap()["incidents"].to_string().contains("server-unreachable"));
}

#[test]
fn a_load_fails_if_its_server_stops_answering_for_good() {
    let _alone = alone();
    let Some((_server, addr)) = script_server(FALLS_SILENT) else {
        return skip("a server that falls silent under a load", "python3 is not installed");
    };
    let dir = tempfile::tempdir().unwrap();
    let (url, out) = (format!("http://{addr}/"), dir.path().to_str().unwrap());
    let args =
        ["load", &url, "--connections", "4", "--duration", "7s", "--timeout", "1s", "--at-rest", "0", "--out", out];
    let output = loadline(binary!(), &args);
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let run: Value = serde_json::from_slice(&std::fs::read(dir.path().join("run.json")).unwrap()).unwrap();
    assert!(output.status.code() == Some(1) && run["interrupted"] == true, "{text}");
    assert!(text.contains("he server, or the path to it, stopped answering"), "{text}");
    assert!(run["trials"][0]["incidents"].to_string().contains("silence"), "{text}");
}
