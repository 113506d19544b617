//! Tests with containers that have only the static loadline program of `make dist`. The tested loadline enters a
//! container by podman, or by `runc exec`, which docker and kubectl also use. Server and generator run in the
//! container.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use testkit::{ChildProcess, Container, alone, binary, eventually, has, json_of, or_skip, static_program, total};

use crate::hosts::nginx_hosts::{names_of_loads, said};

/// Loads a server from within its own container, and watches the server there.
fn is_loaded_and_watched(container: &Container) {
    let (url, name) = (format!("http://{}/", container.listen), container.name.as_str());
    let mut load = container.within(Command::new(binary!()));
    load.args(["load", &url, "--connections", "2", "--duration", "500ms", "--at-rest", "0", "--json"]);
    load.args(["--client-hosts", name, "--agents-per-host", "2", "--server-host", name]);
    let output = load.args(["--via", &container.via, "--agent-path", "/loadline"]).output().unwrap();
    let run: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", said(&output)));
    assert!(total(&run, "completed") > 10 && names_of_loads(&run) == [name], "{}", said(&output));
    let server = &run["trials"][0]["server"];
    assert_eq!(server["host"], name, "{server}");
    assert!(server["counters"]["process.cpu"].as_f64().is_some_and(|us| us > 0.0), "its own process is watched there");
}

fn is_tried(test: &str, start: impl FnOnce(&Path) -> Result<Container, testkit::SetupError>) {
    let Some(program) = or_skip(test, static_program(binary!())) else { return };
    let _alone = alone();
    if let Some(container) = or_skip(test, start(&program)) {
        is_loaded_and_watched(&container);
    }
}

#[test]
fn podman_itself_starts_agents_in_an_empty_container() {
    is_tried("podman_itself", Container::of_podman);
}

/// Returns true if the first finding of loadline is the lock that an option of the server adds. In a program without
/// symbols, the lock has no name, so loadline reports the lock's address.
fn is_locked(found: &Value) -> bool {
    let name = found[0]["name"].as_str().unwrap_or_default();
    found[0]["cause"] == "lock" && (name.ends_with("PLANTED_LOCK") || name.starts_with("0x"))
}

#[test]
fn a_lock_in_a_container_is_named_from_within_and_from_its_host() {
    let test = "a_lock_in_a_container";
    let Some(program) = or_skip(test, static_program(binary!())) else { return };
    let _alone = alone();
    let options = ["--model", "blocking", "--option", "lock=5"];
    let Some(container) = or_skip(test, Container::of_podman_with(&program, &options)) else { return };
    let url = format!("http://{}/", container.listen);
    let load = |duration: &str| {
        let mut load = container.within(Command::new(binary!()));
        load.args(["load", &url, "--connections", "12", "--duration", duration, "--at-rest", "0"]);
        load
    };
    let mut within = load("2s");
    within.args(["--server-host", &container.name, "--via", &container.via, "--agent-path", "/loadline"]);
    let run = json_of(&mut within);
    assert!(is_locked(&run["findings"]["waits"]), "{:#}", run["findings"]["waits"]);

    let mut command = load("60s");
    let _load = ChildProcess::start(command.arg("--no-waits").stdout(Stdio::null()).stderr(Stdio::null()));
    let port = container.listen.rsplit(':').next().unwrap();
    let sample = || json_of(Command::new(binary!()).args(["waits", "--port", port, "--duration", "2s"]));
    eventually(|| is_locked(&sample()["waits"]).then_some(()));
}

#[test]
fn an_empty_container_needs_only_the_static_program() {
    let test = "an_empty_container";
    if !has(test, "readelf") {
        return;
    }
    is_tried(test, |program| {
        asks_for_nothing(program);
        Container::of_runtime("runc", program)
    });
}

/// Checks that a program needs no shared library and no dynamic loader.
fn asks_for_nothing(program: &Path) {
    let linked = Command::new("readelf").args(["--program-headers", "--dynamic"]).arg(program).output().unwrap();
    let linked = String::from_utf8_lossy(&linked.stdout).into_owned();
    assert!(!linked.contains("INTERP") && !linked.contains("NEEDED"), "it asks for nothing of a system:\n{linked}");
}
