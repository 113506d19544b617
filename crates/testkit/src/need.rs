//! Requirements of tests that a machine may lack.

use std::fmt::Display;
use std::path::{Path, PathBuf};

/// Returns true if the machine must meet every requirement of the tests (`LOADLINE_REQUIRE=all`, as in CI).
pub fn required() -> bool {
    std::env::var("LOADLINE_REQUIRE").is_ok_and(|v| v == "all")
}

/// Reports that a test, or a part of it, is skipped, and which requirement the machine lacks. Fails the test if the
/// environment has `LOADLINE_REQUIRE=all`, which means that the machine must meet every requirement. If the program
/// under test fails, use an assertion instead of this function.
#[track_caller]
pub fn skip(test: &str, lacks: impl Display) {
    assert!(!required(), "{test} cannot run although LOADLINE_REQUIRE=all: {lacks}");
    println!("SKIP {test}: {lacks}");
}

/// Reason why the setup of a test or a benchmark failed.
#[derive(Debug)]
pub enum SetupError {
    /// The machine lacks a requirement.
    Missing(String),
    /// The machine has everything that is required, but the setup failed for the given reason.
    Failed(String),
}

impl SetupError {
    /// Returns the error that the program `name` is not installed.
    pub fn program(name: &str) -> Self {
        Self::Missing(format!("{name} is not installed"))
    }
}

impl Display for SetupError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Self::Missing(why) | Self::Failed(why)) = self;
        f.write_str(why)
    }
}

impl std::error::Error for SetupError {}

/// Returns the value in `made`, which is the result of a test's setup. If the machine lacks a requirement, skips the
/// test and returns `None`. If the setup failed, fails the test.
#[track_caller]
pub fn or_skip<T>(test: &str, made: Result<T, SetupError>) -> Option<T> {
    match made {
        Ok(made) => Some(made),
        Err(SetupError::Missing(what)) => {
            skip(test, what);
            None
        }
        Err(SetupError::Failed(how)) => panic!("{test}: {how}"),
    }
}

/// Checks that all programs in `names` are installed.
pub fn installed(names: &[&str]) -> Result<(), SetupError> {
    names.iter().find(|name| program(name).is_none()).map_or(Ok(()), |name| Err(SetupError::program(name)))
}

/// Returns true if the current user is root.
pub fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

/// Finds a program in the folders of PATH, or in `/usr/sbin` or `/sbin`, where Debian installs servers.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    path.split(':').map(|dir| Path::new(dir).join(name)).find(|p| p.is_file())
}

/// Returns true if a program is installed. If the program is not installed, skips the test and returns false.
#[track_caller]
pub fn has(test: &str, name: &str) -> bool {
    or_skip(test, installed(&[name])).is_some()
}

/// Finds a Python interpreter that has a module. Skips the test if no interpreter has the module. Debian's python3 is
/// tried first, because only Debian's python3 can import the modules of Debian packages. In PATH, another python3 may
/// come first.
#[track_caller]
pub fn python_with(test: &str, module: &str) -> Option<PathBuf> {
    let has = |python: &PathBuf| {
        let import = std::process::Command::new(python).args(["-c", &format!("import {module}")]).output();
        import.is_ok_and(|output| output.status.success())
    };
    let found = [Some("/usr/bin/python3".into()), program("python3")].into_iter().flatten().find(has);
    if found.is_none() {
        skip(test, format!("no Python has the module {module}"));
    }
    found
}

/// Returns true if there are at least two CPUs, so that client and server can have one each. If there is only one CPU,
/// skips the test and returns false.
#[track_caller]
pub fn two_processors(test: &str) -> bool {
    let there = std::thread::available_parallelism().is_ok_and(|n| n.get() >= 2);
    if !there {
        skip(test, "one CPU; client and server need one each");
    }
    there
}

/// Returns false, and skips the test, if loadline's error output (`said`) shows that this machine cannot create a
/// testbed. Returns true, without skipping the test, if the error output shows no failure to create a testbed.
#[track_caller]
pub fn has_testbed(test: &str, said: &str) -> bool {
    or_skip(test, testbed(said)).is_some()
}

/// Returns an error if loadline's error output shows that this machine cannot create a testbed.
pub(crate) fn testbed(said: &str) -> Result<(), SetupError> {
    let lacks = ["cannot make a network namespace", "install iproute2"].iter().any(|words| said.contains(words));
    if lacks { Err(SetupError::Missing(said.into())) } else { Ok(()) }
}
