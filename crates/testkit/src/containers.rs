//! Containers that contain only the static loadline program from `make dist`. Each container runs an HTTP server on
//! this machine's network. The tests do not touch other containers of the machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;
use tempfile::TempDir;

use crate::process::{PATIENCE, seen_within};
use crate::{ChildProcess, SetupError, free_port, installed, is_root};

/// Returns the path of the static loadline program in the target directory that contains `own`. `make test` and `make
/// bench` build the static program first.
pub fn static_program(own: &Path) -> Result<PathBuf, SetupError> {
    let program = own.ancestors().map(|dir| dir.join("dist/loadline")).find(|program| program.exists());
    program.ok_or_else(|| SetupError::Missing("no static program in target/dist; make it with: make dist".into()))
}

/// A container, which is removed when this value is dropped.
pub struct Container {
    /// Name of the container in its engine.
    pub name: String,
    /// Address on which the container's server listens.
    pub listen: String,
    /// Value of loadline's option `--via` that makes commands run in the container.
    pub via: String,
    /// Environment variables with which the container engine finds the container.
    environment: Vec<(&'static str, PathBuf)>,
    remove: Vec<String>,
    /// Further options of `loadline serve`, for the container's server.
    options: Vec<String>,
    /// Process of the engine that runs the container. The value is `None` if a daemon runs the container, or if the
    /// engine exits after it has started the container.
    engine: Option<ChildProcess>,
    dir: TempDir,
}

impl Container {
    /// Starts a container with podman.
    pub fn of_podman(program: &Path) -> Result<Self, SetupError> {
        Self::of_podman_with(program, &[])
    }

    /// Starts a container with podman. `options` are further options of `loadline serve`.
    pub fn of_podman_with(program: &Path, options: &[&str]) -> Result<Self, SetupError> {
        let mut made = Self::made("podman", program)?;
        made.options = options.iter().map(|option| (*option).into()).collect();
        installed(&["runc"])?;
        made.configure_podman();
        let root = made.root();
        let mut run = made.within(Command::new("podman"));
        run.args(["run", "-d", "--name", &made.name, "--network", "host", "--rootfs"]).arg(root);
        let output = run.args(made.serves()).output().unwrap();
        made.remove = words(&["podman", "rm", "--force", "--time", "0", &made.name]);
        if !output.status.success() {
            return Err(SetupError::Failed(format!("podman: {}", String::from_utf8_lossy(&output.stderr).trim())));
        }
        made.listening("podman")
    }

    /// Starts a container with a low-level runtime (`runc` or `crun`). Docker and Kubernetes also use low-level
    /// runtimes to run their containers.
    pub fn of_runtime(runtime: &str, program: &Path) -> Result<Self, SetupError> {
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
        made.engine = Some(ChildProcess::start(run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said)));
        made.via = format!("{runtime} --root {state} exec {{host}}");
        made.remove = words(&[runtime, "--root", &state, "delete", "--force", &made.name]);
        made.listening(runtime)
    }

    /// Creates the container's files, but does not start it.
    fn made(engine: &str, program: &Path) -> Result<Self, SetupError> {
        installed(&[engine])?;
        if !is_root() {
            return Err(SetupError::Missing("no right to start a container".into()));
        }
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("root")).unwrap();
        std::fs::copy(program, dir.path().join("root/loadline")).unwrap();
        Ok(Self {
            // The process ID makes the name unique if several users run the tests on this machine.
            name: format!("loadline-test-{engine}-{}", std::process::id()),
            listen: format!("127.0.0.1:{}", free_port()),
            via: engine.into(),
            environment: Vec::new(),
            remove: Vec::new(),
            options: Vec::new(),
            engine: None,
            dir,
        })
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    fn serves(&self) -> Vec<&str> {
        let options = self.options.iter().map(String::as_str);
        ["/loadline", "serve", "http", "--listen", &self.listen].into_iter().chain(options).collect()
    }

    fn configure_podman(&mut self) {
        self.environment.extend(podman_configuration(self.dir.path()));
    }

