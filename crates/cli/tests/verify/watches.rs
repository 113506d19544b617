//! Tests of `loadline watch` while another program loads the server, and of the metrics that `--metrics` serves during
//! a run.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::{ChildProcess, Running, binary, eventually, free_port, has, loadline, nginx, num, serve, signal, skip};

/// Starts an external load (a load that loadline does not generate). The load ends when the returned value is dropped.
fn external_load(server: &Running) -> ChildProcess {
    let code = "import sys, socket
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
while True:
    s.sendall(b'GET /file HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n')
    got = s.recv(65536)
    if not got: break";
    let (ip, port) = (server.addr.ip().to_string(), server.addr.port().to_string());
    ChildProcess::start(Command::new("python3").args(["-c", code, &ip, &port]).stderr(Stdio::null()))
}

#[test]
fn an_externally_loaded_server_is_watched_and_unknown_facts_are_stated() {
    if !has("watching nginx", "python3") {
        return;
    }
    let Some(server) = nginx(0, "", "") else { return skip("watching nginx", "nginx is not installed") };
    let _load = external_load(&server);
    let dir = tempfile::tempdir().unwrap();
    let (out, port) = (dir.path().join("run"), server.addr.port().to_string());
    let output = loadline(binary!(), &["watch", "--port", &port, "--duration", "4s", "--out", out.to_str().unwrap()]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let lines = text.lines().filter(|line| line.contains(" s  CPU ") && line.contains("server ")).count();
    assert!((1..=5).contains(&lines), "a line a second: {text}");
    assert!(["Watched for 4", "Watched for 5"].iter().any(|words| text.contains(words)), "{text}");
    assert!(text.contains("without a load of its own"), "{text}");
    assert!(text.contains("response times"), "{text}");
    let run: Value = serde_json::from_slice(&std::fs::read(out.join("run.json")).unwrap()).unwrap();
    let trial = &run["trials"][0];
    assert!(run["interrupted"] == false && trial["kind"] == "watched", "{}", trial["kind"]);
    assert!(num(&trial["server"]["counters"]["process.cpu"]) > 0.0, "{}", trial["server"]["counters"]["process.cpu"]);
    assert!(trial["server"]["processes"].to_string().contains("nginx:"));
    for command in ["judge", "report"] {
        let said = loadline(binary!(), &[command, out.to_str().unwrap()]);
        assert!(said.status.success() && String::from_utf8_lossy(&said.stdout).contains("without a load of its own"));
    }
}

#[test]
fn a_watch_of_the_threads_prints_the_same_table_as_waits() {
    let server = serve(binary!(), 0, &[]);
    let port = server.addr.port().to_string();
    let lines = |args: &[&str]| -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let command = [args, &["--port", &port, "--duration", "1s"]].concat();
        let output =
            Command::new(binary!()).args(&command).current_dir(dir.path()).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).lines().map(|line| line.trim().into()).collect()
    };
    // Each column is as wide as its longest word, so the test ignores the number of spaces.
    let words = |line: &String| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let waits = lines(&["waits"]);
    let heading = waits.iter().find(|line| line.contains("activity")).map(words).expect("a heading");
    let idle = |lines: &[String]| lines.iter().any(|line| line.contains("idle: waits for"));
    let has_heading = |lines: &[String]| lines.iter().any(|line| words(line) == heading);
    let (with, without) = (lines(&["watch", "--waits"]), lines(&["watch"]));
    assert!(idle(&waits) && idle(&with) && has_heading(&with), "{heading:?} is not in {with:#?}");
    assert!(with.iter().any(|line| line.contains("cost of the sampling")), "{with:#?}");
    assert!(!idle(&without) && !has_heading(&without), "{without:#?}");
}

