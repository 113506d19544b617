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

/// Makes the files of a release in the folder `files` of `dir`, with the program in the folder `from`. Returns the
/// folder of the files, and true if the files include a container image.
fn release(from: &Path, dir: &Path) -> (PathBuf, bool) {
    let files = dir.join("files");
    let mut make = Command::new(root().join("scripts/release"));
    make.arg(&files).env("FROM", from).envs(podman_configuration(dir));
    let with_image = is_root() && installed(&["podman", "runc"]).is_ok();
    output(make.envs((!with_image).then_some(("IMAGE", "no"))));
    (files, with_image)
}

#[test]
fn the_files_of_a_release_are_made_and_work() {
    let name = "the_files_of_a_release_are_made_and_work";
    let Some(program) = or_skip(name, static_program(binary!())) else { return };
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("prefix");
    std::fs::create_dir(&prefix).unwrap();
    let (files, with_image) = release(program.parent().unwrap(), dir.path());
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

/// Stands for loadline in a cross build, which takes too long for a test. The stand-in has the commands that the
/// scripts run.
const STAND_IN: &str = r#"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int main(int count, char **words) {
    char path[4096];
    if (count > 2 && strcmp(words[1], "man") == 0) {
        for (char *slash = words[2] + 1; (slash = strchr(slash, '/')); *slash++ = '/') *slash = 0, mkdir(words[2], 0755);
        mkdir(words[2], 0755);
        snprintf(path, sizeof path, "%s/loadline.1", words[2]);
        FILE *page = fopen(path, "w");
        return fputs(".TH loadline 1", page) < 0 || fclose(page);
    }
    return puts(count > 1 && strcmp(words[1], "--version") == 0 ? "VERSION" : "completion") < 0;
}
"#;

/// Compiles [`STAND_IN`] for aarch64 as a static program. Returns the folder of the program.
fn aarch64_program(dir: &Path) -> PathBuf {
    let (source, folder) = (dir.join("loadline.c"), dir.join("aarch64"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(&source, STAND_IN.replace("VERSION", VERSION)).unwrap();
    output(Command::new("aarch64-linux-gnu-gcc").arg("-static").arg("-o").arg(folder.join("loadline")).arg(source));
    folder
}

/// Returns true if a file begins with the header of a program for aarch64 (ELF, machine number 183).
fn is_for_aarch64(program: &Path) -> bool {
    let bytes = std::fs::read(program).unwrap();
    bytes.starts_with(b"\x7fELF") && bytes[18..20] == 183_u16.to_le_bytes()
}

#[test]
fn the_files_of_a_release_for_another_cpu_are_made_and_name_it() {
    let name = "the_files_of_a_release_for_another_cpu_are_made_and_name_it";
    let tools = ["aarch64-linux-gnu-gcc", "qemu-aarch64-static", "dpkg-deb"];
    if cfg!(target_arch = "aarch64") || or_skip(name, installed(&tools)).is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let unpacked = dir.path().join("unpacked");
    let (files, with_image) = release(&aarch64_program(dir.path()), dir.path());
    let stem = format!("loadline-{}-aarch64-linux", env!("CARGO_PKG_VERSION"));
    let package = files.join(format!("loadline_{}_arm64.deb", env!("CARGO_PKG_VERSION")));
    assert_eq!(output(Command::new("dpkg-deb").arg("-f").arg(&package).arg("Architecture")).trim(), "arm64");
    output(Command::new("dpkg-deb").arg("-x").arg(&package).arg(&unpacked));
    assert!(is_for_aarch64(&unpacked.join("usr/bin/loadline")));
    output(Command::new("tar").arg("xzf").arg(files.join(format!("{stem}.tar.gz"))).current_dir(&files));
    assert!(is_for_aarch64(&files.join(&stem).join("bin/loadline")));
    if with_image {
        let image = Command::new("tar").arg("xzOf").arg(files.join(format!("{stem}-image.tar.gz"))).output().unwrap();
        assert!(String::from_utf8_lossy(&image.stdout).contains("\"architecture\":\"arm64\""), "{:?}", image.stderr);
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
