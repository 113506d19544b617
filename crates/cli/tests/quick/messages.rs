//! Tests of mistakes on the command line. For each mistake, loadline must print one sentence, which names the mistake
//! and the right command or value.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::{Command, Stdio};

use testkit::{binary, free_port, refused};

#[test]
fn a_mistake_is_answered_in_the_words_of_the_command_line() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("a.log");
    std::fs::write(&log, "127.0.0.1 - - [26/Nov/2026:10:00:00 +0000] \"GET / HTTP/1.1\" 200 5\n").unwrap();
    let (without_rate, header) = (dir.path().join("a.csv"), dir.path().join("b.csv"));
    std::fs::write(&without_rate, "case,clients\na,1\n").unwrap();
    std::fs::write(&header, "case,reads_per_s\n").unwrap();
    let (without_rate, header) = (without_rate.to_str().unwrap(), header.to_str().unwrap());
    let (log, port) = (log.to_str().unwrap(), free_port().to_string());
    let url = "http://127.0.0.1:1/";
    let cases: &[(&[&str], &[&str], &[&str])] = &[
        (&["compare", log, log], &["a.log is not a run of loadline", "run.json"], &["expected value", "line 1"]),
        (&["waits", "--port", &port], &["nothing listens on", "--server-pid"], &[]),
        (&["waits", "--server-pid", "4194305"], &["there is no process 4194305"], &[]),
        (&["load", url, "--errors", "1"], &["\"1\" is not clear", "1% or 100%"], &[]),
        (&["load", url, "--expect", "errors<1"], &["1% or 100%"], &[]),
        (&["load", url, "--rate", "5", "--max-connections", "0"], &["--max-connections is 0"], &[]),
        (&["load", url, "--http2", "--http3"], &["--http2 and --http3 exclude each other"], &[]),
        (&["load", url, "--prepared"], &["--prepared needs a target with postgres"], &["embedded"]),
        (&["import", log, "--origin", "nonsense"], &["--origin \"nonsense\"", "https://example.org"], &[]),
        (&["judge", without_rate], &["no line has a rate", "reads_per_s"], &["Nothing was measured"]),
        (&["judge", header], &["a header and no line"], &[]),
        (&["load", url, "--expect-status", "99"], &["--expect-status is 99", "200 to 599"], &["protocol"]),
        (&["load", url, "--duration", "0s"], &["--duration is 0 s"], &["duration_s"]),
        (&["load", url, "--rate", "-5"], &["\"-5\" is not a rate", "'--rate <R>'"], &["unexpected argument"]),
        (&["find", url, "--connections", "0"], &["--connections is 0"], &["max_connections"]),
        (
            &["lab", "proxy", "--set", "nosuch=1"],
            &["no parameter is called \"nosuch\"", "backends, body_bytes, cold"],
            &[],
        ),
        (&["lab", "proxy", "--set", "bodybytes=1"], &["did you mean \"body_bytes\"?"], &[]),
        (&["lab", "proxy", "--set", "pace=fast"], &["parameter pace needs a number of at least 0, such as 6000"], &[]),
        (&["lab", "proxy", "--model", "epoll"], &["proxy does not compare I/O models"], &[]),
        (&["serve", "http", "--option", "nosuch=1"], &["there is no option \"nosuch\""], &[]),
        (&["serve", "--cpus", "4095"], &["cannot run on CPU 4095", "this machine has CPUs 0"], &["Invalid argument"]),
    ];
    for (line, says, silent) in cases {
        let said = refused(binary!(), line);
        for words in *says {
            assert!(said.contains(words), "{line:?} does not say {words:?}: {said}");
        }
        for words in *silent {
            assert!(!said.contains(words), "{line:?} says {words:?}: {said}");
        }
    }
}

/// The test simulates a program that reads standard error and has ended, as in `2>&1 | head -1`.
#[test]
fn a_closed_standard_error_is_no_panic() {
    let mut command = Command::new(binary!());
    command.args(["load", "http://127.0.0.1:1/", "--duration", "0s"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(2));
}
