//! Containers: an empty one that holds only the static program that `make dist` makes, entered by `runc exec`, as podman, docker and
//! kubectl do it below. It is the server and the generator's host at once.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json as value};
use testkit::{Held, alone, binary, eventually, free_port, has, total};

use crate::stage::{names_of_loads, said};

/// The static program: what `make test` made before the tests.
fn static_program(test: &str) -> Option<PathBuf> {
    let target = binary!().ancestors().find(|dir| dir.join("CACHEDIR.TAG").exists())?;
    let program = target.join("dist/loadline");
    let there = program.exists();
    if !there {
        testkit::skip(test, "no static program in target/dist; make it with: make dist");
    }
    there.then_some(program)
}

/// A container that runs for as long as this is held.
struct Container {
    state: PathBuf,
    name: &'static str,
    _held: Held,
}

impl Container {
    /// With the program and nothing else but an empty /proc, in the network of this machine.
    fn start(dir: &Path, program: &Path, args: &[&str]) -> Self {
        let name = "loadline-test";
        std::fs::create_dir_all(dir.join("root/proc")).unwrap();
        std::fs::copy(program, dir.join("root/loadline")).unwrap();
        let process = value!({"user": {"uid": 0, "gid": 0}, "args": args, "cwd": "/", "terminal": false});
        let config = value!({
            "ociVersion": "1.0.0",
            "process": process,
            "root": {"path": "root", "readonly": true},
            "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"}],
            "linux": {"namespaces": [{"type": "mount"}, {"type": "pid"}]},
        });
        std::fs::write(dir.join("config.json"), config.to_string()).unwrap();
        let state = dir.join("state");
        let mut run = Command::new("runc");
        run.arg("--root").arg(&state).args(["run", "--bundle"]).arg(dir).arg(name);
        Self { name, _held: Held::start(run.stdout(Stdio::null()).stderr(Stdio::null())), state }
    }

    fn via(&self) -> String {
        format!("runc --root {} exec {{host}}", self.state.display())
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = Command::new("runc").arg("--root").arg(&self.state).args(["delete", "--force", self.name]).status();
    }
}

#[test]
fn an_empty_container_needs_the_static_program_and_nothing_more() {
    let test = "an_empty_container";
    if !has(test, "runc") || !has(test, "readelf") {
        return;
    }
    let Some(program) = static_program(test) else { return };
    let linked = Command::new("readelf").args(["--program-headers", "--dynamic"]).arg(&program).output().unwrap();
    let linked = String::from_utf8_lossy(&linked.stdout).into_owned();
    assert!(!linked.contains("INTERP") && !linked.contains("NEEDED"), "it asks for nothing of a system:\n{linked}");
    if !testkit::is_root() {
        return testkit::skip(test, "no right to start a container");
    }
    let (_alone, dir, port) = (alone(), tempfile::tempdir().unwrap(), free_port());
    let listen = format!("127.0.0.1:{port}");
    let container = Container::start(dir.path(), &program, &["/loadline", "serve", "http", "--listen", &listen]);
    eventually(|| std::net::TcpStream::connect(&listen).ok());
    let url = format!("http://{listen}/");
    let mut load = Command::new(binary!());
    load.args(["load", &url, "--connections", "2", "--duration", "500ms", "--at-rest", "0", "--json"]);
    load.args(["--client-hosts", container.name, "--agents-per-host", "2", "--server-host", container.name]);
    let output = load.args(["--via", &container.via(), "--agent-path", "/loadline"]).output().unwrap();
    let run: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", said(&output)));
    assert!(total(&run, "completed") > 10 && names_of_loads(&run) == [container.name], "{}", said(&output));
    let server = &run["trials"][0]["server"];
    assert_eq!(server["host"], container.name, "{server}");
    assert!(server["counters"]["process.cpu"].as_f64().is_some_and(|us| us > 0.0), "its own process is watched there");
}
