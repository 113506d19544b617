//! What the live tests share: the binary, real servers on free ports, and what is missing said aloud.
#![allow(dead_code, unreachable_pub)]

pub mod group;
pub mod s_clients;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Live verdicts are about speed relations between generator and server, so they take the release binary that
/// `make test` builds just before; the test profile's own binary is for everything else.
pub fn release_binary() -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_BIN_EXE_loadline"));
    let release = own.parent()?.parent()?.join("release/loadline");
    release.exists().then_some(release)
}

/// Says that a test is left out; in CI that is a failure.
pub fn skip(test: &str, reason: &str) {
    if std::env::var("LOADLINE_REQUIRE").is_ok_and(|v| v == "all") {
        panic!("{test} cannot run although LOADLINE_REQUIRE=all: {reason}");
    }
    println!("SKIP {test}: {reason}");
}

/// The path of a program, looked for where Debian puts servers, too.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    path.split(':').map(|dir| Path::new(dir).join(name)).find(|p| p.is_file())
}

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A process that is ended with the test.
pub struct Running {
    child: Child,
    pub addr: SocketAddr,
    pub dir: TempDir,
}

impl Running {
    /// Starts it and waits until it listens.
    pub fn start(mut command: Command, port: u16, dir: TempDir) -> Self {
        let addr = SocketAddr::from(([127, 0, 0, 1], port));
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mut running = Self { child, addr, dir };
        let deadline = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(addr).is_err() {
            assert!(Instant::now() < deadline, "{command:?} did not listen on {addr}");
            assert!(matches!(running.child.try_wait(), Ok(None)), "{command:?} ended at once");
            std::thread::sleep(Duration::from_millis(10));
        }
        running
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by its name.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.pid().to_string()]).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let deadline = Instant::now() + Duration::from_secs(3);
        while Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// nginx with one worker on processor `cpu`, its access log on, and further directives in `location /`.
pub fn nginx(cpu: u32, location: &str, http: &str) -> Option<Running> {
    let (nginx, port, dir) = (program("nginx")?, free_port(), tempfile::tempdir().unwrap());
    let root = dir.path();
    std::fs::write(root.join("file"), vec![b'x'; 1294]).unwrap();
    let config = format!(
        "daemon off; worker_processes 1; pid {d}/pid; error_log {d}/error; worker_rlimit_nofile 16000;
         events {{ worker_connections 8000; }}
         http {{ {http} log_format t '$request_completion $status'; access_log {d}/access t buffer=64k flush=100ms;
           keepalive_requests 100000000; client_body_temp_path {d}/b; proxy_temp_path {d}/p;
           fastcgi_temp_path {d}/f; uwsgi_temp_path {d}/u; scgi_temp_path {d}/s;
           server {{ listen 127.0.0.1:{port} backlog=4096; location / {{ root {d}; {location} }} }} }}",
        d = root.display()
    );
    std::fs::write(root.join("nginx.conf"), config).unwrap();
    // The worker is not root when the master is.
    let _ = Command::new("chmod").arg("755").arg(root).status();
    let mut command = Command::new("taskset");
    command.args(["-c", &cpu.to_string()]).arg(nginx).arg("-c").arg(root.join("nginx.conf"));
    command.arg("-e").arg(root.join("error"));
    Some(Running::start(command, port, dir))
}

/// `loadline serve http` with options, on processor `cpu`.
pub fn serve(binary: &Path, cpu: u32, options: &[&str]) -> Running {
    let port = free_port();
    let mut command = Command::new("taskset");
    command.args(["-c", &cpu.to_string()]).arg(binary).args([
        "serve",
        "http",
        "--listen",
        &format!("127.0.0.1:{port}"),
    ]);
    command.args(options);
    Running::start(command, port, tempfile::tempdir().unwrap())
}

/// Runs loadline to its end.
pub fn loadline(binary: &Path, args: &[&str]) -> Output {
    Command::new(binary).args(args).stdin(Stdio::null()).output().unwrap()
}

/// Runs loadline with `--json` and reads what it printed.
pub fn json(binary: &Path, args: &[&str]) -> Value {
    json_of(Command::new(binary).args(args))
}

/// Runs a command that ends in a loadline with `--json` and reads what it printed.
pub fn json_of(command: &mut Command) -> Value {
    let output = command.arg("--json").stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|e| {
        panic!("{command:?} printed no run ({e}): {text}\n{}", String::from_utf8_lossy(&output.stderr))
    })
}

/// The bottleneck of a run by its id.
pub fn bottleneck(run: &Value) -> &str {
    run["findings"]["bottleneck"]["id"].as_str().unwrap_or("none")
}

/// Measures until the run names one of `expected`, four times at most. Only `unknown`, and what the run itself calls
/// disturbed by other programs, is measured again; any other wrong name on a quiet machine stays, and the test fails.
pub fn named(expected: &[&str], mut measure: impl FnMut() -> Value) -> Value {
    let mut run = measure();
    for _ in 0..3 {
        let warnings = run["findings"]["trust"]["warnings"].to_string();
        let disturbed = warnings.contains("other programs used") || warnings.contains("the hypervisor took");
        if expected.contains(&bottleneck(&run)) || bottleneck(&run) != "unknown" && !disturbed {
            break;
        }
        println!("measured again after: {}", verdict(&run));
        run = measure();
    }
    run
}

/// The verdict with its evidence, for messages of failed tests.
pub fn verdict(run: &Value) -> String {
    let trials: Vec<String> = run["trials"].as_array().map_or(Vec::new(), |t| {
        t.iter()
            .map(|t| {
                format!(
                    "{}: {:.0}/s p99 {:.0} us errors {}",
                    t["label"],
                    num(&t["completed_rate"]),
                    num(&t["latency_us"]["p99"]),
                    t["errors"]
                )
            })
            .collect()
    });
    format!("{:#}\n{}\n{}", run["findings"]["bottleneck"], trials.join("\n"), run["notes"])
}

/// A number of a run.
pub fn num(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// Sum of a count over all trials.
pub fn total(run: &Value, count: &str) -> u64 {
    run["trials"].as_array().map_or(0, |t| t.iter().filter_map(|t| t[count].as_u64()).sum())
}