    /// Adds to a command the environment variables with which the container engine finds the container.
    pub fn within(&self, mut command: Command) -> Command {
        command.envs(self.environment.iter().map(|(name, file)| (name, file)));
        command
    }

    /// Returns a value of `--via` that works even if the environment variables of [`Container::within`] are not set.
    pub fn via_alone(&self) -> String {
        let set: String = self.environment.iter().map(|(name, file)| format!("{name}={} ", file.display())).collect();
        match set.is_empty() {
            true => self.via.clone(),
            false => format!("env {set}{} exec -i {{host}}", self.via),
        }
    }

    /// Waits until the container's server accepts connections.
    fn listening(mut self, engine: &str) -> Result<Self, SetupError> {
        let up = seen_within(PATIENCE, || match std::net::TcpStream::connect(&self.listen) {
            Ok(_) => Some(true),
            Err(_) => self.engine.as_mut().is_some_and(|engine| !engine.runs()).then_some(false),
        });
        if up == Some(true) {
            return Ok(self);
        }
        let said = std::fs::read_to_string(self.dir.path().join("said")).unwrap_or_default();
        Err(SetupError::Failed(format!("{engine} brought no server up: {}", said.trim())))
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let Some((first, rest)) = self.remove.split_first() else { return };
        let mut remove = self.within(Command::new(first));
        let _ = remove.args(rest).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

/// Writes a configuration with which podman stores everything in `dir`. Returns the environment variables that make
/// podman use the configuration.
pub fn podman_configuration(dir: &Path) -> Vec<(&'static str, PathBuf)> {
    let d = dir.display();
    let storage = format!("[storage]\ndriver = \"vfs\"\nrunroot = \"{d}/run\"\ngraphroot = \"{d}/graph\"\n");
    // Some machines do not allow limits as high as podman's defaults, so the configuration sets lower limits.
    let limits = "default_ulimits = [\"nofile=1024:1024\", \"nproc=1000:1000\"]";
    let engine =
        format!("runtime = \"runc\"\ncgroup_manager = \"cgroupfs\"\nlock_type = \"file\"\ntmp_dir = \"{d}/tmp\"");
    let texts = [
        ("CONTAINERS_STORAGE_CONF", "storage.conf", storage),
        ("CONTAINERS_CONF", "containers.conf", format!("[containers]\n{limits}\n[engine]\n{engine}\n")),
    ];
    let write = |(variable, name, text): (&'static str, &str, String)| {
        let file = dir.join(name);
        std::fs::write(&file, text).unwrap();
        (variable, file)
    };
    texts.map(write).into()
}

/// A podman image that contains only the static loadline program, as `/loadline`. Podman's whole storage is removed
/// when this value is dropped.
pub struct PodmanImage {
    /// Name of the image.
    pub name: String,
    environment: Vec<(&'static str, PathBuf)>,
    _dir: TempDir,
}

impl PodmanImage {
    /// Creates an image that contains `program`.
    pub fn of(program: &Path) -> Result<Self, SetupError> {
        installed(&["podman", "runc", "tar"])?;
        if !is_root() {
            return Err(SetupError::Missing("no right to start a container".into()));
        }
        let dir = tempfile::tempdir().unwrap();
        let archive = dir.path().join("image.tar");
        let mut tar = Command::new("tar");
        tar.arg("-cf").arg(&archive).arg("-C").arg(program.parent().unwrap()).arg(program.file_name().unwrap());
        let image = Self {
            name: format!("localhost/loadline-test:{}", std::process::id()),
            environment: podman_configuration(dir.path()),
            _dir: dir,
        };
        let mut import = image.within(Command::new("podman"));
        import.arg("import").arg(&archive).arg(&image.name);
        for command in [&mut tar, &mut import] {
            let output = command.output().unwrap();
            if !output.status.success() {
                return Err(SetupError::Failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
            }
        }
        Ok(image)
    }

    /// Adds to a command the environment variables with which podman finds the image.
    pub fn within(&self, mut command: Command) -> Command {
        command.envs(self.environment.iter().map(|(name, file)| (name, file)));
        command
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}
