//! Python packages from the public registry. Each set of packages is downloaded only once, to `target/applications`.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::{lock_file, program, skip};

/// Returns the folder that contains the given Python packages. Downloads the packages, unless an earlier call
/// downloaded them. Returns `None` and skips the test if pip is missing or fails, for example without a network.
#[track_caller]
pub fn pip_packages(test: &str, name: &str, packages: &[&str]) -> Option<PathBuf> {
    let own = std::env::current_exe().unwrap();
    let all = own.ancestors().nth(3).unwrap().join("applications");
    std::fs::create_dir_all(&all).unwrap();
    let _lock = lock_file(&all.join(format!("{name}.lock")));
    let (folder, marker) = (all.join(name), all.join(format!("{name}.made")));
    if marker.exists() {
        return Some(folder);
    }
    let Some(pip) = program("pip3") else {
        skip(test, "pip3 is not installed");
        return None;
    };
    let output = Command::new(pip).args(["install", "-q", "--target"]).arg(&folder).args(packages).output().unwrap();
    if !output.status.success() {
        skip(test, format!("pip3 failed: {}", String::from_utf8_lossy(&output.stderr)));
        return None;
    }
    std::fs::write(marker, "").unwrap();
    Some(folder)
}

/// Returns the command that runs the Python script `code` with packages of [`pip_packages`]. The command's output is a
/// pipe. Returns `None` if Python is not installed, or if the packages are missing.
#[track_caller]
pub fn python_with_packages(test: &str, name: &str, packages: &[&str], code: &str) -> Option<Command> {
    let (python, folder) = (program("python3")?, pip_packages(test, name, packages)?);
    let mut command = Command::new(python);
    command.args(["-c", code]).env("PYTHONPATH", folder).stdout(Stdio::piped());
    Some(command)
}
