//! Containers: an empty one that holds only the static program that `make dist` makes, as a server of HTTP on this machine's
//! network. Nothing of the machine's own containers is read or changed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;
use tempfile::TempDir;

use crate::process::{PATIENCE, seen_within};
use crate::{Held, Without, free_port, installed, is_root};

/// The static program of the build that made `own`: what `make test` and `make bench` make first.
pub fn static_program(own: &Path) -> Result<PathBuf, Without> {
    let target = own.ancestors().find(|dir| dir.join("CACHEDIR.TAG").exists());
    let program = target.map(|target| target.join("dist/loadline")).filter(|program| program.exists());
    program.ok_or_else(|| Without::Lacks("no static program in target/dist; make it with: make dist".into()))
}

/// A container that runs for as long as this is held.
pub struct Container {
    /// Its name for its engine.
    pub name: String,
    /// Where its server listens.
    pub listen: String,
    /// What `--via` needs to enter it.
    pub via: String,
    /// What its engine must find in its environment.
    environment: Vec<(&'static str, PathBuf)>,
    remove: Vec<String>,
    /// What holds it, where it is no daemon.
    engine: Option<Held>,
    dir: TempDir,
}

impl Container {
    /// One that podman holds.
    pub fn of_podman(program: &Path) -> Result<Self, Without> {
        let mut made = Self::made("podman", program)?;
        installed(&["runc"])?;
        made.configure_podman();
        let root = made.root();
        let mut run = made.within(Command::new("podman"));
        run.args(["run", "-d", "--name", &made.name, "--network", "host", "--rootfs"]).arg(root);
        let output = run.args(made.serves()).output().unwrap();
        made.remove = words(&["podman", "rm", "--force", "--time", "0", &made.name]);
        if !output.status.success() {
            return Err(Without::Failed(format!("podman: {}", String::from_utf8_lossy(&output.stderr).trim())));
        }
        made.listening("podman")
    }

    /// One that a runtime holds by itself, as docker and kubectl have it below them: `runc`, `crun`.
    pub fn of_runtime(runtime: &str, program: &Path) -> Result<Self, Without> {
        let mut made = Self::made(runtime, program)?;
        std::fs::create_dir(made.root().join("proc")).unwrap();
        let config = json!({
            "ociVersion": "1.0.0",
            "process": {"user": {"uid": 0, "gid": 0}, "args": made.serves(), "cwd": "/", "terminal": false},
            "root": {"path": "root", "readonly": true},
            "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"}],
            "linux": {"namespaces": [{"type": "mount"}, {"type": "pid"}]},
        });
        std::fs::write(made.dir.path().join("config.json"), config.to_string()).unwrap();
        let state = made.dir.path().join("state").display().to_string();
        let said = std::fs::File::create(made.dir.path().join("said")).unwrap();
        let mut run = Command::new(runtime);
        run.args(["--root", &state, "run", "--bundle"]).arg(made.dir.path()).arg(&made.name);
        made.engine = Some(Held::start(run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said)));
        made.via = format!("{runtime} --root {state} exec {{host}}");
        made.remove = words(&[runtime, "--root", &state, "delete", "--force", &made.name]);
        made.listening(runtime)
    }

    /// Its files; nothing is started.
    fn made(engine: &str, program: &Path) -> Result<Self, Without> {
        installed(&[engine])?;
        if !is_root() {
            return Err(Without::Lacks("no right to start a container".into()));
        }
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("root")).unwrap();
        std::fs::copy(program, dir.path().join("root/loadline")).unwrap();
        Ok(Self {
            // Others may test on this machine, too.
            name: format!("loadline-test-{engine}-{}", std::process::id()),
            listen: format!("127.0.0.1:{}", free_port()),
            via: engine.into(),
            environment: Vec::new(),
            remove: Vec::new(),
            engine: None,
            dir,
        })
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    fn serves(&self) -> [&str; 5] {
        ["/loadline", "serve", "http", "--listen", &self.listen]
    }

    /// Settings of its own, with storage below its directory.
    fn configure_podman(&mut self) {
        let d = self.dir.path().display();
        let storage = format!("[storage]\ndriver = \"vfs\"\nrunroot = \"{d}/run\"\ngraphroot = \"{d}/graph\"\n");
        // A limit that its default is above is none that every machine may set.
        let limits = "default_ulimits = [\"nofile=1024:1024\", \"nproc=1000:1000\"]";
        let engine =
            format!("runtime = \"runc\"\ncgroup_manager = \"cgroupfs\"\nlock_type = \"file\"\ntmp_dir = \"{d}/tmp\"");
        let texts = [
            ("CONTAINERS_STORAGE_CONF", "storage.conf", storage),
            ("CONTAINERS_CONF", "containers.conf", format!("[containers]\n{limits}\n[engine]\n{engine}\n")),
        ];
        for (variable, name, text) in texts {
            let file = self.dir.path().join(name);
            std::fs::write(&file, text).unwrap();
            self.environment.push((variable, file));
        }
    }

    /// A command that finds its engine as this container was made by it.
    pub fn within(&self, mut command: Command) -> Command {
        command.envs(self.environment.iter().map(|(name, file)| (name, file)));
        command
    }

    /// What `--via` needs without anything in the environment.
    pub fn via_alone(&self) -> String {
        let set: String = self.environment.iter().map(|(name, file)| format!("{name}={} ", file.display())).collect();
        match set.is_empty() {
            true => self.via.clone(),
            false => format!("env {set}{} exec -i {{host}}", self.via),
        }
    }

    /// Waits until its server listens.
    fn listening(mut self, engine: &str) -> Result<Self, Without> {
        let up = seen_within(PATIENCE, || match std::net::TcpStream::connect(&self.listen) {
            Ok(_) => Some(true),
            Err(_) => self.engine.as_mut().is_some_and(|engine| !engine.runs()).then_some(false),
        });
        if up == Some(true) {
            return Ok(self);
        }
        let said = std::fs::read_to_string(self.dir.path().join("said")).unwrap_or_default();
        Err(Without::Failed(format!("{engine} brought no server up: {}", said.trim())))
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let Some((first, rest)) = self.remove.split_first() else { return };
        let mut remove = self.within(Command::new(first));
        let _ = remove.args(rest).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}
