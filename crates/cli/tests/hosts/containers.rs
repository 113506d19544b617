//! Containers: an empty one that holds only the static program that `make dist` makes, entered by podman, and by `runc exec`, as docker
//! and kubectl do it below. It is the server and the generator's host at once.

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

/// One that podman holds, with nothing of the machine's own podman read or changed.
struct Podman<'a> {
    dir: &'a Path,
    name: &'static str,
}

impl<'a> Podman<'a> {
    /// Starts it; its words where it cannot.
    fn start(dir: &'a Path, program: &Path, args: &[&str]) -> Result<Self, String> {
        std::fs::create_dir_all(dir.join("root")).unwrap();
        std::fs::copy(program, dir.join("root/loadline")).unwrap();
        let d = dir.display();
        let storage = format!("[storage]\ndriver = \"vfs\"\nrunroot = \"{d}/run\"\ngraphroot = \"{d}/graph\"\n");
        std::fs::write(dir.join("storage.conf"), storage).unwrap();
        // A limit that its default is above is none that every machine may set.
        let limits = "default_ulimits = [\"nofile=1024:1024\", \"nproc=1000:1000\"]";
        let engine =
            format!("runtime = \"runc\"\ncgroup_manager = \"cgroupfs\"\nlock_type = \"file\"\ntmp_dir = \"{d}/tmp\"");
        let config = format!("[containers]\n{limits}\n[engine]\n{engine}\n");
        std::fs::write(dir.join("containers.conf"), config).unwrap();
        let made = Self { dir, name: "loadline-test-podman" };
        let mut run = made.with(Command::new("podman"));
        run.args(["run", "-d", "--name", made.name, "--network", "host", "--rootfs"]).arg(dir.join("root")).args(args);
        let output = run.output().unwrap();
        if output.status.success() { Ok(made) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
    }

    fn with(&self, mut command: Command) -> Command {
        command.env("CONTAINERS_STORAGE_CONF", self.dir.join("storage.conf"));
        command.env("CONTAINERS_CONF", self.dir.join("containers.conf"));
        command
    }
}

impl Drop for Podman<'_> {
    fn drop(&mut self) {
        let mut remove = self.with(Command::new("podman"));
        let _ = remove.args(["rm", "--force", "--time", "0", self.name]).stdout(Stdio::null()).status();
    }
}

/// Loads the server in the container of that name from there, and watches it there.
fn is_loaded_and_watched(mut load: Command, listen: &str, (name, via): (&str, &str)) {
    let url = format!("http://{listen}/");
    load.args(["load", &url, "--connections", "2", "--duration", "500ms", "--at-rest", "0", "--json"]);
    load.args(["--client-hosts", name, "--agents-per-host", "2", "--server-host", name]);
    let output = load.args(["--via", via, "--agent-path", "/loadline"]).output().unwrap();
    let run: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", said(&output)));
    assert!(total(&run, "completed") > 10 && names_of_loads(&run) == [name], "{}", said(&output));
    let server = &run["trials"][0]["server"];
    assert_eq!(server["host"], name, "{server}");
    assert!(server["counters"]["process.cpu"].as_f64().is_some_and(|us| us > 0.0), "its own process is watched there");
}

#[test]
fn podman_itself_starts_agents_in_an_empty_container() {
    let test = "podman_itself";
    if !has(test, "podman") || !has(test, "runc") {
        return;
    }
    let Some(program) = static_program(test) else { return };
    if !testkit::is_root() {
        return testkit::skip(test, "no right to start a container");
    }
    let (_alone, dir, port) = (alone(), tempfile::tempdir().unwrap(), free_port());
    let listen = format!("127.0.0.1:{port}");
    let container = Podman::start(dir.path(), &program, &["/loadline", "serve", "http", "--listen", &listen]).unwrap();
    eventually(|| std::net::TcpStream::connect(&listen).ok());
    is_loaded_and_watched(container.with(Command::new(binary!())), &listen, (container.name, "podman"));
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
    is_loaded_and_watched(Command::new(binary!()), &listen, (container.name, &container.via()));
}
