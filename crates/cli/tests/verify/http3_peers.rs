//! Tests of HTTP/3 against servers of other projects: Caddy (quic-go), and a server made with aioquic. loadline's
//! counts must equal those of the server.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json as value};
use testkit::{
    ChildProcess, Running, alone, binary, eventually, first_line, free_port, has, json, logged, num, program, served,
    skip, total,
};

fn load(url: &str, more: &[&str]) -> Value {
    let mut args = vec!["load", url, "--http3", "--insecure", "--connections", "3", "--duration", "600ms"];
    args.extend(["--warmup", "0s"]);
    args.extend(more);
    json(binary!(), &args)
}

/// Checks that a load had no errors, and that each answer had at least `page_bytes` bytes. Returns the number of
/// completed requests.
fn completed(run: &Value, page_bytes: u64, what: &[&str]) -> u64 {
    let [completed, sent] = ["completed", "sent"].map(|count| total(run, count));
    assert_eq!((&run["trials"][0]["errors"], sent), (&value!({}), completed), "{what:?}");
    assert!(completed > 5 && total(run, "bytes_received") > completed * page_bytes, "{what:?}: {completed}");
    completed
}

/// Starts Caddy with HTTP/3 on a port. Caddy serves files. Each line of Caddy's log contains the protocol and the
/// status.
fn caddy() -> Option<Running> {
    caddy_with("file_server")
}

/// Does what [`caddy`] does, but Caddy answers as the line `handler` of its configuration says.
fn caddy_with(handler: &str) -> Option<Running> {
    let (port, dir) = (free_port(), tempfile::tempdir().unwrap());
    testkit::self_signed(dir.path());
    std::fs::write(dir.path().join("page"), vec![b'x'; 50_000]).unwrap();
    let d = dir.path().display().to_string();
    let config = format!(
        "{{\n admin off\n auto_https off\n skip_install_trust\n default_sni localhost\n}}\nhttps://localhost:{port} {{\n \
         tls {d}/cert {d}/key\n root * {d}\n {handler}\n log {{\n  output file {d}/access\n  format json\n }}\n}}\n"
    );
    std::fs::write(dir.path().join("Caddyfile"), config).unwrap();
    let mut command = Command::new(program("caddy")?);
    command.args(["run", "--config"]).arg(dir.path().join("Caddyfile"));
    command.env("HOME", &d).env("XDG_DATA_HOME", &d).env("XDG_CONFIG_HOME", &d);
    Some(Running::start(command, port, dir))
}

#[test]
fn counts_equal_the_log_of_caddy() {
    let _alone = alone();
    if !has("Caddy's HTTP/3", "caddy") || !has("Caddy's HTTP/3", "openssl") {
        return;
    }
    let Some(server) = caddy() else { return };
    let (url, log) = (format!("https://localhost:{}/page", server.addr.port()), server.dir.path().join("access"));
    let mut seen = 0;
    for more in [&["--streams", "1"][..], &["--streams", "20", "--io", "epoll"], &["--new-connections"]] {
        let run = load(&url, more);
        seen += completed(&run, 50_000, more) as usize;
        let lines = || {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            (text.lines().count() >= seen && text.ends_with('\n')).then_some(text)
        };
        let text = eventually(lines);
        assert_eq!(text.lines().count(), seen, "{more:?}");
        let is_right = |line: &str| {
            let entry: Value = serde_json::from_str(line).unwrap();
            entry["request"]["proto"] == "HTTP/3.0" && entry["status"] == 200
        };
        assert!(text.lines().all(is_right), "{more:?}: {text}");
    }
}

/// A server made with aioquic.
struct Aioquic {
    held: ChildProcess,
    addr: String,
    dir: tempfile::TempDir,
}

impl Aioquic {
    fn start(test: &str) -> Option<Self> {
        if !has(test, "openssl") {
            return None;
        }
        let packages = packages(test)?;
        let dir = tempfile::tempdir().unwrap();
        testkit::self_signed(dir.path());
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify/h3_server.py");
        let mut command = Command::new("python3");
        command.arg(script).arg(dir.path()).env("PYTHONPATH", packages).stdout(Stdio::piped());
        let mut held = ChildProcess::start(&mut command);
        let addr = first_line(&mut held.0);
        Some(Self { held, addr, dir })
    }

    /// Waits until the server has counted at least `expected` requests, and returns its count.
    fn asked(&self, expected: u64) -> u64 {
        let read = || std::fs::read_to_string(self.dir.path().join("asked")).ok()?.trim().parse().ok();
        eventually(|| read().filter(|asked| *asked >= expected))
    }
}

/// Downloads aioquic, unless an earlier test has downloaded it. Returns the folder of the packages.
fn packages(test: &str) -> Option<PathBuf> {
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join("aioquic");
    if to.join("aioquic").exists() {
        return Some(to);
    }
    let Some(pip) = program("pip3") else {
        skip(test, "pip3 is not installed");
        return None;
    };
    let output = Command::new(pip).args(["install", "-q", "aioquic==1.*", "--target"]).arg(&to).output().unwrap();
    if !output.status.success() {
        skip(test, format!("pip3 failed: {}", String::from_utf8_lossy(&output.stderr)));
        return None;
    }
    Some(to)
}

