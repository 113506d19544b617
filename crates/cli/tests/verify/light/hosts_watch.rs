//! Tests of commands on running servers on other hosts: `watch`, and `compare` of two servers.

use std::process::Stdio;

use serde_json::Value;
use testkit::{ChildProcess, binary, eventually, kill, num};

use crate::hosts::nginx_hosts::{incidents, names, nginx_hosts, said};

/// Returns the arguments of `watch` for the host `server`, without the arguments that name the server's process or
/// port.
fn watch<'a>(engine: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let own = binary!().to_str().unwrap();
    [&["watch", "--server-host", "server", "--via", engine, "--agent-path", own, "--interval", "100ms"], more].concat()
}

fn samples(run: &Value) -> usize {
    testkit::recording(run, 0, "server")["t_s"].as_array().map_or(0, Vec::len)
}

#[test]
fn a_server_on_another_host_is_watched_until_its_observer_is_lost() {
    let Some((hosts, nginx, _alone)) = nginx_hosts("watch_on_another_host", "switch:1G") else { return };
    let engine = hosts.engine();
    // The load is external: a host that is not part of this run generates it.
    let mut load = hosts.inside("a", binary!());
    load.args(["load", &nginx.url, "--duration", "120s", "--rate", "300", "--json"]);
    let _load = ChildProcess::start(load.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
    nginx.logged(100);
    let (run, output) = hosts.run("conductor", &watch(&engine, &["--port", "8080", "--duration", "2s"]), |_| {});
    let (text, server) = (said(&output), &run["trials"][0]["server"]);
    assert!(output.status.success() && names(&run["hosts"], "name") == ["server"], "{text}");
    assert!(run["trials"][0]["kind"] == "watched" && server["host"] == "server", "{text}");
    assert!(num(&server["counters"]["process.cpu"]) > 0.0, "{:#}", server["counters"]);
    assert!(server["processes"].to_string().contains("nginx:") && samples(&run) > 10, "{}", server["processes"]);

    // The next run of `watch` has no time limit. The test ends the watch by killing the observer.
    let pid = hosts.processes("server", |line| line.starts_with(b"nginx: master"))[0].to_string();
    let kept = hosts.path("out/run.json");
    std::fs::remove_dir_all(hosts.path("out")).unwrap();
    let (run, output) = hosts.run("conductor", &watch(&engine, &["--server-pid", &pid]), |hosts| {
        let read = || serde_json::from_slice::<Value>(&std::fs::read(&kept).ok()?).ok();
        eventually(|| read().filter(|run| samples(run) > 3));
        kill(&hosts.agents("server"));
    });
    let (text, told) = (said(&output), incidents(&run));
    assert!(output.status.code() == Some(1) && told.contains("observer on server was lost"), "{told}\n{text}");
    assert!(samples(&run) > 3 && run["interrupted"] == true, "{} samples\n{text}", samples(&run));
    hosts.await_no_agents("server");

    for (whom, words) in
        [(["--port", "81"], "nothing listens on"), (["--server-pid", "4194305"], "there is no process")]
    {
        let (_, output) = hosts.run("conductor", &watch(&engine, &whom), |_| {});
        let text = said(&output);
        assert!(output.status.code() == Some(2) && text.contains("on server") && text.contains(words), "{text}");
    }
}

#[test]
fn servers_on_another_host_are_compared() {
    let Some((hosts, nginx, _alone)) = nginx_hosts("compare_on_other_hosts", "switch:1G") else { return };
    let (engine, other) = (hosts.engine(), format!("{}other", nginx.url));
    let mut compare = hosts.inside("conductor", binary!());
    compare.args(["compare", &nginx.url, &other, "--budget", "4s", "--connections", "4", "--json"]);
    compare.args(["--client-hosts", "a,b", "--server-host", "server", "--server-host-b", "server", "--via", &engine]);
    let output = compare.args(["--agent-path", binary!().to_str().unwrap()]).stdin(Stdio::null()).output().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", said(&output)));
    assert!(
        found["verdict"].is_string() && found["comparisons"].as_array().is_some_and(|all| !all.is_empty()),
        "{found}"
    );
    // The comparison contains figures such as the CPU time only if loadline read them on the host of the servers.
    let figures = names(&found["comparisons"], "figure");
    assert!(figures.iter().any(|figure| figure == "server CPU per request"), "{figures:?}");
    ["a", "b", "server"].iter().for_each(|host| hosts.await_no_agents(host));
}
