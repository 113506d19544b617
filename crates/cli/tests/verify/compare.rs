//! Tests of `loadline compare` with differences that other programs cannot hide. The servers fail, the pages are long
//! and encrypted, or one run has half of another run's throughput. Further tests are about commands that end early.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::process::{Command, Stdio};

use testkit::binary;

use crate::compare_command::{compare, cpus_of, text, unpinned};

/// Creates two stored runs with twelve windows each. The second run has 52 % of the first run's throughput. A live
/// server cannot be slowed by an exact share, so the second run's file is made from the first. The server sleeps for 2
/// ms per request, so that other programs hardly change the throughput from window to window.
fn two_runs(dir: &Path) -> [String; 2] {
    let server =
        testkit::serve(binary!(), 0, &["--model", "workers", "--option", "workers=2", "--option", "sleep_ms=2"]);
    let (url, old) = (format!("http://{}/", server.addr), dir.join("old"));
    let load = ["load", &url, "--connections", "2", "--duration", "500ms", "--at-rest", "0", "--repeat", "12", "--out"];
    let status = Command::new(binary!()).args(load).arg(&old).output().unwrap();
    assert!(status.status.success(), "{}", text(&status));
    let mut run: serde_json::Value = serde_json::from_slice(&std::fs::read(old.join("run.json")).unwrap()).unwrap();
    for trial in run["trials"].as_array_mut().unwrap() {
        trial["completed_rate"] = (trial["completed_rate"].as_f64().unwrap() * 0.52).into();
    }
    let new = dir.join("new");
    std::fs::create_dir(&new).unwrap();
    std::fs::write(new.join("run.json"), run.to_string()).unwrap();
    [old, new].map(|p| p.display().to_string())
}

#[test]
fn a_regression_beyond_the_threshold_exits_with_1() {
    let _alone = testkit::alone();
    let dir = tempfile::tempdir().unwrap();
    let [old, new] = two_runs(dir.path());
    let [(old, new), back] = [(&*old, &*new), (&*new, &*old)];
    let code = |arguments: &[&str]| {
        let output = compare(arguments);
        (output.status.code(), text(&output))
    };
    let (status, said) = code(&[old, new]);
    assert!(status == Some(1) && said.contains("Regression: "), "{said}");
    // If other programs use the machine, a figure may be undecided, but no figure may have become worse.
    let lenient = ["--threshold", "99%", "--undecided", "pass"];
    assert_eq!(code(&[&[old, new], &lenient[..]].concat()).0, Some(0));
    let (status, said) = code(&[back.0, back.1, "--undecided", "pass"]);
    assert!(status == Some(0) && said.contains("completed rate") && said.contains("faster"), "{said}");
    let again = |run: &str| {
        let copy = format!("{run}-again");
        std::fs::create_dir(&copy).unwrap();
        std::fs::copy(Path::new(run).join("run.json"), Path::new(&copy).join("run.json")).unwrap();
        copy
    };
    let (old_again, new_again) = (again(old), again(new));
    let (status, said) = code(&["--old", old, &old_again, "--new", new, &new_again, "--json"]);
    assert!(status == Some(1) && said.contains("24"), "{said}");
    let (status, said) = code(&["--old", old, &format!("{old}/run.json"), "--new", new]);
    assert!(status == Some(2) && said.contains("twice"), "a run is not a repeat of itself: {said}");

    let with = |arguments: &[&str]| {
        let mut command = Command::new(binary!());
        let output = command.arg("compare").args(arguments).current_dir(&dir).output().unwrap();
        (output.status.code(), text(&output))
    };
    let named = |run: &str| with(&[run, "--baseline", "main", "--undecided", "pass"]);
    let (status, said) = named(old);
    assert!(status == Some(0) && said.contains("is now the baseline main"), "{said}");
    assert_eq!(named(old).0, Some(0), "the same run");
    let (status, said) = named(new);
    assert!(status == Some(1) && said.contains("Regression: "), "{said}");
    let (status, said) = with(&[new, "--baseline", "main", "--replace"]);
    assert!(status == Some(0) && said.contains("is now the baseline main"), "{said}");
    assert_eq!(named(new).0, Some(0), "the baseline is the new run now");
    let (status, said) = with(&[old, "--baseline", "kept/by-path"]);
    assert!(status == Some(0) && dir.path().join("kept/by-path/run.json").is_file(), "{said}");
    assert_eq!(with(&[new, "--baseline", "kept/by-path"]).0, Some(1));
    let (status, said) = with(&["--new", new, &new_again, "--baseline", "of-two"]);
    assert!(status == Some(2) && said.contains("2 new runs, but only one can be the baseline"), "{said}");
    let (status, said) = with(&[old, "--baseline", old, "--replace"]);
    assert!(status == Some(2) && said.contains("needs the name of a baseline"), "{said}");
}

