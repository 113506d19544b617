//! Tests of `make run`, the first command that a new user tries. `make run` must say what it does before a long build
//! begins. Without Rust, `make run` must name the command that installs Rust.

#![allow(clippy::unwrap_used)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Output;

/// Runs `make run` with `folder` as the only folder for programs.
fn make_run(folder: &Path) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut make = std::process::Command::new(testkit::program("make").unwrap());
    make.arg("run").current_dir(root).env_clear().env("PATH", folder).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn make_run_without_rust_names_one_command_that_installs_it() {
    if !testkit::has("make run without Rust", "make") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let output = make_run(dir.path());
    let errors = text(&output.stderr);
    assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
    assert!(errors.contains("Rust 1.88 or newer"), "{errors}");
    assert_eq!(errors.matches("https://sh.rustup.rs | sh").count(), 1, "{errors}");
}

#[test]
fn make_run_says_what_it_does_before_the_build() {
    if !testkit::has("first lines of make run", "make") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let cargo = dir.path().join("cargo");
    std::fs::write(&cargo, "#!/bin/sh\necho building\nexit 1\n").unwrap();
    std::fs::set_permissions(&cargo, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink(testkit::program("make").unwrap(), dir.path().join("make")).unwrap();
    let output = make_run(dir.path());
    let said = text(&output.stdout);
    let at = |words: &str| said.find(words).unwrap_or_else(|| panic!("no {words:?} in {output:?}"));
    assert!(!output.status.success(), "the build fails");
    assert!(at("2 to 3 minutes") < at("building") && at("for 30 s") < at("building"), "{said}");
}