#[test]
fn a_killed_watch_keeps_its_samples() {
    let server = serve(binary!(), 0, &[]);
    let dir = tempfile::tempdir().unwrap();
    let (out, port) = (dir.path().join("run"), server.addr.port().to_string());
    let mut command = Command::new(binary!());
    command.args(["watch", "--port", &port, "--interval", "100ms", "--out"]).arg(&out);
    let mut watch = ChildProcess::start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
    let read = || serde_json::from_slice::<Value>(&std::fs::read(out.join("run.json")).ok()?).ok();
    let samples = |run: &Value| testkit::recording(run, 0, "server")["t_s"].as_array().map_or(0, Vec::len);
    eventually(|| read().filter(|run| samples(run) > 3));
    signal(watch.pid(), "KILL");
    watch.0.wait().unwrap();
    let run = read().expect("a whole file, whenever it was killed");
    assert!(run["interrupted"] == true && run["trials"][0]["kind"] == "watched", "{}", run["interrupted"]);
    let said = loadline(binary!(), &["report", out.to_str().unwrap()]);
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.status.success() && text.contains("Interrupted") && text.contains("Watched for"), "{text}");
}

#[test]
fn a_target_that_cannot_be_watched_gives_advice() {
    let port = free_port().to_string();
    for (args, says) in [
        (vec!["watch"], "--server-pid"),
        (vec!["watch", "--port", "0"], "8080"),
        (vec!["watch", "--port", port.as_str(), "--duration", "1s"], "nothing listens"),
        (vec!["watch", "--server-pid", "4194305", "--duration", "1s"], "there is no process"),
        (vec!["waits"], "PID"),
        (vec!["waits", "--port", port.as_str(), "--duration", "1s"], "nothing listens"),
        (vec!["waits", "4194305", "--duration", "1s"], "there is no process"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let output = Command::new(binary!()).args(&args).current_dir(dir.path()).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(says), "{args:?}: {said}");
    }
}

#[test]
fn metrics_are_served_during_a_run_and_slow_readers_do_not_delay_it() {
    if !has("metrics by curl", "curl") {
        return;
    }
    let server = serve(binary!(), 0, &[]);
    let dir = tempfile::tempdir().unwrap();
    let (url, port) = (format!("http://{}/", server.addr), free_port());
    let mut command = Command::new(binary!());
    command.args(["load", &url, "--connections", "2", "--duration", "60s", "--at-rest", "100ms", "--metrics"]);
    command.arg(format!(":{port}")).arg("--out").arg(dir.path().join("run"));
    let mut run = ChildProcess::start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
    // Two clients do not send a valid request: the first sends nothing, and the second sends a request line without an
    // end.
    let silent = eventually(|| TcpStream::connect(("127.0.0.1", port)).ok());
    let mut endless = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let _ = endless.write_all(&[b'x'; 20_000]);
    let ask = |path: &str| {
        let at = format!("http://127.0.0.1:{port}{path}");
        let output = Command::new("curl").args(["-s", "-i", "--max-time", "10", &at]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let text = eventually(|| {
        let text = ask("/metrics");
        let on = text.contains("loadline_trial_response_seconds{") && text.contains("side=\"server\",kind=\"user\"");
        on.then_some(text)
    });
    assert!(text.contains("application/openmetrics-text; version=1.0.0") && text.ends_with("# EOF\n"), "{text}");
    for family in
        ["requests_completed_total{trial=\"1\"", "completed_rate{", "processes_cpus{", "# TYPE loadline_trial_errors"]
    {
        assert!(text.contains(family), "{family} is missing: {text}");
    }
    assert!(ask("/elsewhere").starts_with("HTTP/1.1 404"));
    // Sixty clients send nothing, and loadline waits up to 10 s for each of them. If the server served one client at a
    // time, the answer would take minutes.
    let slow: Vec<TcpStream> = (0..60).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
    let begin = Instant::now();
    assert!(ask("/metrics").ends_with("# EOF\n"));
    let (with, begin) = (begin.elapsed(), Instant::now());
    drop(slow);
    assert!(ask("/metrics").ends_with("# EOF\n"));
    assert!(with < begin.elapsed() + Duration::from_secs(6), "slow clients made another one wait for {with:?}");
    signal(run.pid(), "INT");
    assert_eq!(run.0.wait().unwrap().code(), Some(130), "it ends as it does without anybody there");
    let mut nothing = Vec::new();
    let _ = (&silent).read_to_end(&mut nothing);
    assert!(nothing.is_empty());
}
