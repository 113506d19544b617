//! Tests reading the frames of Python programs, for each installed version.
#![allow(missing_docs, unused_crate_dependencies)]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[allow(dead_code, reason = "each test uses a part")]
mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Running, has_chain, source};
use loadline_stacks::Processes;

/// Returns the Python interpreters (3.8 to 3.13) of this machine, without the wrapper programs of pyenv.
fn interpreters() -> Vec<PathBuf> {
    let minors = 8..=13;
    let versions = std::env::home_dir().unwrap_or_default().join(".pyenv/versions");
    let installed = std::fs::read_dir(versions).into_iter().flatten().flatten().map(|e| e.path().join("bin"));
    let places = installed.chain([PathBuf::from("/usr/bin"), PathBuf::from("/usr/local/bin")]);
    let programs = places.flat_map(|dir| minors.clone().map(move |minor| dir.join(format!("python3.{minor}"))));
    programs.filter(|program| program.is_file()).collect()
}

#[test]
fn waiting_threads_have_their_python_frames_in_each_version() {
    for python in interpreters() {
        assert_python(&python);
    }
}

fn assert_python(python: &Path) {
    let running = Running::start(Command::new(python).arg(source("threads.py")));
    let mut processes = Processes::new();
    let stacks = running.waiting_stacks(&mut processes);
    let process = processes.get(running.pid()).unwrap();
    assert!(process.is_python(), "{python:?}");
    assert!(has_chain(&stacks, &["<module>"]), "{python:?} {stacks:#?}");
    let waiting: Vec<_> =
        stacks.iter().flatten().filter(|frame| frame.label() == "wait_for_planted_lock").map(|f| f.place()).collect();
    assert_eq!(waiting, [Some("threads.py:16".to_owned()), Some("threads.py:16".to_owned())], "{python:?} {stacks:#?}");
    let holder = stacks.iter().flatten().find(|frame| frame.label().ends_with("hold_planted_lock")).unwrap();
    assert_eq!(holder.place().as_deref(), Some("threads.py:24"), "{python:?}");
    let locks = common::lock_name(&running, process);
    assert!(locks.is_empty(), "a lock on the heap has no global's name: {python:?} {locks:?}");
}

#[test]
fn the_thread_that_holds_the_interpreter_lock_is_found_in_each_version() {
    for python in interpreters() {
        let running =
            Running::start(Command::new(&python).args([source("threads.py").as_os_str(), "compute".as_ref()]));
        let waiting: Vec<u32> = running.waits().iter().map(|wait| wait.tid).collect();
        let mut processes = Processes::new();
        let process = processes.get(running.pid()).unwrap();
        // The only computing thread gives the lock away for an instant at most.
        let (id, frames) = testkit::eventually(|| process.interpreter_lock_holder(|_| false));
        assert!(!waiting.contains(&id), "{python:?}");
        assert_eq!(frames.first().unwrap().label(), "compute_planted_sum", "{python:?} {frames:#?}");
        let is_last = |frame: &loadline_stacks::Frame| frame.function.as_deref() == Some("compute_planted_sum");
        let (_, frames) = testkit::eventually(|| process.interpreter_lock_holder(is_last));
        assert_eq!(frames.len(), 1, "{python:?} {frames:#?}");
    }
}

#[test]
fn nobody_holds_the_interpreter_lock_while_all_threads_wait() {
    for python in interpreters() {
        let running = Running::start(Command::new(&python).arg(source("threads.py")));
        let _ = running.waits();
        let mut processes = Processes::new();
        let holder = processes.get(running.pid()).unwrap().interpreter_lock_holder(|_| false);
        assert!(holder.is_none(), "{python:?} {holder:#?}");
    }
}
