//! Tests of verdicts that experiments prove on real servers. `prove` uses its levers (temporary changes) under a steady
//! load, and throughput must change as the verdict predicts. These tests need the release binary, because their results
//! depend on the relative speeds of client and server.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use serde_json::Value;
use testkit::{
    ControlGroup, OtherPrograms, Running, alone_with_release, bottleneck, free_port, json, nginx, num, serve, skip,
    verdict,
};

/// Maximum size of the `run.json` that a search of 30 s writes, bytes.
const MAX_RUN_BYTES: u64 = 500_000;
/// Maximum size of the report that a search of 30 s writes, bytes.
const MAX_PAGE_BYTES: u64 = 1_000_000;

/// Runs `prove` with the generator on CPU 0. Returns `None` if other programs disturbed the experiment.
fn prove(binary: &Path, url: &str, more: &[&str]) -> Option<Value> {
    let mut args = vec!["prove", url, "--cpus", "0"];
    args.extend(more);
    let others = OtherPrograms::watch();
    let run = json(binary, &args);
    others.stayed_away(&format!("prove {}", more.join(" "))).then_some(run)
}

/// Checks that the verdict is `id`, and that the experiment proves it.
#[track_caller]
fn proven(run: &Value, id: &str) {
    let proof = &run["findings"]["proof"];
    assert_eq!(bottleneck(run), id, "{}\n{}", verdict(run), proof["why"]);
    assert_eq!(proof["outcome"], "proven", "{}\n{proof:#}", verdict(run));
    let predicted = &proof["prediction"];
    assert!(predicted["at"].as_str().is_some_and(|at| !at.is_empty()), "{predicted}");
}

fn effect<'a>(run: &'a Value, lever: &str) -> &'a Value {
    let all = run["findings"]["proof"]["effects"].as_array().unwrap();
    all.iter().find(|e| e["lever"] == lever).unwrap_or_else(|| panic!("no {lever}: {}", run["findings"]["proof"]))
}

/// A request set in which requests use a token from an earlier answer of 24 KiB, as after a login.
const TOKEN: &str = r#"
order = "sequence"

[[request]]
name = "login"
path = "/login.json"
capture = { token = "json:/auth/token" }

[[request]]
name = "me"
path = "/file"
headers = { Authorization = "Bearer {{token}}" }
"#;

