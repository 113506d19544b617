//! Tests of the first answer, which loadline requests before a load. If the answer counts as a failure, loadline must
//! show the answer and start no load. If the answer is a redirect, the message must say so.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use testkit::{echoing, loadline, served, signal};

const QUICK: &[&str] = &[
    "--duration",
    "200ms",
    "--warmup",
    "50ms",
    "--at-rest",
    "0",
    "--interval",
    "100ms",
    "--json",
    "--connections",
    "1",
];

fn load(args: &[&str]) -> (Option<i32>, String) {
    let output = loadline(Path::new(env!("CARGO_BIN_EXE_loadline")), &[&["load"], args, QUICK].concat());
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_failed_first_answer_is_shown_and_ends_the_run_before_any_load() {
    let (addr, asked) = echoing("422 Unprocessable Entity");
    let url = format!("http://{addr}/path");
    let (status, errors) = load(&[&url]);
    assert_eq!(status, Some(2), "{errors}");
    for words in ["422 Unprocessable Entity", "GET /path HTTP/1.1", "--expect-status 422"] {
        assert!(errors.contains(words), "{words}: {errors}");
    }
    assert_eq!(load(&[&url, "--expect-status", "422"]).0, Some(0), "right when the user says so");
    assert!(asked.lock().unwrap().contains("GET /path"));
}

/// On each connection, the server answers 200 and 301 in turn.
#[test]
fn a_named_status_makes_all_others_errors() {
    use std::io::{BufRead as _, BufReader, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let mut output = stream.try_clone().unwrap();
                let ends_of_heads = BufReader::new(stream).lines().map_while(Result::ok).filter(String::is_empty);
                for (n, _) in ends_of_heads.enumerate() {
                    let status = if n % 2 == 0 { "200 OK" } else { "301 Moved" };
                    let _ = write!(output, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
                }
            });
        }
    });
    assert_eq!(load(&[&url, "--expect", "errors<=0"]).0, Some(0));
    let expect = ["--expect-status", "200", "--expect", "errors<=0"];
    assert_eq!(load(&[&[url.as_str()][..], &expect].concat()).0, Some(1), "half of the answers are 301");
}

/// An earlier version of loadline waited until the timeout, began the timeout again after each signal, and then
/// reported that the server had failed.
#[test]
fn a_signal_ends_the_wait_for_the_first_answer() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    for (command, name) in [("load", "INT"), ("load", "TERM"), ("find", "INT"), ("compare", "INT")] {
        let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_loadline"));
        program.args([command, &url, "--timeout", "10s", "--json"]);
        program.args((command == "compare").then_some(&url));
        program.stderr(std::process::Stdio::piped());
        let child = program.spawn().unwrap();
        let _connection = listener.accept().unwrap();
        signal(child.id(), name);
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{command} {name}: {errors}");
        assert!(errors.contains("interrupted before anything was measured"), "{errors}");
    }
}

#[test]
fn a_failed_first_answer_of_http2_ends_the_run_with_its_text() {
    let binary = Path::new(env!("CARGO_BIN_EXE_loadline"));
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("page"), "x").unwrap();
    let mut command = std::process::Command::new(binary);
    command.args(["serve", "h2", "--root"]).arg(dir.path());
    let server = served(command);
    let none = format!("http://{}/none", server.addr);
    let (status, errors) = load(&[&none, "--http2"]);
    assert_eq!(status, Some(2), "{errors}");
    for words in ["HTTP/2 404", "404 Not Found", "--expect-status 404"] {
        assert!(errors.contains(words), "{words}: {errors}");
    }
    assert_eq!(load(&[&none, "--http2", "--expect-status", "404"]).0, Some(0), "right when the user says so");
}

#[test]
fn the_content_type_comes_from_the_file_name_or_a_flag() {
    let (addr, asked) = echoing("200 OK");
    let (url, dir) = (format!("http://{addr}/"), tempfile::tempdir().unwrap());
    let file = dir.path().join("x.json");
    std::fs::write(&file, "{}").unwrap();
    let body = ["--body", file.to_str().unwrap()];
    for (flags, expected) in [
        (&[][..], "Content-Type: application/json\r\n"),
        (&["--body-type", "text/x"], "Content-Type: text/x\r\n"),
        (&["-H", "content-type: a/b"], "content-type: a/b\r\n"),
    ] {
        assert_eq!(load(&[&[url.as_str()], &body[..], flags].concat()).0, Some(0));
        let asked = asked.lock().unwrap().clone();
        assert!(asked.starts_with("POST / ") && asked.contains(expected), "{expected}: {asked}");
        assert_eq!(asked.to_lowercase().matches("content-type").count(), 1, "{asked}");
    }
}

#[test]
fn a_redirect_is_mentioned_once_with_its_target() {
    let (addr, _) = echoing("301 Moved Permanently\r\nLocation: /elsewhere?token=Planted");
    let (status, errors) = load(&[&format!("http://{addr}/")]);
    assert_eq!((status, errors.matches("/elsewhere").count()), (Some(0), 1), "{errors}");
    assert!(!errors.contains("Planted"), "{errors}");
}
