//! Tests that stored runs stay intact: each run has its own directory, and a full disk leaves no incomplete file.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::{Command, Output, Stdio};

const QUICK: &[&str] =
    &["load", "--connections", "2", "--duration", "200ms", "--warmup", "50ms", "--at-rest", "0", "--interval", "100ms"];

fn loadline(args: &[&str], dir: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadline"));
    command.args(args).current_dir(dir).stdin(Stdio::null()).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn files(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap().flatten();
    let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn without_out_runs_are_stored_by_time_and_latest_is_the_last() {
    let dir = tempfile::tempdir().unwrap();
    let first = loadline(QUICK, dir.path());
    assert!(said(&first).lines().next().unwrap().contains("embedded server"), "{}", said(&first));
    let second = said(&loadline(QUICK, dir.path()));
    let runs = dir.path().join("loadline-runs");
    assert_eq!(files(&runs).len(), 3, "{:?}: two runs and the link\n{second}", files(&runs));
    let place = second.trim().lines().last().unwrap().strip_prefix("report: ").unwrap().to_string();
    let latest = std::fs::canonicalize(runs.join("latest/report.html")).unwrap();
    assert_eq!(std::fs::canonicalize(dir.path().join(place)).unwrap(), latest);
}

#[test]
fn an_unset_variable_is_not_accepted_as_a_target() {
    let dir = tempfile::tempdir().unwrap();
    for command in ["find", "load", "prove"] {
        let output = loadline(&[command, ""], dir.path());
        assert_eq!(output.status.code(), Some(2), "{command}: {}", said(&output));
    }
    assert!(files(dir.path()).is_empty());
}

#[test]
fn a_failing_target_leaves_the_earlier_run_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    let out = [QUICK, &["--out", "kept"]].concat();
    loadline(&out, dir.path());
    let before = std::fs::read(dir.path().join("kept/run.json")).unwrap();
    for target in ["", "http://127.0.0.1:1/"] {
        let output = loadline(&[&out[..], &[target]].concat(), dir.path());
        assert_eq!(output.status.code(), Some(2), "{target:?}: {}", said(&output));
        assert_eq!(output.stdout, b"", "{target:?}");
    }
    assert_eq!(std::fs::read(dir.path().join("kept/run.json")).unwrap(), before);
    assert_eq!(files(dir.path()), ["kept"]);
    let again = said(&loadline(&out, dir.path()));
    assert!(again.contains("the earlier run is now in kept-"), "{again}");
    assert_eq!(files(dir.path()).len(), 2);
}

#[test]
fn a_full_disk_leaves_no_incomplete_file_and_hides_no_result() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("small")).unwrap();
    // If mount namespaces are allowed, the test uses a file system of 16 KiB. If mount namespaces are not allowed, the
    // test limits the size of files.
    let script = "if mount -t tmpfs -o size=16k none small 2>/dev/null; then :; else ulimit -f 8; fi; \"$@\" --out small/run; \
                  echo \"status $?\"; find small -type f";
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_loadline")]);
    let mut output = command.args(QUICK).current_dir(dir.path()).stdin(Stdio::null()).output().unwrap();
    if !said(&output).contains("status") {
        let mut plain = Command::new("sh");
        plain.args(["-c", script, "sh", env!("CARGO_BIN_EXE_loadline")]).args(QUICK).current_dir(dir.path());
        output = plain.stdin(Stdio::null()).output().unwrap();
    }
    let text = said(&output);
    let why = ["the disk is full", "the limit of file sizes (ulimit -f)"].map(|why| text.rfind(why));
    let result = text.find("Completed ");
    assert!(text.contains("status 2") && text.contains("it needs "), "{text}");
    assert!(result.is_some() && why.iter().flatten().any(|why| Some(*why) > result), "{text}");
    assert!(!text.contains(".new\n"), "{text}");
}
