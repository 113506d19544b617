//! Test of the Debian package. dpkg installs the package into a directory, the test runs its programs, and dpkg removes
//! the package again.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::is_root;

const INSTALLED: [&str; 6] = [
    "usr/bin/loadline",
    "usr/share/man/man1/loadline.1.gz",
    "usr/share/man/man1/loadline-find.1.gz",
    "usr/share/bash-completion/completions/loadline",
    "usr/share/zsh/site-functions/_loadline",
    "usr/share/fish/vendor_completions.d/loadline.fish",
];

fn output(command: &mut Command) -> String {
    let out = command.output().unwrap();
    assert!(out.status.success(), "{command:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

/// Builds the package from the loadline program under test. Returns the path of the package.
fn package(to: &Path) -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/deb");
    let from = Path::new(env!("CARGO_BIN_EXE_loadline")).parent().unwrap();
    PathBuf::from(output(Command::new(script).arg(to).env("FROM", from)).trim())
}

/// Returns dpkg with a root directory and a package database of its own. There is no C library in `root`, so dpkg must
/// ignore missing dependencies.
fn dpkg(root: &Path) -> Command {
    let mut command = Command::new("dpkg");
    command.arg(format!("--root={}", root.display())).arg("--force-depends");
    command
}

#[test]
fn the_debian_package_is_installed_runs_and_is_removed() {
    let name = "the_debian_package_is_installed_runs_and_is_removed";
    if !Path::new("/usr/bin/dpkg").exists() || !is_root() {
        return testkit::skip(name, "it takes dpkg and root");
    }
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    for part in ["updates", "info"] {
        std::fs::create_dir_all(root.join("var/lib/dpkg").join(part)).unwrap();
    }
    std::fs::write(root.join("var/lib/dpkg/status"), "").unwrap();
    output(dpkg(&root).arg("-i").arg(package(dir.path())));
    for file in INSTALLED {
        assert!(root.join(file).metadata().is_ok_and(|m| m.len() > 0), "{file} is not installed");
    }
    let version = output(Command::new(root.join(INSTALLED[0])).arg("--version"));
    assert_eq!(version.trim(), concat!("loadline ", env!("CARGO_PKG_VERSION")));
    assert!(output(Command::new(root.join(INSTALLED[0])).args(["explain", "accept-queue"])).contains("backlog"));
    output(dpkg(&root).args(["-P", "loadline"]));
    let left: Vec<&str> = INSTALLED.into_iter().filter(|file| root.join(file).exists()).collect();
    assert!(left.is_empty(), "{left:?} are left");
}
