//! Tests reading the frames of a Java program.
#![allow(missing_docs, unused_crate_dependencies, clippy::unwrap_used)]

#[allow(dead_code, reason = "each test uses a part")]
mod common;

use std::process::Command;

use common::{Running, has_chain, run, source};
use loadline_stacks::Processes;

/// JVM options: interpret all methods, or compile each method of the class `Threads` before its first call.
const MODES: [&[&str]; 2] = [&["-Xint"], &["-Xcomp", "-XX:CompileCommand=quiet", "-XX:CompileOnly=Threads"]];

#[test]
fn waiting_threads_have_their_java_methods() {
    if !run(Command::new("java").arg("-version")) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    if !run(Command::new("javac").arg("-d").arg(dir.path()).arg(source("Threads.java"))) {
        return;
    }
    for mode in MODES {
        let running = Running::start(Command::new("java").args(mode).arg("-cp").arg(dir.path()).arg("Threads"));
        let mut processes = Processes::new();
        let stacks = running.waiting_stacks(&mut processes);
        let inside = |functions: &[&str]| has_chain(&stacks, functions);
        assert!(inside(&["java.lang.Thread.sleep", "Threads.sleep", "Threads.holdPlantedMonitor"]), "{stacks:#?}");
        let enters = |stack: &&Vec<loadline_stacks::Frame>| {
            let labels: Vec<String> = stack.iter().map(|frame| frame.label()).collect();
            let has = |name: &str| labels.iter().any(|label| label == name);
            has("ObjectMonitor::enter") && has("Threads.waitForPlantedMonitor")
        };
        assert_eq!(stacks.iter().filter(enters).count(), 2, "{mode:?} {stacks:#?}");
        assert!(
            inside(&["java.util.concurrent.locks.ReentrantLock.lock", "Threads.waitForPlantedLock"]),
            "{stacks:#?}"
        );
    }
}