/// The test sends Ctrl-C in the middle of the comparison. loadline must compare the windows that it has measured by
/// then, and the exit status must report the interruption.
#[test]
fn an_interrupted_comparison_of_live_servers_ends_as_one() {
    let _alone = testkit::alone();
    let program = binary!();
    let (a, b) = (testkit::serve(program, 0, &[]), testkit::serve(program, 0, &["--option", "work_us=300"]));
    let urls = [&a, &b].map(|s| format!("http://{}/", s.addr));
    let begin = |budget: &str| {
        let mut command = Command::new(program);
        command.args(["compare", &urls[0], &urls[1], "--budget", budget, "--json"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let child = begin("120s");
    std::thread::sleep(std::time::Duration::from_secs(6));
    testkit::signal(child.id(), "INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output));
    let said = text(&output);
    assert!(said.contains("ended early") || said.contains("nothing to compare"), "{said}");
}

/// Returns a command that starts a server and kills it after `after_s` seconds.
fn dying(port: u16, after_s: f64) -> String {
    let program = binary!().display();
    format!("{program} serve --listen 127.0.0.1:{port} & server=$!; sleep {after_s}; kill -9 $server; sleep 60")
}

/// Way in which a server fails after it has answered well for some time.
#[derive(Clone, Copy, Debug)]
enum Turn {
    /// Each response has status 500.
    Failing,
    /// The server accepts no connection, and closes the open connections.
    Closed,
    /// Connections stay open, but no response comes.
    Silent,
}

/// Starts a server at a free port. The server fails after `after` responses.
fn turning(turn: Turn, after: usize) -> std::net::SocketAddr {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let answered = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = |answered: &std::sync::atomic::AtomicUsize| answered.load(std::sync::atomic::Ordering::SeqCst);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            if matches!(turn, Turn::Closed) && count(&answered) >= after {
                return;
            }
            let (mut stream, answered) = (stream.unwrap(), std::sync::Arc::clone(&answered));
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                while stream.read(&mut buffer).is_ok_and(|n| n > 0) {
                    let turned = answered.fetch_add(1, std::sync::atomic::Ordering::SeqCst) >= after;
                    let status = match turn {
                        Turn::Failing if turned => "500 Internal Server Error",
                        Turn::Closed if turned => return,
                        Turn::Silent if turned => loop {
                            std::thread::park();
                        },
                        _ => "200 OK",
                    };
                    let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\nok");
                    if stream.write_all(answer.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    at
}

#[test]
fn a_server_that_dies_or_fails_under_the_load_is_a_regression() {
    let _alone = testkit::alone();
    let server = testkit::serve(binary!(), 0, &[]);
    let good = format!("http://{}/", server.addr);
    let port = testkit::free_port();
    let new = format!("http://127.0.0.1:{port}/");
    let output =
        compare(&[&good, &new, "--command-b", &dying(port, 3.0), "--budget", "12s", "--connections", "4", "--json"]);
    let found: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output)));
    assert!(output.status.code() == Some(1) && found["outcome"] == "regressed", "{found}");
    assert!(found["deaths"][0]["new"] == true && found["verdict"] == "slower", "{found}");
    for turn in [Turn::Failing, Turn::Closed, Turn::Silent] {
        let new = format!("http://{}/", turning(turn, 500));
        let arguments = [&good, &new, "--budget", "6s", "--connections", "4", "--undecided", "pass"];
        let output = compare(&arguments);
        let said = text(&output);
        assert!(output.status.code() == Some(1) && said.contains("Regression"), "{turn:?}: {said}");
        assert!(!said.contains("same within") || said.contains("Regression"), "{turn:?}: {said}");
    }
}

#[test]
fn a_saved_run_of_a_server_that_died_is_a_regression() {
    let _alone = testkit::alone();
    let (program, dir) = (binary!(), tempfile::tempdir().unwrap());
    let good = testkit::serve(Path::new(program), 0, &[]);
    let load = |url: &str, name: &str| {
        let out = dir.path().join(name).display().to_string();
        let load = ["load", url, "--connections", "2", "--duration", "2s", "--at-rest", "0", "--out", &out];
        let output = Command::new(program).args(load).output().unwrap();
        assert!(Path::new(&out).join("run.json").is_file(), "{}", text(&output));
        out
    };
    let old = load(&format!("http://{}/", good.addr), "old");
    for turn in [Turn::Closed, Turn::Silent, Turn::Failing] {
        let new = load(&format!("http://{}/", turning(turn, 200)), &format!("{turn:?}"));
        let output = compare(&[&old, &new, "--undecided", "pass"]);
        assert_eq!(output.status.code(), Some(1), "{turn:?}: {}", text(&output));
    }
}

/// A killed comparison leaves each server with only a part of its CPUs. The next command of loadline must give both
/// servers all their CPUs back.
#[test]
fn servers_of_a_killed_comparison_get_back_the_cpus_that_they_had() {
    let _alone = testkit::alone();
    let (a, b) = (unpinned(200), unpinned(400));
    let before = cpus_of(a.pid());
    if !before.contains(['-', ',']) {
        return testkit::skip("servers_of_a_killed_comparison", "there is one CPU");
    }
    let urls = [&a, &b].map(|s| format!("http://{}/", s.addr));
    let mut command = Command::new(binary!());
    command.args(["compare", &urls[0], &urls[1], "--duet", "always", "--connections", "4", "--json"]);
    let mut killed = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    testkit::eventually(|| (cpus_of(a.pid()) != before).then_some(()));
    killed.kill().unwrap();
    killed.wait().unwrap();
    let load = ["load", &urls[0], "--connections", "1", "--duration", "500ms", "--at-rest", "0"];
    let output = Command::new(binary!()).args(load).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!([cpus_of(a.pid()), cpus_of(b.pid())], [before.clone(), before]);
    let never = compare(&[&urls[0], &urls[1], "--duet", "never", "--budget", "4s", "--json"]);
    let found: serde_json::Value = serde_json::from_slice(&never.stdout).unwrap();
    assert!(found["turns"]["at_once"].is_null(), "{found}");
}

/// The page is long, so the cost of encrypting it is larger than disturbances by other programs.
#[test]
fn the_cost_of_tls_is_measured_by_comparing_http_and_https() {
    let test = "compare http:// https://";
    let _alone = testkit::alone();
    if !testkit::has(test, "openssl") {
        return;
    }
    let (port, tls, dir) = (testkit::free_port(), testkit::free_port(), tempfile::tempdir().unwrap());
    std::fs::write(dir.path().join("page"), vec![0; 1_000_000]).unwrap();
    testkit::self_signed(dir.path());
    let d = dir.path().display();
    let http = format!(
        "server {{ listen 127.0.0.1:{port}; listen 127.0.0.1:{tls} ssl; ssl_certificate {d}/cert; ssl_certificate_key {d}/key;
           location / {{ root {d}; }} }}"
    );
    let Some(_server) = testkit::nginx(0, "", &http) else { return testkit::skip(test, "nginx is not installed") };
    let (plain, tls) = (format!("http://127.0.0.1:{port}/page"), format!("https://127.0.0.1:{tls}/page"));
    let output = compare(&[&plain, &tls, "--insecure", "--connections", "2", "--budget", "6s", "--json"]);
    let found: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output)));
    let told = &found["tls"];
    let of = |name: &str| told[name].as_f64().unwrap_or(f64::NAN);
    assert!(of("us") > 0.0 && of("share") > 0.0 && of("share") < 1.0, "{told}");
    assert!(told["sentence"].as_str().unwrap().contains("TLS takes"), "{told}");
    let none = compare(&[&plain, &plain, "--insecure"]);
    assert!(none.status.code() == Some(2) && text(&none).contains("https://HOST:PORT/PATH"), "{}", text(&none));
}

