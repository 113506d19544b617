//! Tests of the servers in `examples/arena/arena.toml`. The test builds and starts each server, which must answer the
//! request of the load.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use run::{ArenaEntry, ArenaPlan};
use testkit::{ChildProcess, binary, free_port, installed, or_skip};

/// Port that the example's files give to the servers.
const PORT: &str = "18080";

/// Name of each server, and the tool that it needs.
const TOOLS: [(&str, &str); 5] =
    [("nginx", "nginx"), ("haproxy", "haproxy"), ("node", "node"), ("go", "go"), ("axum", "cargo")];

#[test]
fn each_server_of_the_example_starts_and_answers() {
    let port = free_port();
    let dir = copied(port);
    let plan = ArenaPlan::from_toml("arena.toml", &std::fs::read_to_string(dir.path().join("arena.toml")).unwrap());
    let plan = plan.unwrap();
    let path = &plan.profiles[0].path;
    for entry in &plan.entries {
        let tool = TOOLS.iter().find(|(name, _)| *name == entry.name).map(|(_, tool)| *tool);
        if tool.is_some_and(|tool| or_skip(&format!("{} of the example", entry.name), installed(&[tool])).is_none()) {
            continue;
        }
        if let Some(build) = &entry.build {
            // A build uses all CPUs for minutes. The tests that run at the same time must not wait for it.
            let output = shell(dir.path(), port, &format!("renice -n 19 -p $$ > /dev/null; {build}")).output().unwrap();
            assert!(output.status.success(), "{}: {}", entry.name, String::from_utf8_lossy(&output.stderr));
        }
        answers(dir.path(), port, entry, path);
    }
}

/// Copies the example to another folder, where its servers use `port`.
fn copied(port: u16) -> tempfile::TempDir {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/arena");
    let dir = tempfile::tempdir().unwrap();
    let files = ["arena.toml", "nginx.conf", "haproxy.cfg", "server.js", "server.go", "www", "axum"];
    let mut copy = Command::new("cp");
    copy.arg("-r").args(files.map(|file| example.join(file))).arg(dir.path());
    assert!(copy.status().unwrap().success());
    for file in ["arena.toml", "nginx.conf"].map(|file| dir.path().join(file)) {
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains(PORT), "{}", file.display());
        std::fs::write(&file, text.replace(PORT, &port.to_string())).unwrap();
    }
    // The test keeps the builds for later runs, because building axum takes a minute.
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("arena-example");
    std::fs::create_dir_all(&built).unwrap();
    std::os::unix::fs::symlink(built, dir.path().join("target")).unwrap();
    dir
}

/// Returns a shell command with the folder and the environment in which `loadline arena` runs the commands of its file.
fn shell(dir: &Path, port: u16, line: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(dir).env("PORT", port.to_string()).env("LOADLINE", binary!());
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// Starts a server of the example, and checks its answer.
fn answers(dir: &Path, port: u16, entry: &ArenaEntry, path: &str) {
    let mut command = shell(dir, port, entry.command.as_ref().unwrap());
    // On Debian, the folders of the servers are in the PATH of root only.
    command.env("PATH", std::env::var("PATH").unwrap() + ":/usr/sbin:/sbin");
    let _server = ChildProcess::listening(command.stderr(Stdio::null()), port);
    let mut connection = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(connection, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    let whole = answer.starts_with("HTTP/1.1 200") && answer.contains("Hello, World!");
    assert!(whole, "{}: {answer:?}", entry.name);
}
