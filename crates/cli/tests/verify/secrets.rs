//! Tests that secrets in the command line and in files reach the server and no other place. The secrets must not appear
//! on the terminal, in the live view, in an error, or in the metrics. The run's directory and the output forms must
//! contain none of the secrets either.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use testkit::{children, echoing, eventually, free_port, has, script_server, skip};

/// Common prefix of all planted secrets. With this prefix, one search finds every planted secret.
const MARK: &str = "Planted";
const SECRETS: &[&str] =
    &["PlantedBearer1", "PlantedCookie2", "PlantedQuery3", "PlantedNamed4", "PlantedEnv5", "PlantedFile6"];
const FORMS: &[&str] = &["text", "html", "json", "csv", "markdown", "openmetrics", "hdr"];

fn loadline(args: &[&str], dir: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadline"));
    command.args(args).current_dir(dir).stdin(Stdio::null()).env("PLANTED", "PlantedEnv5");
    command.output().unwrap()
}

/// Checks that a process printed no secret and did not panic. Returns the exit status of the process.
fn clean(what: &str, output: &Output) -> Option<i32> {
    for (stream, bytes) in [("standard output", &output.stdout), ("standard error", &output.stderr)] {
        let text = String::from_utf8_lossy(bytes);
        assert!(!text.contains(MARK), "{what}: {stream} holds a secret:\n{text}");
        assert!(!text.contains("panicked"), "{what}: {text}");
    }
    output.status.code()
}

/// Flags with every kind of secret. The last flag names a file, which must exist in the current directory.
const FLAGS: [&str; 10] = [
    "-H",
    "Authorization: Bearer PlantedBearer1",
    "-HCookie: theme=dark; sid=PlantedCookie2",
    "--secret-header",
    "X-Mine",
    "--header=X-Mine: PlantedNamed4",
    "-H",
    "X-Env: $env:PLANTED",
    "-H",
    "@headers",
];

/// Returns a URL with a secret, and writes the file that [`FLAGS`] names into a directory.
fn planted_url(addr: SocketAddr, dir: &Path) -> String {
    std::fs::write(dir.join("headers"), "X-From-File: PlantedFile6\n").unwrap();
    format!("http://{addr}/?page=1&access_token=PlantedQuery3")
}

/// Runs a load with every kind of secret in its command line.
fn planted(addr: SocketAddr, dir: &Path) -> Output {
    let url = planted_url(addr, dir);
    let last = ["--duration", "300ms", "--warmup", "100ms", "--at-rest", "0s", "--out", "kept"];
    loadline(&[&["load", &url][..], &FLAGS, &last].concat(), dir)
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
fn secrets_reach_the_server_and_are_neither_printed_nor_stored() {
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
    let output = loadline(&["report", "kept"], dir.path());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("<redacted:"), "the command line shows that something was there: {text}");
    for form in FORMS {
        assert_eq!(clean(form, &loadline(&["report", "kept", "--form", form], dir.path())), Some(0));
    }
}

/// Returns the whole answer to a GET request, or `None` while nothing listens at the address.
fn got(addr: (&str, u16)) -> Option<String> {
    let mut stream = TcpStream::connect(addr).ok()?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok().map(|_| text)
}

#[test]
fn the_live_view_and_the_metrics_show_no_secrets() {
    if !has("secrets and the live view", "tmux") {
        return;
    }
    let (dir, (addr, asked)) = (tempfile::tempdir().unwrap(), echoing("200 OK"));
    let (url, port) = (planted_url(addr, dir.path()), free_port());
    let quoted: Vec<String> = FLAGS.iter().map(|flag| format!("'{flag}'")).collect();
    let line = format!(
        "{} load '{url}' {} --connections 2 --duration 60s --at-rest 0.2s --metrics :{port}; echo STATUS=$?; exec sleep 60",
        env!("CARGO_BIN_EXE_loadline"),
        quoted.join(" ")
    );
    let tmux = |args: &[&str]| {
        let mut command = Command::new("tmux");
        command.arg("-u").arg("-S").arg(dir.path().join("socket")).args(args).current_dir(dir.path());
        command.env("TERM", "xterm").env("PLANTED", "PlantedEnv5").env_remove("NO_COLOR");
        String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
    };
    tmux(&["-f", "/dev/null", "new-session", "-d", "-x", "200", "-y", "50", &line]);
    let shown = |word: &str| {
        let text = tmux(&["capture-pane", "-p", "-S", "-500"]);
        text.contains(word).then_some(text)
    };
    let view = eventually(|| shown("q ends the run").filter(|text| text.contains("completed")));
    let metrics =
        eventually(|| got(("127.0.0.1", port)).filter(|text| text.contains("loadline_trial_response_seconds{")));
    tmux(&["send-keys", "q"]);
    let after = eventually(|| shown("STATUS=130"));
    tmux(&["kill-server"]);
    let request = asked.lock().unwrap().clone();
    SECRETS.iter().for_each(|secret| assert!(request.contains(secret), "the server did not get {secret}: {request}"));
    for (what, text) in [("the view", view), ("metrics", metrics), ("what is left of the terminal", after)] {
        assert!(!text.contains(MARK), "{what}: {text}");
    }
}

/// The watched server is a process of another program, with a secret in its command line.
#[test]
fn secrets_of_a_watched_server_are_not_stored() {
    let code = "import socket, sys, time; s = socket.create_server(('127.0.0.1', 0)); \
                print('127.0.0.1:%d' % s.getsockname()[1], flush=True); time.sleep(600) # PlantedArgument7";
    let Some((server, addr)) = script_server(code) else {
        return skip("a server with a secret in its command line", "python3 is not installed");
    };
    let (dir, pid) = (tempfile::tempdir().unwrap(), server.pid().to_string());
    for by in [["--port", &addr.port().to_string()], ["--server-pid", &pid]] {
        let args =
            [&["watch"][..], &by, &["--duration", "1s", "--interval", "100ms", "--force", "--out", "kept"]].concat();
        let output = loadline(&args, dir.path());
        assert_eq!(clean(by[0], &output), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let mut files = Vec::new();
        every_file(&dir.path().join("kept"), &mut files);
        assert!(files.len() >= 3, "{files:?}");
        files
            .iter()
            .for_each(|(name, bytes)| assert!(!String::from_utf8_lossy(bytes).contains(MARK), "{by:?}: {name}"));
    }
}

/// Any user can list processes. During a load, the command lines and environments of loadline's agents (child
/// processes) must contain no secret.
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
fn secrets_are_removed_from_answers_and_error_messages() {
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
fn secrets_are_removed_from_runs_of_older_versions() {
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
