//! Tests of `tcp://` with real servers that send a greeting first: a NATS server and an SMTP server. loadline's counts
//! must equal those of the server.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json as value};
use testkit::{
    ChildProcess, Running, alone, binary, eventually, first_line, free_port, json, program, python_with_packages, skip,
    total,
};

/// Sends the bytes `request` for each request, and expects `answer_bytes` bytes. Checks that no request failed. Returns
/// the number of completed requests.
fn completed(addr: &str, dir: &Path, request: &str, answer_bytes: &str, more: &[&str]) -> u64 {
    std::fs::write(dir.join("request"), request).unwrap();
    let (url, file) = (format!("tcp://{addr}"), dir.join("request").display().to_string());
    let load = ["load", &url, "--read-first", "line", "--send-file", &file, "--expect-bytes", answer_bytes];
    let window = ["--connections", "3", "--duration", "600ms", "--warmup", "0s", "--at-rest", "0s"];
    let run = json(binary!(), &[&load[..], &window, more].concat());
    assert_eq!(run["trials"][0]["errors"], value!({}), "{more:?}");
    let completed = total(&run, "completed");
    assert!(completed > 20, "{completed}");
    completed
}

const WAYS: [&[&str]; 3] = [&[], &["--pipeline", "4", "--io", "epoll"], &["--new-connections"]];

/// Returns the number of messages that a NATS server has received.
fn messages(monitor: u16) -> u64 {
    let mut stream = TcpStream::connect(("127.0.0.1", monitor)).unwrap();
    stream.write_all(b"GET /varz HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str::<Value>(body).unwrap()["in_msgs"].as_u64().unwrap()
}

/// NATS greets with a line `INFO`, and answers each message with `+OK` unless the client says otherwise.
#[test]
fn messages_equal_those_that_nats_counts() {
    let _alone = alone();
    let Some(nats) = program("nats-server") else { return skip("NATS as the target", "nats-server is not installed") };
    let (port, monitor, dir) = (free_port(), free_port(), tempfile::tempdir().unwrap());
    let mut command = Command::new(nats);
    command.args(["-a", "127.0.0.1", "-p", &port.to_string(), "-m", &monitor.to_string()]);
    let server = Running::start(command, port, dir);
    for more in WAYS {
        let before = messages(monitor);
        let completed = completed(&server.addr.to_string(), server.dir.path(), "PUB load 2\r\nhi\r\n", "5", more);
        assert_eq!(messages(monitor) - before, completed, "{more:?}");
    }
}

/// Server of SMTP that counts the commands NOOP, and writes the count to a file.
const SMTP: &str = r#"
import os, sys, time
from aiosmtpd.controller import Controller
count = 0
class Handler:
    async def handle_NOOP(self, server, session, envelope, arg):
        global count
        count += 1
        return "250 OK"
controller = Controller(Handler(), hostname="127.0.0.1", port=int(sys.argv[1]))
controller.start()
print("127.0.0.1:" + sys.argv[1], flush=True)
while True:
    with open(sys.argv[2] + "/new", "w") as f: f.write(str(count))
    os.rename(sys.argv[2] + "/new", sys.argv[2] + "/count")
    time.sleep(0.02)
"#;

/// SMTP greets with a line `220 …`, and answers NOOP with `250 OK`.
#[test]
fn commands_equal_those_that_an_smtp_server_counts() {
    let _alone = alone();
    let python = python_with_packages("SMTP as the target", "aiosmtpd", &["aiosmtpd==1.*"], SMTP);
    let (Some(mut command), dir) = (python, tempfile::tempdir().unwrap()) else { return };
    let mut server = ChildProcess::start(command.arg(free_port().to_string()).arg(dir.path()));
    let addr = first_line(&mut server.0);
    let mut all = 0;
    for more in WAYS {
        all += completed(&addr, dir.path(), "NOOP\r\n", "8", more);
        let count = || std::fs::read_to_string(dir.path().join("count")).ok()?.parse().ok();
        assert_eq!(eventually(|| count().filter(|count: &u64| *count >= all)), all, "{more:?}");
    }
}
