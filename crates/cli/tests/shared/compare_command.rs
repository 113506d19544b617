//! Helpers for tests of `loadline compare`.

#![allow(clippy::unwrap_used)]

use std::process::{Command, Output};

use testkit::{Running, binary, free_port};

/// Runs `loadline compare` with the given arguments.
pub(crate) fn compare(arguments: &[&str]) -> Output {
    Command::new(binary!()).arg("compare").args(arguments).output().unwrap()
}

/// Returns all text that a command printed.
pub(crate) fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Starts a server that may use all CPUs.
pub(crate) fn unpinned(work_us: u32) -> Running {
    let port = free_port();
    let mut command = Command::new(binary!());
    command.args(["serve", "--listen", &format!("127.0.0.1:{port}"), "--option", &format!("work_us={work_us}")]);
    Running::start(command, port, tempfile::tempdir().unwrap())
}

/// Returns the list of CPUs that a process may use, in the kernel's format.
pub(crate) fn cpus_of(pid: u32) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim().to_owned()
}
