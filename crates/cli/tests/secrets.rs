//! Planted secrets reach the server and nothing else: not the terminal, not the run's directory, no form, no error.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use testkit::{children, echoing, eventually};

/// Each is planted in another way, and each begins so that one search finds them all.
const MARK: &str = "Planted";
const SECRETS: &[&str] =
    &["PlantedBearer1", "PlantedCookie2", "PlantedQuery3", "PlantedNamed4", "PlantedEnv5", "PlantedFile6"];
const FORMS: &[&str] = &["text", "html", "json", "csv", "markdown", "openmetrics", "hdr"];

fn loadline(args: &[&str], dir: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadline"));
    command.args(args).current_dir(dir).stdin(Stdio::null()).env("PLANTED", "PlantedEnv5").env("LOADLINE_LOG", "trace");
    command.output().unwrap()
}

/// Nothing of a process's output holds a secret; its status is returned.
fn clean(what: &str, output: &Output) -> Option<i32> {
    for (stream, bytes) in [("standard output", &output.stdout), ("standard error", &output.stderr)] {
        let text = String::from_utf8_lossy(bytes);
        assert!(!text.contains(MARK), "{what}: {stream} holds a secret:\n{text}");
        assert!(!text.contains("panicked"), "{what}: {text}");
    }
    output.status.code()
}

/// A load with every kind of secret in its command line.
fn planted(addr: SocketAddr, dir: &Path) -> Output {
    std::fs::write(dir.join("headers"), "X-From-File: PlantedFile6\n").unwrap();
    let url = format!("http://{addr}/?page=1&access_token=PlantedQuery3");
    let flags = ["-H", "Authorization: Bearer PlantedBearer1", "-HCookie: theme=dark; sid=PlantedCookie2"];
    let more = ["--secret-header", "X-Mine", "--header=X-Mine: PlantedNamed4", "-H", "X-Env: $env:PLANTED"];
    let last = ["-H", "@headers", "--duration", "300ms", "--warmup", "100ms", "--at-rest", "0s", "--out", "kept"];
    loadline(&[&["load", &url][..], &flags, &more, &last].concat(), dir)
}

fn every_file(dir: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => every_file(&path, found),
            false => found.push((path.display().to_string(), std::fs::read(&path).unwrap())),
        }
    }
}

#[test]
fn secrets_reach_the_server_and_nothing_that_is_printed_or_kept() {
    let (dir, (addr, asked)) = (tempfile::tempdir().unwrap(), echoing("200 OK"));
    let output = planted(addr, dir.path());
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(clean("load", &output), Some(0), "{errors}");
    let request = asked.lock().unwrap().clone();
    SECRETS.iter().for_each(|secret| assert!(request.contains(secret), "the server did not get {secret}: {request}"));
    let mut files = Vec::new();
    every_file(&dir.path().join("kept"), &mut files);
    assert!(files.len() >= 3, "{files:?}");
    for (name, bytes) in &files {
        assert!(!String::from_utf8_lossy(bytes).contains(MARK), "{name} holds a secret");
    }
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("<redacted:"), "the command line shows that something was there: {text}");
    for form in FORMS {
        assert_eq!(clean(form, &loadline(&["report", "kept", "--form", form], dir.path())), Some(0));
    }
}

/// While a load is on, whoever may list processes sees none of them: neither loadline's own environment, beside what the
/// user put there, nor anything of its agents.
#[test]
fn an_agent_has_no_secret_in_its_command_line_or_environment() {
    let (dir, (addr, _)) = (tempfile::tempdir().unwrap(), echoing("200 OK"));
    std::fs::write(dir.path().join("headers"), "X-From-File: PlantedFile6\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadline"));
    command.args(["load", &format!("http://{addr}/"), "-H", "@headers", "--duration", "30s", "--at-rest", "0s"]);
    let mut running = command.current_dir(dir.path()).stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let seen = eventually(|| {
        let of = |pid: u32, what: &str| std::fs::read(format!("/proc/{pid}/{what}")).unwrap_or_default();
        let agents = children(running.id()).into_iter().map(|pid| [of(pid, "cmdline"), of(pid, "environ")].concat());
        let agents: Vec<String> = agents.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect();
        Some(agents).filter(|agents| agents.iter().any(|words| words.contains("agent")))
    });
    running.kill().unwrap();
    running.wait().unwrap();
    assert!(seen.iter().all(|words| !words.contains(MARK)), "{seen:?}");
}

#[test]
fn answers_and_mistakes_that_hold_a_secret_are_cleaned() {
    let dir = tempfile::tempdir().unwrap();
    let (addr, _) = echoing("401 Unauthorized PlantedBearer1");
    assert!(clean("401", &planted(addr, dir.path())).is_some_and(|status| status != 0));
    let (addr, _) = echoing("no status Bearer PlantedBearer1");
    assert_eq!(clean("no HTTP", &planted(addr, dir.path())), Some(2));
    for args in [
        &["load", "http://user:PlantedQuery3@127.0.0.1:1/"][..],
        &["load", "http://127.0.0.1:1/?token=PlantedQuery3"],
        &["load", "http://h/", "http://u:PlantedQuery3@h/"],
        &["load", "http://127.0.0.1:1/", "-H", "PlantedBearer1"],
        &["load", "--hedaer=Authorization: PlantedBearer1"],
        &["load", "http://127.0.0.1:1/", "-H", "Cookie: PlantedCookie2\u{1}"],
    ] {
        assert_eq!(clean(&format!("{args:?}"), &loadline(args, dir.path())), Some(2));
    }
}

#[test]
fn a_run_that_an_older_version_wrote_is_cleaned_when_it_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let headers = r#"[["Authorization","Bearer PlantedBearer1"]]"#;
    let run = format!(
        r#"{{"format":"loadline-run/1","command":"loadline load http://h/?token=PlantedQuery3 -H 'Authorization: Bearer PlantedBearer1'",
        "plan":{{"command":"load","target":{{"url":"http://h/?token=PlantedQuery3"}},"load":{{"protocol":{{"name":"http1",
        "method":"GET","path":"/?token=PlantedQuery3","host":"h","headers":{headers}}}}}}},"trials":[{{"label":"x"}}]}}"#
    );
    std::fs::write(dir.path().join("run.json"), run).unwrap();
    for form in FORMS {
        assert_eq!(clean(form, &loadline(&["report", "run.json", "--form", form], dir.path())), Some(0));
    }
}