/// The generator needs several times as much CPU time to parse an answer as nginx needs to send the file.
#[test]
fn slowing_a_generator_that_parses_answers_proves_it() {
    let (_alone, binary) = alone_with_release!("proof of client-cpu");
    let Some(server) = nginx(1, "", "") else {
        return skip("proof of client-cpu", "nginx is not installed");
    };
    let items: Vec<Value> =
        (0..400).map(|n| serde_json::json!({ "item": n, "price": 1.5, "name": "a thing that is sold" })).collect();
    let login = serde_json::json!({ "items": items, "auth": { "token": "t0" } });
    let file = |name: &str, text: String| {
        let path = server.dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    file("login.json", login.to_string());
    let requests = file("token.toml", TOKEN.into());
    let url = format!("http://{}/", server.addr);
    let Some(run) = prove(&binary, &url, &["--requests", &requests, "--connections", "8", "--budget", "26s"]) else {
        return;
    };
    proven(&run, "client-cpu");
}

/// With an open loop, the experiment observes the response time (p50) instead of the throughput. The server must
/// explain most of the response time, and the generator less than a quarter. The server computes for 1,000 µs per
/// request. At 300 requests per second, at least half of the requests find the server idle. The median response time is
/// therefore the server's computing time, plus the time in which threads wake up. No lever slows the waking of threads.
#[test]
fn with_an_open_loop_the_server_s_share_of_the_response_time_is_found() {
    let (_alone, binary) = alone_with_release!("proof at an offered rate");
    let server = serve(&binary, 1, &["--option", "work_us=1000"]);
    let Some(run) =
        prove(&binary, &format!("http://{}/", server.addr), &["--rate", "300", "--p50", "50ms", "--budget", "40s"])
    else {
        return;
    };
    let proof = &run["findings"]["proof"];
    assert_eq!(proof["of"], "p50", "{proof:#}");
    let of = |lever: &str| {
        let all = proof["elasticities"].as_array().unwrap_or_else(|| panic!("{proof:#}"));
        let one = all.iter().find(|e| e["lever"] == lever).unwrap_or_else(|| panic!("no {lever}: {proof:#}"));
        ["low", "value", "high"].map(|name| num(&one[name]))
    };
    let (server, client) = (of("server-cpu"), of("client-cpu"));
    let fixed = run["trials"].as_array().unwrap().iter().find(|trial| trial["kind"] == "fixed").unwrap();
    let planted = 1000.0 / num(&fixed["latency_us"]["p50"]);
    // One in 20 intervals of 95 % confidence misses the true value. Of intervals that are wider by half, only one in
    // 300 misses the true value.
    let [low, high] = [server[0], server[2]].map(|end| end + 0.5 * (end - server[1]));
    assert!(low <= 1.0 && high >= planted && server[1] > 0.5, "{server:?}, {planted}: {}", proof["why"]);
    assert!(client[1] < 0.25 && client[2] < server[1].min(0.5), "{client:?} beside {server:?}: {}", proof["why"]);
}

#[test]
fn a_second_address_proves_a_limit_by_address() {
    let (_alone, binary) = alone_with_release!("proof of server-rate-limit");
    let zone = "limit_req_zone $binary_remote_addr zone=z:1m rate=500r/s; limit_req_status 429;";
    let Some(server) = nginx(1, "limit_req zone=z burst=20 nodelay;", zone) else {
        return skip("proof of server-rate-limit", "nginx is not installed");
    };
    let Some(run) = prove(&binary, &format!("http://{}/file", server.addr), &["--connections", "8", "--budget", "20s"])
    else {
        return;
    };
    proven(&run, "server-rate-limit");
    let [low, ratio, high] = ["low", "ratio", "high"].map(|name| num(&effect(&run, "sources")[name]));
    // If the machine stalled during the experiment, the ratio may be further from 2, but its interval must then contain
    // 2.
    let about = (1.8..=2.2).contains(&ratio) || (low <= 2.0 && high >= 2.0 && (1.6..=2.4).contains(&ratio));
    assert!(about, "two addresses let {ratio} ({low} to {high}) times as much through");
}

/// Starts a server that computes, in a control group whose quota is a fifth of a CPU.
fn with_a_quota(test: &str, binary: &Path) -> Option<(ControlGroup, Running)> {
    // A period of the quota lasts 50 ms, and a slot (short part) of the experiment contains eight of these periods. One
    // slot may contain half a period more than another, which changes its CPU time only slightly.
    let one = [("cpu.cfs_period_us", "50000"), ("cpu.cfs_quota_us", "10000")];
    let group = ControlGroup::make(test, "cpu", &one, &[("cpu.max", "10000 50000")])?;
    let port = free_port();
    let mut command = group.command(binary);
    command.args(["serve", "http", "--listen", &format!("127.0.0.1:{port}"), "--option", "work_us=200"]);
    let server = Running::start(command, port, tempfile::tempdir().unwrap());
    Some((group, server))
}

/// A Python application with one thread, which computes for 10 ms per request. 10 ms are far longer than the proxy's
/// CPU time per request, even on a slow machine.
const APP: &str = "
import http.server, sys, time
class App(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        end = time.thread_time() + 0.010
        while time.thread_time() < end: pass
        self.send_response(200)
        self.send_header('Content-Length', '3')
        self.end_headers()
        self.wfile.write(b'ok.')
    def log_message(self, *words): pass
class Server(http.server.HTTPServer):
    request_queue_size = 128
Server(('127.0.0.1', int(sys.argv[1])), App).serve_forever()
";

#[test]
fn an_application_behind_a_proxy_is_named_and_proven() {
    let (_alone, binary) = alone_with_release!("proof of what stands behind a server");
    let port = free_port();
    let mut command = std::process::Command::new("python3");
    command.args(["-c", APP, &port.to_string()]);
    let app = Running::start(command, port, tempfile::tempdir().unwrap());
    let Some(server) = nginx(1, &format!("proxy_pass http://{};", app.addr), "") else {
        return skip("proof of what stands behind a server", "nginx is not installed");
    };
    let Some(run) = prove(&binary, &format!("http://{}/", server.addr), &["--connections", "8", "--budget", "20s"])
    else {
        return;
    };
    let (said, waits_for) = (verdict(&run), &run["findings"]["bottleneck"]["waits_for"]);
    proven(&run, "server-concurrency");
    assert_eq!(waits_for["address"], app.addr.to_string(), "{said}");
    let process = waits_for["processes"][0].as_str().unwrap();
    assert!(process.ends_with(&format!(":{}", app.pid())), "{process} is not {}", app.pid());
    let measured = &run["findings"]["proof"]["measured"];
    assert_eq!(measured["lever"], "behind-cpu", "{said}");
}

/// Under a rate limit that delays answers, the response time grows with the number of connections. Turns with many
/// connections would therefore not fit into the default time budget.
#[test]
fn find_proves_a_limit_by_address_that_delays_answers() {
    let test = "proof of a limit that delays";
    let (_alone, binary) = alone_with_release!(test);
    let zone = "limit_req_zone $binary_remote_addr zone=z:1m rate=100r/s;";
    let Some(server) = nginx(1, "limit_req zone=z burst=5000;", zone) else {
        return skip(test, "nginx is not installed");
    };
    let others = OtherPrograms::watch();
    let out = tempfile::tempdir().unwrap();
    let dir = out.path().join("run");
    let url = format!("http://{}/file", server.addr);
    let run = json(&binary, &["find", &url, "--budget", "30s", "--out", dir.to_str().unwrap()]);
    for (file, max_bytes) in [("run.json", MAX_RUN_BYTES), ("report.html", MAX_PAGE_BYTES)] {
        let bytes = std::fs::metadata(dir.join(file)).unwrap().len();
        assert!(bytes < max_bytes, "{file} of a run of 30 s has {bytes} bytes");
    }
    if others.stayed_away(test) {
        proven(&run, "server-rate-limit");
    }
}

/// Tests with servers that mostly wait, or whose CPU quota limits them, so the CPUs of the machine are mostly idle.
mod idle {
    use super::*;

    #[test]
    fn immediate_acknowledgement_proves_a_delayed_one() {
        let (_alone, binary) = alone_with_release!("proof of tcp-delayed-ack");
        let server = serve(&binary, 1, &["--option", "split_head=1"]);
        let Some(run) = prove(&binary, &format!("http://{}/", server.addr), &["--connections", "4", "--budget", "20s"])
        else {
            return;
        };
        proven(&run, "tcp-delayed-ack");
        let ratio = num(&effect(&run, "quick-ack")["ratio"]);
        assert!(ratio > 3.0, "without the timer of 40 ms {ratio} times as much");
    }

    #[test]
    fn lowering_a_quota_proves_it_and_the_quota_is_restored() {
        let (_alone, binary) = alone_with_release!("proof of server-cpu-quota");
        let Some((group, server)) = with_a_quota("proof of server-cpu-quota", &binary) else { return };
        let before = group.cpu_quota();
        let url = format!("http://{}/", server.addr);
        let Some(run) = prove(&binary, &url, &["--connections", "16", "--budget", "28s", "--intrusive"]) else {
            return;
        };
        proven(&run, "server-cpu-quota");
        assert_eq!(group.cpu_quota(), before, "the quota is what it was");
    }

    /// Each connection uses a thread and a descriptor, and the server sleeps for 40 ms per request. The experiment's
    /// lever doubles the limit on descriptors. With twice the limit, the server can have more than twice as many
    /// connections, because some descriptors serve other purposes.
    #[test]
    fn more_descriptors_prove_their_lack_and_the_limit_is_restored() {
        let (_alone, binary) = alone_with_release!("proof of server-fds");
        let server =
            serve(&binary, 1, &["--model", "blocking", "--option", "sleep_ms=40", "--option", "descriptors=64"]);
        let limit = || std::fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
        let before = limit();
        let url = format!("http://{}/", server.addr);
        let Some(run) = prove(&binary, &url, &["--connections", "100", "--budget", "30s", "--intrusive"]) else {
            return;
        };
        proven(&run, "server-fds");
        let ratio = num(&effect(&run, "descriptors")["ratio"]);
        assert!((1.7..=3.0).contains(&ratio), "twice the descriptors gave {ratio} times as much");
        assert_eq!(limit(), before);
    }

    #[test]
    fn a_quota_of_an_upstream_is_named_and_proven() {
        let (_alone, binary) = alone_with_release!("proof of a quota behind a server");
        let Some((group, app)) = with_a_quota("proof of a quota behind a server", &binary) else { return };
        let Some(server) = nginx(1, &format!("proxy_pass http://{};", app.addr), "") else {
            return skip("proof of a quota behind a server", "nginx is not installed");
        };
        let before = group.cpu_quota();
        let url = format!("http://{}/", server.addr);
        let Some(run) = prove(&binary, &url, &["--connections", "16", "--budget", "28s", "--intrusive"]) else {
            return;
        };
        let (said, waits_for) = (verdict(&run), &run["findings"]["bottleneck"]["waits_for"]);
        proven(&run, "server-concurrency");
        assert_eq!(
            (&waits_for["address"], &waits_for["limit"]),
            (&app.addr.to_string().into(), &"quota".into()),
            "{said}"
        );
        assert!(said.contains("CPU quota"), "{said}");
        assert_eq!(run["findings"]["proof"]["measured"]["lever"], "behind-quota", "{said}");
        assert_eq!(group.cpu_quota(), before, "the quota is what it was");
    }
}
