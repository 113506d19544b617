//! Test that presses Ctrl-C at twenty different moments, from before the first request to the middle of a search. Once
//! loadline has installed its handlers, it must store a valid run that is marked as interrupted, and exit with status
//! 130.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use testkit::{binary, eventually, serve, signal};

/// Moment at which the test interrupts a command.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// Time since the start of the command, milliseconds.
    After(u64),
    /// Time since the first trial was stored, milliseconds.
    Kept(u64),
}

const LOAD: &[&str] = &["load", "--connections", "2", "--duration", "30s", "--warmup", "200ms", "--at-rest", "200ms"];
const FIND: &[&str] = &["find", "--budget", "20s", "--at-rest", "200ms"];
/// Number of commands that run at the same time. The test interrupts each of these commands.
const AT_ONCE: usize = 3;

fn moments() -> Vec<(&'static [&'static str], Moment)> {
    let load = (0..10).map(|k| (LOAD, Moment::After(k * 130)));
    let find = (0..7).map(|k| (FIND, Moment::After(k * 170)));
    load.chain(find).chain([0, 210, 430].map(|ms| (FIND, Moment::Kept(ms)))).collect()
}

/// Returns true if SIGINT is in one of a process's sets of signals (`SigIgn`: ignored, `SigCgt`: caught).
fn interrupt_is_in(set: &str, process: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix(set)?.strip_prefix(':'));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 0b10 != 0)
}

/// Waits until a process has a handler for SIGINT, if these tests run with SIGINT ignored. A shell starts background
/// processes, such as these tests, with SIGINT ignored. If SIGINT is ignored at the start of a program, a SIGINT has no
/// effect before the program installs its handler.
fn listens(pid: u32) {
    if interrupt_is_in("SigIgn", "self") {
        eventually(|| interrupt_is_in("SigCgt", &pid.to_string()).then_some(()));
    }
}

fn interrupted(args: &[&str], url: &str, moment: Moment, out: &Path) -> Output {
    let mut command = Command::new(binary!());
    command.args(args).args([url, "--out"]).arg(out);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
    let after_ms = match moment {
        Moment::After(ms) => ms,
        Moment::Kept(ms) => {
            eventually(|| out.join("run.json").exists().then_some(()));
            ms
        }
    };
    std::thread::sleep(Duration::from_millis(after_ms));
    listens(child.id());
    signal(child.id(), "INT");
    child.wait_with_output().unwrap()
}

/// Checks that the directory holds a valid run that is marked as interrupted. Returns the number of trials in the run.
fn leaves_a_valid_run(args: &[&str], moment: Moment, out: &Path, output: &Output) -> usize {
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    // Until loadline has installed its signal handlers, SIGINT kills it. Before its signal handlers are installed,
    // loadline starts nothing that it would have to end.
    if output.status.signal() == Some(2) {
        assert!(!out.join("run.json").exists(), "{args:?} {moment:?}: {said}");
        return 0;
    }
    assert_eq!(output.status.code(), Some(130), "{args:?} {moment:?}: {said}");
    assert!(said.contains("Interrupted") && !said.contains("panicked"), "{args:?} {moment:?}: {said}");
    let run = run::load_run(out).unwrap_or_else(|e| panic!("{args:?} {moment:?}: {e}"));
    assert!(run.interrupted, "{args:?} {moment:?}: {said}");
    assert!(!run.trials.is_empty() || said.contains("Nothing was measured"), "{args:?} {moment:?}: {said}");
    let files: Vec<_> = std::fs::read_dir(out).unwrap().flatten().map(|entry| entry.file_name()).collect();
    let half = |name: &std::ffi::OsString| name.to_string_lossy().ends_with(".new");
    assert!(out.join("report.html").exists() && !files.iter().any(half), "{args:?} {moment:?}: {files:?}");
    run.trials.len()
}

#[test]
fn ctrl_c_leaves_a_valid_run_at_twenty_different_times() {
    let (dir, server) = (tempfile::tempdir().unwrap(), serve(binary!(), 0, &[]));
    let url = format!("http://{}/", server.addr);
    let (left, trials) = (Mutex::new(moments().into_iter().enumerate()), Mutex::new(Vec::new()));
    let one_after_another = || {
        while let Some((number, (args, moment))) = { left.lock().unwrap().next() } {
            let out = dir.path().join(number.to_string());
            let output = interrupted(args, &url, moment, &out);
            trials.lock().unwrap().push(leaves_a_valid_run(args, moment, &out, &output));
        }
    };
    std::thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(one_after_another))));
    let trials = trials.into_inner().unwrap();
    // A run that was interrupted after its first trial was stored must contain this trial. On a slow machine, runs that
    // were interrupted before the end of their first trial may have no trial.
    assert!(trials.len() == 20 && trials.iter().filter(|n| **n > 0).count() >= 3, "{trials:?}");
}
