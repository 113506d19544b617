//! Test with a lock in a server on another host. The observer (loadline's process that reads counters) on the server's
//! host samples the server's threads.

use std::process::Stdio;

use serde_json::Value;
use testkit::{ChildProcess, SshHosts, binary};

use crate::hosts::nginx_hosts::said;

/// Checks that loadline's first finding is the lock that an option adds to the server. The finding must contain the
/// names of the lock's variable and function.
fn assert_planted_lock(found: &Value) {
    let first = &found[0];
    let ends_with = |key: &str, name: &str| first[key].as_str().unwrap_or_default().ends_with(name);
    assert!(first["cause"] == "lock" && ends_with("name", "PLANTED_LOCK"), "{found:#}");
    assert!(first["function"].as_str().unwrap_or_default().contains("planted_lock"), "{found:#}");
}

#[test]
fn a_lock_of_a_server_on_another_host_is_named_by_the_observer_there() {
    let test = "a_lock_on_another_host";
    let _alone = testkit::alone();
    let Some(hosts) = SshHosts::make(test, binary!(), "switch:1G", &["conductor", "server", "a"]) else { return };
    let listen = format!("{}:8080", hosts.address("server"));
    let (url, engine) = (format!("http://{listen}/"), hosts.engine());
    let mut serve = hosts.inside("server", binary!());
    serve.args(["serve", "http", "--model", "blocking", "--option", "lock=5", "--listen", &listen]);
    let _server = ChildProcess::start(serve.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
    let there = ["--server-host", "server", "--via", &engine, "--agent-path", binary!().to_str().unwrap()];

    let load = [&["load", &url, "--client-hosts", "a", "--connections", "12", "--duration", "2s"], &there[..]].concat();
    let (run, output) = hosts.run("conductor", &load, |_| {});
    assert_planted_lock(&run["findings"]["waits"]);
    let (text, sentence) = (said(&output), &run["findings"]["bottleneck"]["sentence"]);
    assert!(sentence.as_str().unwrap().contains("PLANTED_LOCK in "), "{sentence}\n{text}");

    let mut load = hosts.inside("a", binary!());
    load.args(["load", &url, "--connections", "12", "--duration", "60s", "--at-rest", "0", "--no-waits"]);
    let _load = ChildProcess::start(load.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
    let mut waits = hosts.inside("conductor", binary!());
    waits.args(["waits", "--port", "8080", "--duration", "3s", "--json"]).args(there);
    let output = waits.stdin(Stdio::null()).output().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", said(&output)));
    assert_planted_lock(&found["waits"]);
}
