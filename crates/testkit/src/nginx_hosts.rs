//! Helpers for tests with several hosts: they start nginx on one host, return loadline's arguments, and read parts of
//! the run.

use std::path::Path;
use std::process::{Output, Stdio};
use std::sync::MutexGuard;
use std::time::Duration;

use crate::{ChildProcess, SshHosts, eventually, has, program};
use serde_json::Value;

/// nginx on the host `server`. nginx's access log has the line `OK 200` for each successful request.
pub struct Nginx {
    _held: ChildProcess,
    /// URL of nginx's front page.
    pub url: String,
    log: std::path::PathBuf,
}

impl Nginx {
    /// Starts nginx with one worker. Skips the test and returns `None` if nginx is not installed.
    pub fn start(test: &str, hosts: &SshHosts) -> Option<Self> {
        if !has(test, "nginx") {
            return None;
        }
        let (d, address) = (hosts.path(""), hosts.address("server"));
        let d = d.display();
        let config = format!(
            "daemon off; worker_processes 1; pid {d}/pid; error_log {d}/error;
             events {{ worker_connections 4000; }}
             http {{ log_format t '$request_completion $status'; access_log {d}/access t buffer=64k flush=100ms;
               keepalive_requests 100000000; client_body_temp_path {d}/b; proxy_temp_path {d}/p;
               fastcgi_temp_path {d}/f; uwsgi_temp_path {d}/u; scgi_temp_path {d}/s;
               server {{ listen {address}:8080; location / {{ return 200 'x'; }} }} }}"
        );
        std::fs::write(hosts.path("nginx.conf"), config).unwrap();
        let mut command = hosts.inside("server", &program("nginx").unwrap());
        command.arg("-c").arg(hosts.path("nginx.conf")).arg("-e").arg(hosts.path("error"));
        let held = ChildProcess::start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
        eventually(|| std::fs::read_to_string(hosts.path("pid")).ok().filter(|pid| !pid.trim().is_empty()));
        Some(Self { _held: held, url: format!("http://{address}:8080/"), log: hosts.path("access") })
    }

    /// Waits until the log has at least `at_least` lines, and then waits 0.3 s longer for further lines. Returns the
    /// number of lines in nginx's log.
    pub fn logged(&self, at_least: u64) -> u64 {
        eventually(|| (self.lines() >= at_least).then_some(()));
        std::thread::sleep(Duration::from_millis(300));
        self.lines()
    }

    /// Returns the number of complete `OK 200` lines in the log.
    fn lines(&self) -> u64 {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        log.lines().filter(|line| *line == "OK 200").count() as u64
    }
}

/// Creates the hosts of a testbed, and starts nginx on the host `server`. Also returns the lock that measuring tests
/// take. While the caller holds the returned lock, no other measuring test runs. Returns `None` if this machine lacks
/// something that the hosts or nginx need.
pub fn nginx_hosts(test: &str, binary: &Path, medium: &str) -> Option<(SshHosts, Nginx, MutexGuard<'static, ()>)> {
    let alone = crate::alone();
    let (hosts, nginx) = shared_nginx_hosts(test, binary, medium)?;
    Some((hosts, nginx, alone))
}

/// Creates the hosts of a testbed, and starts nginx on the host `server`. Other measuring tests may run at the same
/// time, so callers must not measure speed.
pub fn shared_nginx_hosts(test: &str, binary: &Path, medium: &str) -> Option<(SshHosts, Nginx)> {
    let hosts = SshHosts::make(test, binary, medium, &["conductor", "server", "a", "b"])?;
    let nginx = Nginx::start(test, &hosts)?;
    Some((hosts, nginx))
}

/// Returns the standard output and the error output of a command. Fails the test if the command panicked.
#[track_caller]
pub fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(!text.contains("panicked"), "{text}");
    text
}

/// Returns the arguments of loadline: `command`, `url`, the options for the hosts, and `more`. The load generators run
/// on the hosts `a` and `b`, and the server's host is observed. `engine` is the value of `--via`.
pub fn args<'a>(binary: &'a Path, command: &'a str, url: &'a str, engine: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec![command, url, "--client-hosts", "a,b", "--server-host", "server", "--via", engine];
    args.extend(["--agent-path", binary.to_str().unwrap(), "--at-rest", "100ms"]);
    args.extend(more);
    args
}

/// Returns the texts under `key` in the entries of a list.
pub fn names(list: &Value, key: &str) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|one| one[key].as_str().map(str::to_string)).collect()
}

/// Returns the incidents and notes of all trials (loads), one per line.
pub fn incidents(run: &Value) -> String {
    let trials = run["trials"].as_array().into_iter().flatten();
    trials
        .flat_map(|trial| names(&trial["incidents"], "text").into_iter().chain(notes(trial)))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns the notes of a trial (one load).
pub fn notes(trial: &Value) -> Vec<String> {
    trial["notes"].as_array().into_iter().flatten().filter_map(|note| note.as_str().map(str::to_string)).collect()
}

/// Returns the names of the hosts that generated the load of the first trial (one load).
pub fn names_of_loads(run: &Value) -> Vec<String> {
    names(&run["trials"][0]["host_loads"], "host")
}

/// Returns the process ID of the loadline process that controls the agents, which is a child of the test's process.
///
/// Panics if there is no conductor.
pub fn conductor(hosts: &SshHosts) -> u32 {
    let out = hosts.path("out").display().to_string();
    let is_it = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|b| *b == 0).any(|word| word == out.as_bytes())
    };
    crate::children(std::process::id()).into_iter().find(is_it).unwrap()
}

/// Finds the first entry of a list in which `key` has the value `is`, and returns the text under `then` in that entry.
/// Returns an empty text if no entry has `key` with the value `is`.
pub fn names_where(list: &Value, key: &str, is: &str, then: &str) -> String {
    let found = list.as_array().into_iter().flatten().find(|one| one[key] == is);
    found.and_then(|one| one[then].as_str()).unwrap_or_default().into()
}
