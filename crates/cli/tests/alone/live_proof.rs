//! Verdicts proven by experiment on real servers: `prove` pulls its levers under a steady load, and what throughput does
//! is what the verdict predicts. Speed relations matter, so these take the release binary.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use serde_json::Value;
use testkit::{
    ControlGroup, Running, alone_with_release, bottleneck, free_port, json, nginx, num, serve, skip, verdict,
};

/// `prove` with the generator on CPU 0.
fn prove(binary: &Path, url: &str, more: &[&str]) -> Value {
    let mut args = vec!["prove", url, "--cpus", "0"];
    args.extend(more);
    json(binary, &args)
}

/// Expects the verdict to be this one, and proven.
#[track_caller]
fn proven(run: &Value, id: &str) {
    let proof = &run["findings"]["proof"];
    assert_eq!(bottleneck(run), id, "{}\n{}", verdict(run), proof["why"]);
    assert_eq!(proof["outcome"], "proven", "{}\n{proof:#}", verdict(run));
    // Beside other programs the counters may leave it unknown, which predicts nothing.
    let said = &proof["prediction"];
    assert!(said.is_null() || said["at"].as_str().is_some_and(|at| !at.is_empty()), "{said}");
}

fn effect<'a>(run: &'a Value, lever: &str) -> &'a Value {
    let all = run["findings"]["proof"]["effects"].as_array().unwrap();
    all.iter().find(|e| e["lever"] == lever).unwrap_or_else(|| panic!("no {lever}: {}", run["findings"]["proof"]))
}

/// Takes a token from an answer of 24 KiB, as a login gives one.
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

/// To parse an answer costs several times what nginx spends on sending a file.
#[test]
fn a_generator_that_parses_what_it_captures_is_proven_by_taking_its_cpu() {
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
    let run = prove(&binary, &url, &["--requests", &requests, "--connections", "8", "--budget", "24s"]);
    proven(&run, "client-cpu");
}

/// Under arrivals that do not wait, the answer is a response time: what it grows by is the server's, and the generator's share is less
/// than a quarter.
#[test]
fn at_an_offered_rate_the_server_s_share_of_the_response_time_is_found() {
    let (_alone, binary) = alone_with_release!("proof at an offered rate");
    let server = serve(&binary, 1, &["--option", "work_us=1000"]);
    let run =
        prove(&binary, &format!("http://{}/", server.addr), &["--rate", "500", "--p50", "50ms", "--budget", "40s"]);
    let proof = &run["findings"]["proof"];
    assert_eq!(proof["of"], "p50", "{proof:#}");
    let of = |lever: &str| {
        let all = proof["elasticities"].as_array().unwrap_or_else(|| panic!("{proof:#}"));
        let one = all.iter().find(|e| e["lever"] == lever).unwrap_or_else(|| panic!("no {lever}: {proof:#}"));
        ["low", "value", "high"].map(|name| num(&one[name]))
    };
    let (server, client) = (of("server-cpu"), of("client-cpu"));
    // An interval of 95 % misses once in twenty; half as wide again, once in three hundred.
    let [low, high] = [server[0], server[2]].map(|end| end + 0.5 * (end - server[1]));
    assert!(low <= 1.0 && high >= 1.0 && server[1] > 0.5, "{server:?}: {}", proof["why"]);
    assert!(client[1] < 0.25 && client[2] < server[1].min(0.5), "{client:?} beside {server:?}: {}", proof["why"]);
}

#[test]
fn a_limit_by_address_is_proven_by_a_second_address() {
    let (_alone, binary) = alone_with_release!("proof of server-rate-limit");
    let zone = "limit_req_zone $binary_remote_addr zone=z:1m rate=500r/s; limit_req_status 429;";
    let Some(server) = nginx(1, "limit_req zone=z burst=20 nodelay;", zone) else {
        return skip("proof of server-rate-limit", "nginx is not installed");
    };
    let run = prove(&binary, &format!("http://{}/file", server.addr), &["--connections", "8", "--budget", "24s"]);
    proven(&run, "server-rate-limit");
    let [low, ratio, high] = ["low", "ratio", "high"].map(|name| num(&effect(&run, "sources")[name]));
    // On a machine that stood still meanwhile the ratio is known less well, and says so.
    let about = (1.8..=2.2).contains(&ratio) || (low <= 2.0 && high >= 2.0 && (1.6..=2.4).contains(&ratio));
    assert!(about, "two addresses let {ratio} ({low} to {high}) times as much through");
}

#[test]
fn a_delayed_acknowledgement_is_proven_by_acknowledging_at_once() {
    let (_alone, binary) = alone_with_release!("proof of tcp-delayed-ack");
    let server = serve(&binary, 1, &["--option", "split_head=1"]);
    let run = prove(&binary, &format!("http://{}/", server.addr), &["--connections", "4", "--budget", "30s"]);
    proven(&run, "tcp-delayed-ack");
    let ratio = num(&effect(&run, "quick-ack")["ratio"]);
    assert!(ratio > 3.0, "without the timer of 40 ms {ratio} times as much");
}

