//! Tests of servers on Unix sockets. loadline's counts must equal the counts in the server's log, and loadline must
//! find the server's process from the socket.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use serde_json::Value;
use testkit::{ChildProcess, Running, alone, binary, eventually, has, json, nginx, recording, skip, total};

/// Backlog of the server's listening socket. loadline must report the backlog as the limit of the accept queue.
const BACKLOG: u64 = 64;

/// Starts nginx on a Unix socket. Returns nginx and the path of the socket.
fn server(test: &str) -> Option<(Running, String)> {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.keep().join("app.sock").display().to_string();
    let http = format!("server {{ listen unix:{socket} backlog={BACKLOG}; location / {{ return 200 hello; }} }}");
    let server = nginx(0, "", &http);
    if server.is_none() {
        skip(test, "nginx is not installed");
    }
    Some((server?, socket))
}

/// Waits until the log has `expected` lines, and returns the number of lines.
fn logged(server: &Running, expected: u64) -> u64 {
    let log = server.dir.path().join("access");
    let lines = || std::fs::read_to_string(&log).unwrap_or_default().lines().count() as u64;
    eventually(|| Some(lines()).filter(|n| *n >= expected))
}

fn last(run: &Value, counter: &str) -> Option<f64> {
    let columns = recording(run, 0, "server");
    let columns = columns["columns"].as_array()?;
    let column = columns.iter().find(|c| c["counter"] == counter)?;
    column["values"].as_array()?.iter().rev().find_map(Value::as_f64)
}

#[test]
fn unix_socket_counts_equal_the_server_s_and_its_queue_is_read() {
    let _alone = alone();
    let Some((server, socket)) = server("unix socket") else { return };
    let url = format!("unix://{socket}:/");
    let mut expected = 0;
    for options in [&["--io", "epoll"][..], &["--io", "auto"], &["--new-connections"]] {
        let mut args = vec!["load", &url, "--connections", "8", "--duration", "1s", "--warmup", "0s"];
        args.extend(options);
        let run = json(binary!(), &args);
        assert_eq!(run["trials"][0]["errors"], serde_json::json!({}), "{options:?}");
        let completed = total(&run, "completed");
        assert!(completed > 100, "{options:?}: {completed}");
        assert_eq!(total(&run, "sent"), completed);
        expected += completed;
        assert_eq!(last(&run, "listen.limit"), Some(BACKLOG as f64), "{options:?}");
        let processes = run["trials"][0]["server"]["processes"].to_string();
        assert!(processes.contains(&format!("nginx:{}", server.pid())), "{processes}");
    }
    assert_eq!(logged(&server, expected), expected);
}

#[test]
fn a_socket_without_a_server_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("unix://{}:/", dir.path().join("none.sock").display());
    let output = testkit::loadline(binary!(), &["load", &url, "--duration", "100ms"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("none.sock") && said.contains("correct the path"), "{said}");
}

/// The server is a Python application that gunicorn runs. Each line of gunicorn's log contains the status and the path
/// of a request.
#[test]
fn counts_equal_the_log_of_gunicorn() {
    const APP: &str = r#"
def app(asked, begin):
    body = b"hello from " + asked["PATH_INFO"].encode()
    begin("200 OK", [("Content-Length", str(len(body)))])
    return [body]
"#;
    let test = "gunicorn on a unix socket";
    let _alone = alone();
    if !has(test, "gunicorn") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (socket, log) = (dir.path().join("app.sock"), dir.path().join("log"));
    std::fs::write(dir.path().join("app.py"), APP).unwrap();
    let mut command = Command::new("gunicorn");
    command.args([
        "--workers",
        "1",
        "--worker-class",
        "gthread",
        "--threads",
        "8",
        "--access-logformat",
        "%(s)s %(U)s",
    ]);
    command.arg("--bind").arg(format!("unix:{}", socket.display())).arg("--access-logfile").arg(&log);
    command.arg("--chdir").arg(dir.path()).arg("app:app").stderr(Stdio::null());
    let server = ChildProcess::start(&mut command);
    eventually(|| UnixStream::connect(&socket).ok());
    let url = format!("unix://{}:/page", socket.display());
    let mut expected = 0;
    for more in [&[][..], &["--new-connections"]] {
        let args = ["load", &url, "--connections", "4", "--duration", "1s", "--warmup", "0s"];
        let run = json(binary!(), &[&args[..], more].concat());
        assert_eq!(run["trials"][0]["errors"], serde_json::json!({}), "{more:?}");
        let completed = total(&run, "completed");
        assert!(completed > 20 && total(&run, "sent") == completed, "{more:?}: {completed}");
        expected += completed as usize;
        let text = testkit::logged(&log, expected);
        assert_eq!(text.lines().filter(|line| *line == "200 /page").count(), expected, "{more:?}");
        // gunicorn's worker is a child of the listening process. loadline must find the worker from the socket, too.
        let processes = run["trials"][0]["server"]["processes"].to_string();
        assert!(processes.contains(&server.pid().to_string()), "{processes}");
    }
}