/// Starts `loadline serve` with the given arguments, and returns the running server.
fn served_with(arguments: &[&str]) -> testkit::Running {
    let mut command = Command::new(binary!());
    command.arg("serve").args(arguments);
    testkit::served(command)
}

/// `compare` of live servers supports the protocols of `find` and `load`, not only sets of HTTP requests.
#[test]
fn live_servers_are_compared_over_http2_and_grpc_and_as_streams() {
    let _alone = testkit::alone();
    let stream = ["sse", "--first", "20ms", "--gap", "5ms", "--events", "10"];
    let dir = tempfile::tempdir().unwrap();
    for (name, server, url, flags) in [
        ("http2", &["h2"][..], "http://ADDR/", &["--http2"][..]),
        ("grpc", &["grpc"], "grpc://ADDR/loadline.Calls/Unary", &["--grpc-json", "{\"id\": 7}"]),
        ("http1", &stream, "http://ADDR/", &["--stream", "sse"]),
    ] {
        let servers = [served_with(server), served_with(server)];
        let urls = servers.each_ref().map(|server| url.replace("ADDR", &server.addr.to_string()));
        let out = dir.path().join(name).display().to_string();
        let more = ["--budget", "6s", "--connections", "4", "--duet", "never", "--out", &out];
        let output = compare(&[&[&*urls[0], &urls[1]], flags, &more].concat());
        assert!([0, 1, 3].map(Some).contains(&output.status.code()), "{name}: {}", text(&output));
        for side in ["old", "new"] {
            let run = std::fs::read(Path::new(&out).join(side).join("run.json")).unwrap();
            let run: serde_json::Value = serde_json::from_slice(&run).unwrap();
            let trial = &run["trials"][0];
            assert_eq!(
                (&run["plan"]["load"]["protocol"]["name"], &trial["errors"]),
                (&name.into(), &serde_json::json!({}))
            );
            assert!(trial["completed"].as_u64() > Some(0), "{name}: {trial}");
            assert_eq!(trial["events"].as_u64() > Some(0), name == "http1", "{name}: {trial}");
        }
    }
}
