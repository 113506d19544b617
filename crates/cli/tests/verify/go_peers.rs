//! Tests with clients and servers written in Go. A Go server must count as many requests as loadline. A gRPC client
//! must get answers from loadline's server. h2spec must find no errors in loadline's client and server.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json as value};
use testkit::{ChildProcess, alone, binary, eventually, first_line, go_peers, has, json, served, status, total};

/// A Go server, which writes its counts of requests and connections into a folder of its own.
struct Server {
    _held: ChildProcess,
    /// Address of the server, as in a URL.
    at: String,
    dir: tempfile::TempDir,
    /// Numbers of requests and connections that the server had counted at the last reading.
    seen: (u64, u64),
}

impl Server {
    fn start(peers: &Path, which: &str, tls: bool) -> Self {
        let dir = tempfile::tempdir().unwrap();
        if tls {
            testkit::self_signed(dir.path());
        }
        std::fs::write(dir.path().join("body"), vec![b'b'; 40_000]).unwrap();
        let mut held = ChildProcess::start(Command::new(peers).arg(which).arg(dir.path()).stdout(Stdio::piped()));
        let at = first_line(&mut held.0);
        Self { _held: held, at, dir, seen: (0, 0) }
    }

    /// Waits until the server has counted `expected` new requests. Returns the numbers of new requests and of new
    /// connections.
    fn counted(&mut self, expected: u64) -> (u64, u64) {
        let read = || {
            let text = std::fs::read_to_string(self.dir.path().join("counts")).ok()?;
            let (requests, connections) = text.split_once(' ')?;
            Some((requests.parse::<u64>().ok()?, connections.parse::<u64>().ok()?))
        };
        let (before, now) = (self.seen, eventually(|| read().filter(|now| now.0 >= self.seen.0 + expected)));
        self.seen = now;
        (now.0 - before.0, now.1 - before.1)
    }

    fn load(&self, url: &str, more: &[&str]) -> Value {
        let mut args = vec!["load", url, "--connections", "3", "--duration", "400ms", "--warmup", "0s"];
        args.extend(more);
        let run = json(binary!(), &args);
        assert_eq!(run["trials"][0]["errors"], value!({}), "{url} {more:?}");
        assert_eq!(total(&run, "sent"), total(&run, "completed"), "{url} {more:?}");
        run
    }

    fn body(&self) -> String {
        self.dir.path().join("body").display().to_string()
    }
}

#[test]
fn counts_equal_those_of_go_net_http() {
    let _alone = alone();
    let test = "HTTP/2 to Go";
    let Some(peers) = go_peers(test) else { return };
    if !has(test, "openssl") {
        return;
    }
    for (scheme, tls) in [("http", false), ("https", true)] {
        let mut server = Server::start(&peers, "http", tls);
        let (url, body) = (format!("{scheme}://{}/page", server.at), server.body());
        // The server allows six streams per connection. The second load plans twelve streams, but the server must not
        // refuse any request.
        for more in [&["--streams", "1"][..], &["--streams", "12"], &["--streams", "4", "--body", &body]] {
            let mut more = [&["--http2"], more].concat();
            more.extend(tls.then_some("--insecure"));
            let run = server.load(&url, &more);
            let completed = total(&run, "completed");
            assert!(
                completed > 5 && total(&run, "bytes_received") > completed * 3000,
                "{scheme} {more:?}: {completed}"
            );
            assert_eq!(run["trials"][0]["stream_limit"], value!(6), "{scheme} {more:?}");
            let (requests, connections) = server.counted(completed);
            assert_eq!(requests, completed, "{scheme} {more:?}");
            assert_eq!(connections, total(&run, "attempted"), "{scheme} {more:?}");
        }
    }
}

