//! Tests programs that run in other namespaces and with another root folder, as in containers.
#![allow(missing_docs, unused_crate_dependencies)]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[allow(dead_code, reason = "each test uses a part")]
mod common;

use std::path::Path;
use std::process::Command;

use common::{Running, has_chain, lock_name, run, source};
use loadline_stacks::Processes;

/// Compiles `threads` without symbols into `root`, where it is the only program. The program's symbols are in a
/// separate debug file.
fn root_with_program(root: &Path) -> bool {
    let (program, debug) = (root.join("threads"), root.join("usr/lib/debug/.build-id/01"));
    std::fs::create_dir_all(&debug).unwrap();
    std::fs::create_dir(root.join("old")).unwrap();
    let flags = ["-O1", "-static", "-g", "-pthread", "-Wl,--build-id=0x0123456789abcdef0123"];
    run(Command::new("gcc").args(flags).arg(source("threads.c")).arg("-o").arg(&program))
        && run(Command::new("objcopy")
            .arg("--only-keep-debug")
            .arg(&program)
            .arg(debug.join("23456789abcdef0123.debug")))
        && run(Command::new("strip").arg(&program))
}

#[test]
fn programs_with_another_root_folder_are_named_from_their_own_files() {
    if let Some(why) = testkit::no_namespaces() {
        return testkit::skip("programs_with_another_root_folder_are_named_from_their_own_files", why);
    }
    // A container has a root file system of its own. After chroot, a program still uses the host's root file system.
    let container = "mount --bind . . && cd \"$PWD\" && pivot_root . old && exec /threads";
    for how in [&["sh", "-c", container][..], &["-R", ".", "/threads"]] {
        let dir = tempfile::tempdir().unwrap();
        if !root_with_program(dir.path()) {
            return;
        }
        let mut command = testkit::in_namespaces();
        let running = Running::start(command.args(how).current_dir(dir.path())).of_child();
        let mut processes = Processes::new();
        let stacks = running.waiting_stacks(&mut processes);
        assert!(has_chain(&stacks, &["wait_for_planted_lock", "waiter"]), "{how:?} {stacks:#?}");
        assert_eq!(lock_name(&running, processes.get(running.pid()).unwrap()), ["planted_lock"; 2], "{how:?}");
        let place = stacks.iter().flatten().find(|f| f.label() == "wait_for_planted_lock").and_then(|f| f.place());
        assert_eq!(place.as_deref(), Some("threads.c:11"), "{how:?}");
    }
}

#[test]
fn python_code_in_another_pid_namespace_is_named() {
    if let Some(why) = testkit::no_namespaces() {
        return testkit::skip("python_code_in_another_pid_namespace_is_named", why);
    }
    let mut command = testkit::in_namespaces();
    let running = Running::start(command.arg("python3").arg(source("threads.py"))).of_child();
    let mut processes = Processes::new();
    let process = processes.get(running.pid()).unwrap();
    let stacks: Vec<_> = running.waits().iter().filter_map(|wait| process.python_stack(wait.tid)).collect();
    assert!(has_chain(&stacks, &["wait_for_planted_lock"]), "{stacks:#?}");
}
