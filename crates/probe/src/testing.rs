//! Helpers of several tests: a folder that replaces the root folder of a machine, and a process that tests start. A
//! test writes files into the folder, and a source of counters reads them.

use std::path::Path;

use run::{Reading, Recording, Window};

use crate::{Probe, Scope};

/// A folder that acts as the root of a machine's file system.
pub(crate) struct Tree {
    dir: tempfile::TempDir,
    processes: Vec<u32>,
}

impl Tree {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self { dir: tempfile::tempdir().unwrap(), processes: Vec::new() };
        for (path, text) in files {
            tree.write(path, text);
        }
        tree
    }

    pub(crate) fn with_processes(mut self, pids: &[u32]) -> Self {
        self.processes = pids.to_vec();
        self
    }

    pub(crate) fn root(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn remove(&self, path: &str) {
        let path = self.root().join(path);
        if path.is_dir() { std::fs::remove_dir_all(path).unwrap() } else { std::fs::remove_file(path).unwrap() }
    }

    pub(crate) fn probe(&self, source: &'static str) -> Probe {
        Probe::new(Scope {
            root: self.root().to_owned(),
            processes: self.processes.clone(),
            sources: Some(vec![source]),
            ..Scope::default()
        })
    }

    /// Takes one sample of one source.
    pub(crate) fn sample(&self, source: &'static str) -> Sampled {
        let mut probe = self.probe(source);
        probe.sample(0.0);
        Sampled(probe.take())
    }
}

/// A recording with short access functions.
pub(crate) struct Sampled(pub(crate) Recording);

impl Sampled {
    /// Returns the last value of a column.
    pub(crate) fn last(&self, id: &str, instance: &str) -> Option<f64> {
        self.0.column(id, instance)?.values.last().copied().flatten()
    }

    /// Returns the reason why a counter has no value.
    pub(crate) fn reason(&self, id: &str) -> String {
        match self.0.reading(id, "", Window::ALL) {
            Reading::Absent { absent } => absent,
            Reading::Value(v) => panic!("{id} has the value {v}"),
        }
    }
}

/// Starts a shell that starts a child process as soon as it gets a line.
pub(crate) fn forks_later() -> testkit::ChildProcess {
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "exec 3<&0; read line; (read other <&3) & wait"]).stdin(std::process::Stdio::piped());
    testkit::ChildProcess::start(&mut command)
}
