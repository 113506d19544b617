//! Tests of a user who has reached a limit on processes or on open files. loadline must print one sentence, and leave
//! no process behind.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::process::{Command, Output, Stdio};

use testkit::{binary, eventually, has, is_root, serve, skip};

/// ID of a user without other processes. The kernel limits the number of processes for each user except root.
const USER: u32 = 61_234;
/// Limits on the number of processes and threads. The smallest limit allows no agent (generator process) at all. Each
/// larger limit in the list allows an agent, but not all threads of this agent.
const LIMITS: [u32; 4] = [1, 2, 4, 5];

/// Runs loadline as [`USER`], with `limit` as the limit on processes.
fn limited(program: &std::path::Path, limit: u32, args: &[&str]) -> Output {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", &USER.to_string(), "--clear-groups", "prlimit", &format!("--nproc={limit}")]);
    command.arg(program).args(args).current_dir("/").stdin(Stdio::null()).output().unwrap()
}

/// Returns the number of processes that [`USER`] has.
fn processes() -> usize {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter(|entry| entry.metadata().is_ok_and(|meta| meta.is_dir() && meta.uid() == USER)).count()
}

#[test]
fn a_user_without_processes_gets_one_sentence_and_nothing_is_left() {
    const TEST: &str = "a user without processes";
    if !is_root() {
        return skip(TEST, "it needs root, to become another user");
    }
    if !has(TEST, "prlimit") || !has(TEST, "setpriv") {
        return;
    }
    // [`USER`] may have no access to the build directory, so the test links or copies the program to another directory.
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = dir.path().join("loadline");
    std::fs::hard_link(binary!(), &program).or_else(|_| std::fs::copy(binary!(), &program).map(drop)).unwrap();
    let server = serve(binary!(), 0, &[]);
    let url = format!("http://{}/", server.addr);
    let args = ["load", &url, "--duration", "50ms", "--warmup", "0s", "--at-rest", "0", "--no-waits", "--json"];
    for limit in LIMITS {
        let output = limited(&program, limit, &args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{limit}: {said}");
        assert!(said.contains("processes ran out") && said.contains("ulimit -u"), "{limit}: {said}");
        // Notes about counters may precede the error.
        let errors = said.lines().filter(|line| !line.starts_with("note: ")).count();
        assert!(!said.contains("panicked") && errors == 1, "{limit}: {said}");
        eventually(|| (processes() == 0).then_some(()));
    }
}

/// The generator may have 48 open files. loadline must name the limit on open files and the command that raises the
/// limit, and must measure nothing.
#[test]
fn a_generator_without_descriptors_blames_no_server() {
    if !has("a generator without descriptors", "prlimit") {
        return;
    }
    let server = serve(binary!(), 0, &["--model", "workers", "--option", "workers=400", "--option", "sleep_ms=5"]);
    let url = format!("http://{}/", server.addr);
    let mut command = Command::new("prlimit");
    command.arg("--nofile=48:48").arg(binary!()).args(["find", &url, "--budget", "20s", "--json"]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("a process may have 48 of them") && said.contains("ulimit -Hn"), "{said}");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{said}");
}
