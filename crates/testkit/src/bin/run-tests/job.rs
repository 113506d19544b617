//! Runs one test in its own process.

use std::io::{self, Read as _, Seek as _};
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use loadline_testkit::TEST_RUN_PID;

/// Seconds after which a test is considered hung and is killed.
const MAX_TEST_S: &str = "300";
/// Exit status of the program `timeout` after it has killed a test.
const TIMED_OUT: i32 = 124;

/// Name of the test modules whose tests measure, but whose checks still hold while a few other tests of such modules
/// run.
pub(crate) const LIGHT_MODULE: &str = "light";
/// Name of the test modules whose tests measure, but leave the CPUs idle.
pub(crate) const IDLE_MODULE: &str = "idle";

/// A test to run.
pub(crate) struct Job {
    /// Name of the test program: `CRATE` for unit tests, `CRATE/TARGET` for integration tests.
    pub(crate) program: String,
    /// Cargo target of the test.
    pub(crate) target: String,
    pub(crate) test: String,
    pub(crate) executable: PathBuf,
    /// Folder of the package, which is the test's working directory.
    pub(crate) folder: PathBuf,
    /// True if other tests that measure run at the same time. The test then counts the CPU time of the other measuring
    /// tests as its own, and skips no check because of that CPU time.
    pub(crate) is_beside_others: bool,
}

/// Result of a test.
pub(crate) struct Outcome {
    /// Name of the test program and name of the test, separated by a space.
    pub(crate) name: String,
    pub(crate) took: Duration,
    /// Reason for the failure, with the test's output; `None` if the test passed.
    pub(crate) failure: Option<String>,
    /// `SKIP` lines that the test printed. Each `SKIP` line names a requirement that the machine does not meet.
    pub(crate) skips: Vec<String>,
}

impl Job {
    /// Returns the name of the test program and the name of the test, separated by a space.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.program, self.test)
    }

    /// Returns true if the test is in a module with this name, or in a module inside of such a module.
    pub(crate) fn is_in_module(&self, name: &str) -> bool {
        self.test.rsplit("::").skip(1).any(|module| module == name)
    }

    /// Returns this test, marked to run at the same time as other measuring tests.
    pub(crate) fn beside_others(self) -> Self {
        Self { is_beside_others: true, ..self }
    }

    /// Runs the test, and waits until it ends.
    pub(crate) fn run(self) -> Outcome {
        let started = Instant::now();
        let ended = self.end();
        let took = started.elapsed();
        let name = self.name();
        let (status, text) = match ended {
            Ok((status, text)) => (Ok(status), text),
            Err(error) => (Err(error), String::new()),
        };
        let why = match status {
            Ok(status) if status.success() => None,
            Ok(status) if status.code() == Some(TIMED_OUT) => Some(format!("ended after {MAX_TEST_S} s")),
            Ok(status) => Some(status.to_string()),
            Err(error) => Some(format!("cannot start it: {error}")),
        };
        // The test harness prints `test NAME ...` without a line end, so a `SKIP` may be on the same line.
        let skips = text.lines().filter_map(|line| line.find("SKIP ").map(|at| line[at..].to_owned())).collect();
        Outcome { name, took, failure: why.map(|why| format!("{why}\n{text}")), skips }
    }

    /// Runs the test, and returns its exit status and its output. The output of the test goes to a file. If the output
    /// went to a pipe, a process that the test left behind would keep the pipe open.
    fn end(&self) -> io::Result<(ExitStatus, String)> {
        let mut output = tempfile::tempfile()?;
        let status = Command::new("timeout")
            .args(["--kill-after=5", MAX_TEST_S])
            .arg(&self.executable)
            .args(["--exact", &self.test, "--nocapture", "--test-threads=1"])
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .envs(self.is_beside_others.then(|| (TEST_RUN_PID, std::process::id().to_string())))
            .stdout(output.try_clone()?)
            .stderr(output.try_clone()?)
            .status()?;
        let mut bytes = Vec::new();
        output.rewind()?;
        output.read_to_end(&mut bytes)?;
        Ok((status, String::from_utf8_lossy(&bytes).into_owned()))
    }
}