#[test]
fn counts_equal_those_of_aioquic() {
    let _alone = alone();
    let Some(server) = Aioquic::start("HTTP/3 of aioquic") else { return };
    let url = format!("https://{}/page", server.addr);
    let body = server.dir.path().join("body");
    std::fs::write(&body, vec![b'b'; 40_000]).unwrap();
    let body = body.display().to_string();
    let mut seen = 0;
    for more in [&["--streams", "1"][..], &["--streams", "12"], &["--streams", "4", "--body", &body]] {
        seen += completed(&load(&url, more), 3000, more);
        assert_eq!(server.asked(seen), seen, "{more:?}");
    }
    // The server resets every third request, and the connection stays open.
    let run = load(&format!("https://{}/reset", server.addr), &["--streams", "4"]);
    let resets = run["trials"][0]["errors"]["stream_reset"].as_u64().unwrap_or(0);
    assert!(resets > 2 && run.to_string().contains("H3_REQUEST_CANCELLED"), "{}", run["trials"][0]["errors"]);
    assert_eq!(run["trials"][0]["errors"].as_object().unwrap().len(), 1, "{}", run["trials"][0]["errors"]);
    drop(server.held);
}

#[test]
fn the_words_of_a_server_that_closes_a_connection_are_told() {
    let _alone = alone();
    let Some(server) = Aioquic::start("CONNECTION_CLOSE of aioquic") else { return };
    let run = load(&format!("https://{}/close", server.addr), &[]).to_string();
    assert!(run.contains("H3_INTERNAL_ERROR (0x102)") && run.contains("the disk is full"), "{run}");
}

/// The server ends each connection after about twenty requests. The server does not count requests that it does not
/// process.
#[test]
fn requests_that_a_goaway_leaves_unprocessed_are_sent_again() {
    let _alone = alone();
    let Some(server) = Aioquic::start("GOAWAY of aioquic") else { return };
    let mut seen = 0;
    for more in [&["--streams", "10"][..], &["--rate", "200", "--streams", "10"]] {
        let more = if more.contains(&"--rate") { more.to_vec() } else { [more, &["--connections", "3"]].concat() };
        let mut args = vec!["load", "", "--http3", "--insecure", "--duration", "1s", "--warmup", "0s"];
        let url = format!("https://{}/goaway", server.addr);
        args[1] = &url;
        args.extend(&more);
        let run = json(binary!(), &args);
        seen += completed(&run, 3000, &more);
        assert_eq!(server.asked(seen), seen, "{more:?}");
        assert!(total(&run, "handshakes") > 3, "{more:?}: {}", run["trials"][0]["tally"]);
        // With a fixed rate, there may be only one request at a time, so possibly no request is left unprocessed.
        let unprocessed = run["trials"][0]["unprocessed"].as_u64().unwrap_or(0);
        assert!(unprocessed > 0 || more.contains(&"--rate"), "{}", run["trials"][0]);
    }
}

/// Each request has its own connection, and most connections resume a session.
#[test]
fn early_data_of_aioquic_and_caddy_is_counted_exactly() {
    let _alone = alone();
    let more = ["--new-connections", "--resume", "on", "--early-data"];
    if let Some(server) = Aioquic::start("early data of aioquic") {
        let run = load(&format!("https://{}/page", server.addr), &more);
        let requests = completed(&run, 3000, &more);
        assert_eq!(server.asked(requests), requests);
        let [early, resumed, resent] =
            ["early_requests", "handshakes_resumed", "early_resent"].map(|count| run["trials"][0][count].as_u64());
        assert!(early.is_some_and(|early| early > 5 && Some(early) <= resumed), "{early:?} {resumed:?} {resent:?}");
    }
    if !has("early data of Caddy", "caddy") || !has("early data of Caddy", "openssl") {
        return;
    }
    let Some(server) = caddy() else { return };
    let log = server.dir.path().join("access");
    let run = load(&format!("https://localhost:{}/page", server.addr.port()), &more);
    let requests = completed(&run, 50_000, &more) as usize;
    assert_eq!(logged(&log, requests).lines().count(), requests);
}

/// Checks that each stream at a URL has 20 events at intervals of 20 ms, of which the last one is `[DONE]`. Returns the
/// number of streams.
fn streams_of(url: &str) -> u64 {
    let load = ["load", url, "--http3", "--insecure", "--connections", "2", "--streams", "3", "--stream", "sse"];
    let window = ["--stream-end", "[DONE]", "--duration", "2s", "--warmup", "0s"];
    let run = json(binary!(), &[&load[..], &window].concat());
    let streams = completed(&run, 200, &[url]);
    let trial = &run["trials"][0];
    let gap_ms = num(&trial["gap_us"]["p50"]) / 1e3;
    assert!((19.0..26.0).contains(&gap_ms) && trial["streams_broken"].is_null(), "{gap_ms} ms: {trial}");
    streams
}

/// Caddy passes each request on to `loadline serve sse`, and the events back.
#[test]
fn streams_of_aioquic_and_caddy_are_whole_and_counted_exactly() {
    let _alone = alone();
    if let Some(server) = Aioquic::start("streams of aioquic") {
        let streams = streams_of(&format!("https://{}/events", server.addr));
        assert_eq!(server.asked(streams), streams);
    }
    if !has("streams through Caddy", "caddy") || !has("streams through Caddy", "openssl") {
        return;
    }
    let mut command = Command::new(binary!());
    command.args(["serve", "sse", "--first", "20ms", "--gap", "20ms", "--events", "19", "-o", "end=[DONE]"]);
    let upstream = served(command);
    let Some(server) = caddy_with(&format!("reverse_proxy {}", upstream.addr)) else { return };
    let streams = streams_of(&format!("https://localhost:{}/", server.addr.port())) as usize;
    let log = server.dir.path().join("access");
    assert_eq!(logged(&log, streams).lines().count(), streams);
}
