//! Tests of `loadline arena` with live servers: a resumed comparison, servers that are refused, a server in a
//! container, and a throttled generator.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use testkit::{ControlGroup, PodmanImage, alone, binary, eventually, free_port, num, or_skip, serve, static_program};

use crate::arena_file::{arena, cell, listens, text, write};

#[test]
fn an_interrupted_arena_ends_its_server_and_goes_on_and_wrong_servers_are_refused() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let servers = [("a", "--option work_us=300"), ("short", "--body-bytes 1000"), ("broken", "--no-such-option")];
    let port = write(dir.path(), &servers);
    let mut begun = arena(binary!(), dir.path(), &["arena.toml", "--budget", "43s", "--out", "out"]);
    let child = begun.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let state = dir.path().join("out/arena.json");
    let searched = || {
        let kept: Value = serde_json::from_str(&std::fs::read_to_string(&state).ok()?).ok()?;
        (!kept["searches"].as_array()?.is_empty()).then_some(())
    };
    eventually(searched);
    std::thread::sleep(Duration::from_millis(500));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.code() == Some(130) && text(&output).contains("--resume out"), "{}", text(&output));
    assert!(!listens(port), "a server outlived the interrupt");
    let before: Value = serde_json::from_str(&std::fs::read_to_string(&state).unwrap()).unwrap();
    let output = arena(binary!(), dir.path(), &["--resume", "out", "--json"]).output().unwrap();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output)));
    let after: Value = serde_json::from_str(&std::fs::read_to_string(&state).unwrap()).unwrap();
    assert_eq!((&after["searches"][0], &result["interrupted"]), (&before["searches"][0], &false.into()));
    assert_eq!(result["cells"].as_array().unwrap().len(), 3);
    let short = cell(&result, "short");
    assert_eq!((&short["group"], &short["refused_kind"]), (&Value::Null, &"wrong-answer".into()));
    let said = cell(&result, "broken")["refused"].as_str().unwrap().to_owned();
    assert!(said.contains("no-such-option"), "{said}");
}

#[test]
fn a_killed_arena_leaves_no_server() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let port = write(dir.path(), &[("a", "")]);
    let mut begun = arena(binary!(), dir.path(), &["arena.toml", "--budget", "32s", "--out", "out"]);
    let mut child = begun.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    eventually(|| listens(port).then_some(()));
    child.kill().unwrap();
    child.wait().unwrap();
    eventually(|| (!listens(port)).then_some(()));
}

/// A wrong body length is noticed over HTTP/2, too, with and without TLS. In the set of requests, only the second
/// answer is wrong, because the answer to HEAD has no body.
#[test]
fn a_wrong_length_over_http2_and_in_a_set_is_refused() {
    let _alone = alone();
    let set = "[[request]]\npath = \"/\"\n[[request]]\nmethod = \"HEAD\"\npath = \"/\"\n";
    let refused = |profile: &str, service: &str| {
        let (dir, port) = (tempfile::tempdir().unwrap(), free_port());
        std::fs::write(dir.path().join("set.toml"), set).unwrap();
        let command = format!("exec \"$LOADLINE\" serve {service} --listen 127.0.0.1:$PORT --body-bytes 13");
        let entry = format!("[[entry]]\nname = \"a\"\nport = {port}\ncommand = '{command}'\n");
        std::fs::write(dir.path().join("arena.toml"), format!("[[profile]]\nname = \"page\"\n{profile}\n{entry}"))
            .unwrap();
        let output = arena(binary!(), dir.path(), &["arena.toml", "--budget", "32s", "--json"]).output().unwrap();
        let result: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output)));
        let cell = cell(&result, "a");
        assert_eq!(cell["refused_kind"], "wrong-answer", "{profile}: {cell}");
        cell["refused"].as_str().unwrap().to_owned()
    };
    let wrong = "its body has 13 bytes instead of 99";
    assert_eq!(refused("expect_bytes = 99\nhttp2 = true", "h2"), wrong);
    assert_eq!(refused("expect_bytes = 99\nhttp2 = true\nhttps = true", "h2 --tls"), wrong);
    let second = refused("expect_bytes = 13\nrequests = \"set.toml\"", "http");
    assert_eq!(second, "request 2 of the set: its body has 0 bytes instead of 13");
}

/// The generators run in a control group that may use a fifth of a CPU. The servers run outside of the generators'
/// control group.
#[test]
fn a_throttled_generator_gets_no_ranks() {
    let _alone = alone();
    let Some(group) = ControlGroup::fifth_of_a_processor("a_throttled_generator_gets_no_ranks") else { return };
    let servers = [serve(binary!(), 0, &[]), serve(binary!(), 0, &["--option", "work_us=10"])];
    let dir = tempfile::tempdir().unwrap();
    let mut file = String::from("[[profile]]\nname = \"page\"\nconnections = 16\n");
    for (name, server) in ["a", "b"].iter().zip(&servers) {
        file += &format!("[[entry]]\nname = \"{name}\"\nurl = \"http://{}\"\n", server.addr);
    }
    std::fs::write(dir.path().join("arena.toml"), file).unwrap();
    let mut command = group.command(binary!());
    command.args(["arena", "arena.toml", "--budget", "32s", "--out", "out", "--json"]).current_dir(&dir);
    let output = command.output().unwrap();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output)));
    for name in ["a", "b"] {
        let cell = cell(&result, name);
        assert!(cell["group"].is_null(), "{result:#}");
        assert!(["generator", "stall"].map(Value::from).contains(&cell["refused_kind"]), "{result:#}");
    }
    // The exit status is 1 because no server got a rank.
    assert_eq!(output.status.code(), Some(1), "{result:#}");
}

/// Tests whose result depends on the load that a program of the test reaches.
mod light {
    use super::*;

    /// loadline must start, measure and end a server in a container in the same way as a server that a command starts.
    #[test]
    fn a_server_in_a_container_is_measured() {
        let test = "a_server_in_a_container";
        let Some(program) = or_skip(test, static_program(binary!())) else { return };
        let _alone = alone();
        let Some(image) = or_skip(test, PodmanImage::of(&program)) else { return };
        let dir = tempfile::tempdir().unwrap();
        let port = free_port();
        let file = format!(
            "[[profile]]\nname = \"page\"\nconnections = 16\n[[entry]]\nname = \"boxed\"\nport = {port}\nimage = \"{}\"\n\
             command = \"/loadline serve --listen 127.0.0.1:$PORT --option work_us=300\"\n",
            image.name
        );
        std::fs::write(dir.path().join("arena.toml"), file).unwrap();
        let arguments = ["arena.toml", "--budget", "32s", "--out", "out", "--json"];
        let output = image.within(arena(binary!(), dir.path(), &arguments)).output().unwrap();
        let result: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output)));
        let boxed = cell(&result, "boxed");
        assert!(num(&boxed["cpu_us_per_request"]["value"]) > 300.0, "{result:#}\n{}", text(&output));
        assert!(!listens(port), "a server outlived the comparison");
        let left = image.within(Command::new("podman")).args(["ps", "--all", "--quiet"]).output().unwrap();
        assert!(left.stdout.is_empty(), "a container is left: {}", text(&left));
    }
}
