//! One test, run in its own process.

use std::io::{self, Read as _, Seek as _};
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// Seconds after which a test counts as hung and is killed.
const MAX_TEST_S: &str = "300";
/// Exit status of `timeout` after it killed the program.
const TIMED_OUT: i32 = 124;

/// A test to run.
pub(crate) struct Job {
    /// Name of the test program: `crate` for unit tests, `crate/target` for others.
    pub(crate) program: String,
    /// Cargo target of the test.
    pub(crate) target: String,
    pub(crate) test: String,
    pub(crate) executable: PathBuf,
    /// Folder of the package, which is the test's working directory.
    pub(crate) folder: PathBuf,
}

/// Result of a test.
pub(crate) struct Outcome {
    /// Names of the test program and of the test.
    pub(crate) name: String,
    pub(crate) took: Duration,
    /// Reason for the failure, with the output; `None` for success.
    pub(crate) failure: Option<String>,
    /// `SKIP` lines of the test. Each line states what the machine lacks.
    pub(crate) skips: Vec<String>,
}

impl Job {
    /// Returns the names of the test program and of the test.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.program, self.test)
    }

    /// Runs the test until it ends.
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
        // The test harness does not end its own line, so a `SKIP` may follow on that line.
        let skips = text.lines().filter_map(|line| line.find("SKIP ").map(|at| line[at..].to_owned())).collect();
        Outcome { name, took, failure: why.map(|why| format!("{why}\n{text}")), skips }
    }

    /// Runs the test, and returns its status and its output. The output goes to a file, because a pipe would stay open
    /// as long as a process left behind by the test runs.
    fn end(&self) -> io::Result<(ExitStatus, String)> {
        let mut output = tempfile::tempfile()?;
        let status = Command::new("timeout")
            .args(["--kill-after=5", MAX_TEST_S])
            .arg(&self.executable)
            .args(["--exact", &self.test, "--nocapture", "--test-threads=1"])
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .stdout(output.try_clone()?)
            .stderr(output.try_clone()?)
            .status()?;
        let mut bytes = Vec::new();
        output.rewind()?;
        output.read_to_end(&mut bytes)?;
        Ok((status, String::from_utf8_lossy(&bytes).into_owned()))
    }
}
