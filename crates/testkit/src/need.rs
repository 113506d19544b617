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
    let there = program(name).is_some();
    if !there {
        skip(test, format!("{name} is not installed"));
    }
    there
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
    let lacks = ["cannot make a network namespace", "install iproute2"].iter().any(|words| said.contains(words));
    if lacks {
        skip(test, said);
    }
    !lacks
}
