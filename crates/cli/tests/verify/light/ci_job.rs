//! Test of the CI job in docs/how-to/ci.md. As on a CI runner, a shell runs the line of the job's step, with a file for
//! the summary. Only the ports and the time budget differ from the job in docs/how-to/ci.md.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output};

use testkit::{alone, free_port};

/// Returns the command of the last step of the job.
fn step() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/how-to/ci.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut steps = page.lines().filter_map(|line| line.trim().strip_prefix("- run: "));
    steps.next_back().unwrap().to_owned()
}

/// Writes a script that starts a server, as in the job. The server uses `work_us` microseconds of CPU time per request.
fn server(dir: &Path, name: &str, work_us: u32) {
    let program = env!("CARGO_BIN_EXE_loadline");
    let text =
        format!("#!/bin/sh\nexec {program} serve http --listen 127.0.0.1:$2 --cpus 1 --option work_us={work_us}\n");
    let file = dir.join(name);
    std::fs::write(&file, text).unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}

/// Runs the step of the job with a changed server, which uses `change_us` of CPU time per request. Returns the output
/// and the summary.
fn job(dir: &Path, change_us: u32) -> (Output, String) {
    server(dir, "server-main", 500);
    server(dir, "server-change", change_us);
    let ports = [free_port(), free_port()].map(|port| port.to_string());
    let line = step().replace("8081", &ports[0]).replace("8082", &ports[1]).replace("--budget 60s", "--budget 16s");
    let program = Path::new(env!("CARGO_BIN_EXE_loadline")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("bash");
    shell.args(["-eo", "pipefail", "-c", &line]).current_dir(dir).env("PATH", path);
    let output = shell.env("GITHUB_STEP_SUMMARY", dir.join("summary.md")).output().unwrap();
    (output, std::fs::read_to_string(dir.join("summary.md")).unwrap_or_default())
}

#[test]
fn the_documented_job_fails_on_a_regression_and_reports_it() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let (output, summary) = job(dir.path(), 1000);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}{summary}");
    assert!(summary.contains("slower") && summary.contains("decided by"), "{summary}");
    // The summary is a Markdown table, which a pull request can show.
    assert!(summary.lines().filter(|line| line.starts_with('|')).count() > 4, "{summary}");
}

#[test]
fn the_documented_job_passes_if_the_change_is_faster() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let (output, summary) = job(dir.path(), 250);
    assert_eq!(output.status.code(), Some(0), "{}{summary}", String::from_utf8_lossy(&output.stderr));
    assert!(summary.contains("faster"), "{summary}");
}
