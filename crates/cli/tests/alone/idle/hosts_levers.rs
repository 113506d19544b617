//! Tests levers (temporary changes by an experiment) that change the server or its limits. The processes of levers that
//! change the server run on the server's host and undo their changes there. On the server's host, loadline also reads
//! facts such as the number of workers.

use std::process::Stdio;
use std::sync::MutexGuard;
use std::time::Duration;

use serde_json::Value;
use testkit::nginx_hosts::{conductor, names_where, said};
use testkit::{
    ChildProcess, ControlGroup, SshHosts, binary, eventually, eventually_within, kill, num, program, signal,
};

/// Budget of the experiment. The budget suffices for the five levers that can be switched in slots (short periods).
/// Other levers need turns: longer loads that alternate without and with the lever. The time that the budget leaves for
/// a lever with turns is too short, so the experiment skips such a lever.
const BUDGET: &str = "30s";
/// Maximum time until the first lever makes a change.
const PULLED_WITHIN: Duration = Duration::from_secs(60);

/// nginx with two workers on the host `server`. A quota limits both nginx workers together to a fifth of a CPU.
struct QuotaServer {
    // Rust drops the fields in this order: nginx ends before its hosts and its control group are removed.
    nginx: ChildProcess,
    hosts: SshHosts,
    group: ControlGroup,
    url: String,
    _alone: MutexGuard<'static, ()>,
}

impl QuotaServer {
    fn set(test: &str) -> Option<Self> {
        let alone = testkit::alone();
        if !testkit::has(test, "nginx") {
            return None;
        }
        let group = ControlGroup::fifth_of_a_processor(test)?;
        let hosts = SshHosts::make(test, binary!(), "switch:1G", &["conductor", "server"])?;
        let (d, address) = (hosts.path("").display().to_string(), hosts.address("server").to_string());
        let config = format!(
            "daemon off; worker_processes 2; pid {d}/pid; error_log {d}/error; events {{ worker_connections 4000; }}
             http {{ access_log off; keepalive_requests 100000000; client_body_temp_path {d}/b; proxy_temp_path {d}/p;
               fastcgi_temp_path {d}/f; uwsgi_temp_path {d}/u; scgi_temp_path {d}/s;
               server {{ listen {address}:8080 reuseport; location / {{ return 200 'x'; }} }} }}"
        );
        std::fs::write(hosts.path("nginx.conf"), config).unwrap();
        let grouped = group.command(&program("nginx").unwrap());
        let mut command = hosts.inside("server", std::path::Path::new(grouped.get_program()));
        command.args(grouped.get_args()).arg("-c").arg(hosts.path("nginx.conf")).arg("-e").arg(hosts.path("error"));
        let nginx = ChildProcess::start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
        eventually(|| std::fs::read_to_string(hosts.path("pid")).ok().filter(|pid| !pid.trim().is_empty()));
        let url = format!("http://{address}:8080/");
        Some(Self { nginx, hosts, group, url, _alone: alone })
    }

    /// Runs `prove` with the flags in `more`, while `during` runs. The generator runs on the conductor's host, and the
    /// server on the host `server`.
    fn prove(&self, more: &[&str], during: impl FnOnce(&Self)) -> (Value, String) {
        let engine = self.hosts.engine();
        let mut args = vec!["prove", &self.url, "--server-host", "server", "--via", &engine];
        args.extend(["--agent-path", binary!().to_str().unwrap(), "--at-rest", "100ms", "--connections", "16"]);
        args.extend(more);
        let (run, output) = self.hosts.run("conductor", &args, |_| during(self));
        (run, said(&output))
    }

    /// Waits until the quota of the server's control group is no longer `before`.
    fn await_other_quota(&self, before: &str) {
        eventually_within(PULLED_WITHIN, || (self.group.cpu_quota() != before).then_some(()));
    }

    /// Checks that the quota is `before` again, and that no worker is stopped.
    fn is_as_it_was(&self, before: &str) {
        self.hosts.await_no_agents("server");
        assert_eq!(self.group.cpu_quota(), before, "the quota is what it was");
        for worker in testkit::children(self.nginx.pid()) {
            let stat = std::fs::read_to_string(format!("/proc/{worker}/stat")).unwrap();
            assert!(!stat.rsplit(')').next().unwrap().trim().starts_with('T'), "{worker} stands still");
        }
    }
}

#[test]
fn quota_and_workers_are_changed_and_restored_on_the_server_s_host() {
    let Some(stage) = QuotaServer::set("a_quota_and_a_worker") else { return };
    let before = stage.group.cpu_quota();
    let dir = stage.hosts.path("").display().to_string();
    let (run, text) = stage.prove(&["--budget", BUDGET, "--intrusive", "--prove-dir", &dir], |_| {});
    stage.is_as_it_was(&before);
    let proof = &run["findings"]["proof"];
    let levers = proof["trials"][0]["levers"].as_array().unwrap_or_else(|| panic!("{proof:#}\n{text}"));
    for id in ["quota", "worker"] {
        let lever = levers.iter().find(|l| l["lever"] == id).unwrap_or_else(|| panic!("no {id}: {proof:#}\n{text}"));
        assert_eq!(lever["host"], "server");
        assert!(lever["speed"].as_array().unwrap().iter().any(|speed| num(speed) < 0.9), "{lever}");
    }
    // The disk lever's directory is a path on the server's host, and is checked there.
    let why = |id: &str| names_where(&proof["untried"], "lever", id, "why");
    assert!(levers.iter().any(|l| l["lever"] == "disk") || why("disk").starts_with("on server, "), "{proof:#}");
    assert!(why("descriptors").starts_with("on server, "), "{proof:#}");
    let elasticities = proof["elasticities"].as_array().unwrap();
    ["quota", "worker"].iter().for_each(|id| assert!(elasticities.iter().any(|e| e["lever"] == *id), "{proof:#}"));
}

#[test]
fn changes_by_a_lever_on_another_host_are_undone_after_a_kill() {
    let Some(stage) = QuotaServer::set("after_a_kill_on_another_host") else { return };
    let before = stage.group.cpu_quota();
    let flags = ["--budget", BUDGET, "--intrusive"];
    // In the first part of the test, the conductor (the process that controls the experiment) is killed. The
    // conductor's agents (processes on the hosts) find that their input has ended, and undo their changes.
    stage.prove(&flags, |stage| {
        stage.await_other_quota(&before);
        kill(&[conductor(&stage.hosts)]);
    });
    stage.is_as_it_was(&before);
    // In the second part of the test, the processes of the levers are killed, so they cannot undo their changes. The
    // observer (the agent that reads the counters) was started before the levers, and the test does not kill it. The
    // next command that contacts the host must undo the changes that the levers made.
    let (run, text) = stage.prove(&flags, |stage| {
        stage.await_other_quota(&before);
        kill(&stage.hosts.agents("server")[1..]);
        // After the test has killed the agents of the levers, no lever changes anything. The conductor contacts the
        // host again when the conductor ends, even after an interrupt.
        signal(conductor(&stage.hosts), "INT");
    });
    stage.is_as_it_was(&before);
    let notes = run["notes"].to_string();
    // In this test, all hosts share the files of one machine. The conductor may therefore undo the changes of the
    // levers before the server's host does.
    assert!(notes.contains("changes left by a killed experiment were undone"), "{notes}\n{text}");
}
