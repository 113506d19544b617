//! What a test needs of the machine.

use std::fmt::Display;
use std::path::{Path, PathBuf};

/// Whether everything is to be there (`LOADLINE_REQUIRE=all`, as in CI).
pub fn required() -> bool {
    std::env::var("LOADLINE_REQUIRE").is_ok_and(|v| v == "all")
}

/// Says that a test, or a part of one, is left out and what the machine lacks for it; a failure where everything is
/// required. Never for what the program under test did wrong.
#[track_caller]
pub fn skip(test: &str, lacks: impl Display) {
    assert!(!required(), "{test} cannot run although LOADLINE_REQUIRE=all: {lacks}");
    println!("SKIP {test}: {lacks}");
}

/// Why something that a test or a benchmark stands on is not there.
#[derive(Debug)]
pub enum Without {
    /// The machine lacks what it needs.
    Lacks(String),
    /// It was begun, and went wrong.
    Failed(String),
}

impl Without {
    /// A program that is not installed.
    pub fn program(name: &str) -> Self {
        Self::Lacks(format!("{name} is not installed"))
    }
}

impl Display for Without {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Self::Lacks(why) | Self::Failed(why)) = self;
        f.write_str(why)
    }
}

impl std::error::Error for Without {}

/// What is there; says that the test is left out where the machine lacks something for it, and fails where it went wrong.
#[track_caller]
pub fn or_skip<T>(test: &str, made: Result<T, Without>) -> Option<T> {
    match made {
        Ok(made) => Some(made),
        Err(Without::Lacks(what)) => {
            skip(test, what);
            None
        }
        Err(Without::Failed(how)) => panic!("{test}: {how}"),
    }
}

/// Whether programs are installed.
pub fn installed(names: &[&str]) -> Result<(), Without> {
    names.iter().find(|name| program(name).is_none()).map_or(Ok(()), |name| Err(Without::program(name)))
}

/// Whether this is root.
pub fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

/// The path of a program, looked for where Debian puts servers, too.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    path.split(':').map(|dir| Path::new(dir).join(name)).find(|p| p.is_file())
}

/// Whether a program is installed; says that the test is left out where it is not.
#[track_caller]
pub fn has(test: &str, name: &str) -> bool {
    or_skip(test, installed(&[name])).is_some()
}

/// A Python that has this module; says that the test is left out where there is none. Debian's modules are for Debian's own
/// python3, even where another one stands before it.
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

/// Whether client and server can have a processor each; says that the test is left out where they cannot.
#[track_caller]
pub fn two_processors(test: &str) -> bool {
    let there = std::thread::available_parallelism().is_ok_and(|n| n.get() >= 2);
    if !there {
        skip(test, "one CPU; client and server need one each");
    }
    there
}

/// Whether a testbed could be made, by what `loadline` said on standard error; says that the test is left out where this
/// machine cannot make one.
#[track_caller]
pub fn has_testbed(test: &str, said: &str) -> bool {
    or_skip(test, testbed(said)).is_some()
}

/// The same without a test.
pub(crate) fn testbed(said: &str) -> Result<(), Without> {
    let lacks = ["cannot make a network namespace", "install iproute2"].iter().any(|words| said.contains(words));
    if lacks { Err(Without::Lacks(said.into())) } else { Ok(()) }
}
