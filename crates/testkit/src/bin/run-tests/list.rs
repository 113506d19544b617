//! Reads which test programs cargo built and asks each for its tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::job::Job;

/// Returns one job per test of every test program that cargo named in the file at `path`.
///
/// # Errors
/// If the file cannot be read, or a test program does not list its tests.
pub(crate) fn jobs(path: &str) -> Result<Vec<Job>, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("cannot read {path}: {e}"))?;
    let artifacts = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut jobs = Vec::new();
    for program in artifacts.filter_map(|artifact| program(&artifact)) {
        jobs.extend(tests(&program)?);
    }
    Ok(jobs)
}

/// A test program as cargo built it.
struct Program {
    /// `crate` for unit tests, `crate/target` for the others.
    name: String,
    target: String,
    executable: PathBuf,
    /// Folder of the package, in which cargo runs its tests.
    folder: PathBuf,
}

fn program(artifact: &Value) -> Option<Program> {
    if artifact["profile"]["test"] != true {
        return None;
    }
    let executable = PathBuf::from(artifact["executable"].as_str()?);
    let folder = Path::new(artifact["manifest_path"].as_str()?).parent()?.to_owned();
    let package = folder.file_name()?.to_string_lossy().into_owned();
    let target = artifact["target"]["name"].as_str()?.to_owned();
    let name = if artifact["target"]["kind"][0] == "test" { format!("{package}/{target}") } else { package };
    Some(Program { name, target, executable, folder })
}

fn tests(program: &Program) -> Result<Vec<Job>, String> {
    let executable = &program.executable;
    let listed = Command::new(executable).args(["--list", "--format", "terse"]).current_dir(&program.folder).output();
    let listed = listed.map_err(|e| format!("cannot start {}: {e}", executable.display()))?;
    if !listed.status.success() {
        return Err(format!("{} did not list its tests: {}", executable.display(), listed.status));
    }
    let ignored = ignored(program)?;
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
    let wanted = names.filter(|name| !ignored.lines().any(|line| line.strip_suffix(": test") == Some(name)));
    let job = |test: &str| Job {
        program: program.name.clone(),
        target: program.target.clone(),
        test: test.to_owned(),
        executable: executable.clone(),
        folder: program.folder.clone(),
    };
    Ok(wanted.map(job).collect())
}

fn ignored(program: &Program) -> Result<String, String> {
    let listed = Command::new(&program.executable)
        .args(["--list", "--format", "terse", "--ignored"])
        .current_dir(&program.folder)
        .output()
        .map_err(|e| format!("cannot start {}: {e}", program.executable.display()))?;
    Ok(String::from_utf8_lossy(&listed.stdout).into_owned())
}