#[test]
fn counts_equal_those_of_grpc_go() {
    let _alone = alone();
    let test = "gRPC to Go";
    let Some(peers) = go_peers(test) else { return };
    if !has(test, "openssl") {
        return;
    }
    for (scheme, more) in [("grpc", &["--streams", "8"][..]), ("grpcs", &["--streams", "4", "--insecure"])] {
        let mut server = Server::start(&peers, "grpc", scheme == "grpcs");
        let (url, body) = (format!("{scheme}://{}/a.Service/Twice", server.at), server.body());
        let run = server.load(&url, &[&["--body", &body], more].concat());
        let completed = total(&run, "completed");
        assert_eq!((server.counted(completed).0, status(&run, "OK")), (completed, completed), "{scheme}");
        assert!(completed > 5 && total(&run, "bytes_received") > completed * 80_000, "{scheme}: {completed}");
        // Every third call fails, but the first call of a load must succeed. The test repeats loads until the first
        // call of the next load will succeed.
        while server.seen.0 % 3 == 2 {
            let run = server.load(&url, more);
            server.counted(total(&run, "completed"));
        }
        let before = server.seen.0;
        let run = server.load(&url.replace("Twice", "Third"), more);
        let completed = total(&run, "completed");
        assert_eq!(server.counted(completed).0, completed, "{scheme}");
        let failed = server.seen.0 / 3 - before / 3;
        assert!(failed > 3, "{scheme}: {completed}");
        assert_eq!((status(&run, "UNAVAILABLE"), status(&run, "OK")), (failed, completed - failed), "{scheme}");
        assert_eq!(total(&run, "unexpected_status"), failed, "{scheme}");
    }
}

#[test]
fn a_grpc_go_client_is_answered() {
    let Some(peers) = go_peers("a client of grpc-go") else { return };
    for (more, expected) in [
        (["--model", "auto", "--body-bytes", "70000"], "70000\n70000\n70000\n"),
        (["--model", "blocking", "--body-bytes", "0"], "0\n0\n0\n"),
        (["--model", "epoll", "--option", "status=8"], "ResourceExhausted\n"),
    ] {
        let mut command = Command::new(binary!());
        command.args(["serve", "grpc"]).args(more);
        let server = served(command);
        let output = Command::new(&peers).arg("call").arg(server.addr.to_string()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{more:?}: {output:?}");
    }
}

/// Runs h2spec, and checks that it ran `cases` tests and found no error.
#[track_caller]
fn finds_no_errors(command: &mut Command, cases: u32) {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let failures = said.find("Failures:").map_or(&said[..], |at| &said[at..]);
    let passed = format!("{cases} tests, {cases} passed, 0 skipped, 0 failed");
    assert!(said.contains(&passed), "{failures}\n{}", String::from_utf8_lossy(&output.stderr));
}

fn spec_of_server(peers: &PathBuf, model: &str, tls: bool) {
    let mut command = Command::new(binary!());
    command.args(["serve", "h2", "--model", model]).args(tls.then_some("--tls"));
    let server = served(command);
    let mut spec = Command::new(peers);
    spec.arg("h2spec-server").arg(server.addr.to_string()).envs(tls.then_some(("H2SPEC_TLS", "1")));
    finds_no_errors(&mut spec, 146);
}

#[test]
fn h2spec_finds_no_errors_in_our_server() {
    let Some(peers) = go_peers("h2spec of serve h2") else { return };
    spec_of_server(&peers, "auto", false);
    spec_of_server(&peers, "epoll", true);
}

/// h2spec is the server, and starts loadline once for each of its cases. On the first connection, loadline sends its
/// test request, and h2spec answers correctly. h2spec runs its case on the connections of the load. The load lasts one
/// second. With a shorter load on a stalling machine, loadline could rightly close the connection before a case is
/// complete.
#[test]
fn h2spec_finds_no_errors_in_our_client() {
    let _alone = alone();
    let Some(peers) = go_peers("h2spec of load --http2") else { return };
    for io in ["auto", "epoll"] {
        let mut spec = Command::new(&peers);
        spec.args(["h2spec-client", "1"]).arg(binary!()).args(["load", "--http2", "--io", io, "--connections", "1"]);
        finds_no_errors(spec.args(["--duration", "1s", "--warmup", "0s", "--timeout", "5s"]), 57);
    }
}