#[test]
fn a_server_that_sleeps_is_what_no_lever_touches() {
    let (_alone, binary) = alone_with_release!("proof of server-concurrency");
    let server = serve(&binary, 1, &["--model", "workers", "--option", "workers=4", "--option", "sleep_ms=20"]);
    let run = prove(&binary, &format!("http://{}/", server.addr), &["--connections", "16", "--budget", "50s"]);
    proven(&run, "server-concurrency");
    let remainder = num(&run["findings"]["proof"]["remainder"]["value"]);
    assert!(remainder >= 0.9, "untouched: {remainder}");
}

/// A control group that gives a fifth of a CPU, and a server that computes in it.
fn with_a_quota(test: &str, binary: &Path) -> Option<(ControlGroup, Running)> {
    // Periods of 50 ms: a slot holds eight of them, so that it matters little whether it is seven and a half.
    let one = [("cpu.cfs_period_us", "50000"), ("cpu.cfs_quota_us", "10000")];
    let group = ControlGroup::make(test, "cpu", &one, &[("cpu.max", "10000 50000")])?;
    let port = free_port();
    let mut command = group.command(binary);
    command.args(["serve", "http", "--listen", &format!("127.0.0.1:{port}"), "--option", "work_us=200"]);
    let server = Running::start(command, port, tempfile::tempdir().unwrap());
    Some((group, server))
}

#[test]
fn a_quota_is_proven_by_lowering_it_and_is_what_it_was_afterwards() {
    let (_alone, binary) = alone_with_release!("proof of server-cpu-quota");
    let Some((group, server)) = with_a_quota("proof of server-cpu-quota", &binary) else { return };
    let before = group.cpu_quota();
    let url = format!("http://{}/", server.addr);
    let run = prove(&binary, &url, &["--connections", "16", "--budget", "60s", "--intrusive"]);
    proven(&run, "server-cpu-quota");
    assert_eq!(group.cpu_quota(), before, "the quota is what it was");
}

/// A thread and a descriptor a connection, each of which sleeps 40 ms a request: twice the limit is more than twice the
/// connections.
#[test]
fn a_lack_of_descriptors_is_proven_by_more_of_them_and_the_limit_is_what_it_was() {
    let (_alone, binary) = alone_with_release!("proof of server-fds");
    let server = serve(&binary, 1, &["--model", "blocking", "--option", "sleep_ms=40", "--option", "descriptors=64"]);
    let limit = || std::fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
    let before = limit();
    let url = format!("http://{}/", server.addr);
    let run = prove(&binary, &url, &["--connections", "100", "--budget", "30s", "--intrusive"]);
    proven(&run, "server-fds");
    let ratio = num(&effect(&run, "descriptors")["ratio"]);
    assert!((1.7..=3.0).contains(&ratio), "twice the descriptors gave {ratio} times as much");
    assert_eq!(limit(), before);
}

/// An application of one thread that computes 10 ms a request: what the proxy takes meanwhile is little of that on a slow machine, too.
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
    let run = prove(&binary, &format!("http://{}/", server.addr), &["--connections", "8", "--budget", "24s"]);
    let (said, waits_for) = (verdict(&run), &run["findings"]["bottleneck"]["waits_for"]);
    proven(&run, "server-concurrency");
    assert_eq!(waits_for["address"], app.addr.to_string(), "{said}");
    let process = waits_for["processes"][0].as_str().unwrap();
    assert!(process.ends_with(&format!(":{}", app.pid())), "{process} is not {}", app.pid());
    let measured = &run["findings"]["proof"]["measured"];
    assert_eq!(measured["lever"], "behind-cpu", "{said}");
}

#[test]
fn a_quota_of_what_stands_behind_a_proxy_is_named_and_proven() {
    let (_alone, binary) = alone_with_release!("proof of a quota behind a server");
    let Some((group, app)) = with_a_quota("proof of a quota behind a server", &binary) else { return };
    let Some(server) = nginx(1, &format!("proxy_pass http://{};", app.addr), "") else {
        return skip("proof of a quota behind a server", "nginx is not installed");
    };
    let before = group.cpu_quota();
    let url = format!("http://{}/", server.addr);
    let run = prove(&binary, &url, &["--connections", "16", "--budget", "60s", "--intrusive"]);
    let (said, waits_for) = (verdict(&run), &run["findings"]["bottleneck"]["waits_for"]);
    proven(&run, "server-concurrency");
    assert_eq!((&waits_for["address"], &waits_for["limit"]), (&app.addr.to_string().into(), &"quota".into()), "{said}");
    assert!(said.contains("CPU quota"), "{said}");
    assert_eq!(run["findings"]["proof"]["measured"]["lever"], "behind-quota", "{said}");
    assert_eq!(group.cpu_quota(), before, "the quota is what it was");
}
