//! Tests of the ways to get loadline that README.md describes: the files of a release, and `cargo install`.
//! (`package.rs` tests the Debian package.)

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::{binary, installed, is_root, or_skip, podman_configuration, static_program};

const VERSION: &str = concat!("loadline ", env!("CARGO_PKG_VERSION"));

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn output(command: &mut Command) -> String {
    let out = command.output().unwrap();
    assert!(out.status.success(), "{command:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

/// Returns the line of README.md that begins with `words`. In the returned line, `prefix` replaces the folder
/// `~/.local`.
fn line_of_readme(words: &str, prefix: &Path) -> String {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let line = readme.lines().map(str::trim).find(|line| line.starts_with(words)).unwrap();
    line.replace("~/.local", &prefix.display().to_string())
}

#[test]
fn the_files_of_a_release_are_made_and_work() {
    let name = "the_files_of_a_release_are_made_and_work";
    let Some(program) = or_skip(name, static_program(binary!())) else { return };
    let dir = tempfile::tempdir().unwrap();
    let (files, prefix) = (dir.path().join("files"), dir.path().join("prefix"));
    std::fs::create_dir(&prefix).unwrap();
    let mut make = Command::new(root().join("scripts/release"));
    make.arg(&files).env("FROM", program.parent().unwrap()).envs(podman_configuration(dir.path()));
    let with_image = is_root() && installed(&["podman", "runc"]).is_ok();
    output(make.envs((!with_image).then_some(("IMAGE", "no"))));
    output(Command::new("sha256sum").args(["--check", "SHA256SUMS"]).current_dir(&files));

    output(Command::new("sh").args(["-c", &line_of_readme("tar xzf", &prefix)]).current_dir(&files));
    assert_eq!(output(Command::new(prefix.join("bin/loadline")).arg("--version")).trim(), VERSION);
    for file in ["man/man1/loadline-find.1", "bash-completion/completions/loadline", "doc/loadline/README.md"] {
        assert!(prefix.join("share").join(file).metadata().is_ok_and(|m| m.len() > 0), "{file} is missing");
    }
    if with_image {
        let load = line_of_readme("gunzip -c", &prefix);
        let load = load.split(" # ").next().unwrap();
        let shell = |line: &str| {
            let mut shell = Command::new("sh");
            shell.args(["-c", line]).current_dir(&files).envs(podman_configuration(dir.path()));
            output(&mut shell)
        };
        shell(load);
        let run = format!("podman run --rm --network host loadline:{} --version", env!("CARGO_PKG_VERSION"));
        assert_eq!(shell(&run).trim(), VERSION);
    }
}

/// `make dist` has already built all crates except the program itself, so the installation is fast.
#[test]
fn cargo_installs_the_program_from_a_clone() {
    let name = "cargo_installs_the_program_from_a_clone";
    if or_skip(name, static_program(binary!())).is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let line = line_of_readme("cargo install", dir.path());
    let line = format!("{} --locked --offline --root {}", line.split(" # ").next().unwrap(), dir.path().display());
    output(Command::new("sh").args(["-c", &line]).current_dir(root()));
    assert_eq!(output(Command::new(dir.path().join("bin/loadline")).arg("--version")).trim(), VERSION);
}
