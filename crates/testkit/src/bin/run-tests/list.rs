//! Reads cargo's list of test programs, and gets the names of the tests from each program.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::job::Job;

/// Returns one job per test. `path` is a file with the test programs that cargo built. Returns no jobs for the targets
/// in `skipped`.
///
/// # Errors
/// Returns an error if the file cannot be read, or if a test program does not list its tests.
pub(crate) fn jobs(path: &str, skipped: &[&str]) -> Result<Vec<Job>, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("cannot read {path}: {e}"))?;
    let artifacts = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut jobs = Vec::new();
    let programs = artifacts.filter_map(|artifact| program(&artifact));
    for program in programs.filter(|program| !skipped.contains(&program.target.as_str())) {
        jobs.extend(tests(&program)?);
    }
    Ok(jobs)
}

/// A test program built by cargo.
struct Program {
    /// Name of the test program: `CRATE` for unit tests, `CRATE/TARGET` for integration tests.
    name: String,
    target: String,
    executable: PathBuf,
    /// Folder of the package, which is the working directory of its tests.
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
    let ignored = names(program, &["--ignored"])?;
    let job = |test: String| Job {
        program: program.name.clone(),
        target: program.target.clone(),
        test,
        executable: program.executable.clone(),
        folder: program.folder.clone(),
        is_beside_others: false,
    };
    Ok(names(program, &[])?.into_iter().filter(|test| !ignored.contains(test)).map(job).collect())
}

/// Gets the names of the tests from a test program. `more` are additional arguments, such as `--ignored`.
fn names(program: &Program, more: &[&str]) -> Result<Vec<String>, String> {
    let executable = program.executable.display();
    let listed = Command::new(&program.executable)
        .args(["--list", "--format", "terse"])
        .args(more)
        .current_dir(&program.folder)
        .output()
        .map_err(|e| format!("cannot start {executable}: {e}"))?;
    if !listed.status.success() {
        return Err(format!("{executable} did not list its tests: {}", listed.status));
    }
    let text = String::from_utf8_lossy(&listed.stdout);
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}
