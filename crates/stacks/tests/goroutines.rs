//! Tests reading the goroutines of a running Go program.
#![allow(missing_docs, unused_crate_dependencies, clippy::unwrap_used)]

#[allow(dead_code, reason = "each test uses a part")]
mod common;

use std::process::Command;

use common::{Running, run, source};
use loadline_stacks::{Frame, Goroutine, Processes};

/// Builds and starts the Go test program with the given linker flags.
fn started(linker_flags: &str) -> Option<(Running, tempfile::TempDir)> {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("goroutines");
    let mut build = Command::new("go");
    build.env("GOTOOLCHAIN", "local").args(["build", "-ldflags", linker_flags, "-o"]).arg(&program);
    run(build.arg(source("goroutines.go")))
        .then(|| (Running::start(Command::new(&program).env("GOMAXPROCS", "3")), dir))
}

/// Returns the functions of each waiting goroutine, innermost first.
fn waiting(goroutines: &[Goroutine]) -> Vec<Vec<String>> {
    let labels = |frames: &Vec<Frame>| frames.iter().map(Frame::label).collect();
    let stacks = goroutines.iter().filter_map(|goroutine| match goroutine {
        Goroutine::Waiting(frames) => Some(labels(frames)),
        _ => None,
    });
    stacks.collect()
}

#[test]
fn waiting_goroutines_have_their_functions() {
    for flags in ["", "-w"] {
        let Some((running, _dir)) = started(flags) else { return };
        let mut processes = Processes::new();
        let process = processes.get(running.pid()).unwrap();
        let found = process.goroutines(1000).unwrap();
        let stacks = waiting(&found.goroutines);
        let through = |function: &str, call: &str| {
            let has = |stack: &&Vec<String>| [function, call].iter().all(|name| stack.iter().any(|f| f == name));
            stacks.iter().filter(has).count()
        };
        assert_eq!(through("main.waitForLock", "internal/sync.(*Mutex).lockSlow"), 7, "{stacks:#?}");
        assert_eq!(through("main.waitForPlace", "runtime.chansend"), 5, "{stacks:#?}");
        assert_eq!(through("main.holdLock", "time.Sleep"), 1, "{stacks:#?}");
        assert_eq!((found.listed_per_read, found.max_running), (1, Some(3)));
        // Each of the eight readings covers a part of the list of goroutines. Together, the eight readings have more
        // goroutines than one reading of the whole list.
        let parts: usize = (0..8).map(|_| waiting(&process.goroutines(8).unwrap().goroutines).len()).sum();
        assert!(parts > stacks.len(), "{parts} of {}", stacks.len());
    }
}

/// The compiler inlines `sync.(*Mutex).Lock`. An earlier version of loadline joined the name `main.waitForLock` with a
/// line of the inlined function. A later version left the inlined function out.
#[test]
fn an_inlined_function_has_its_name_and_its_caller_the_line_of_the_call() {
    for flags in ["", "-w"] {
        let Some((running, _dir)) = started(flags) else { return };
        let mut processes = Processes::new();
        let found = processes.get(running.pid()).unwrap().goroutines(1000).unwrap();
        let frames: Vec<Frame> = found.goroutines.into_iter().filter_map(waiting_frames).flatten().collect();
        let places = |function: &str| -> Vec<Option<String>> {
            frames.iter().filter(|frame| frame.label() == function).map(Frame::place).collect()
        };
        let expected = [("main.waitForLock", 22, 7), ("main.waitForPlace", 27, 5), ("main.holdLock", 18, 1)];
        for (function, line, count) in expected {
            assert_eq!(places(function), vec![Some(format!("goroutines.go:{line}")); count], "{function}");
        }
        let inlined = places("sync.(*Mutex).Lock");
        let of_mutex = |place: &Option<String>| place.as_deref().is_some_and(|place| place.starts_with("mutex.go:"));
        assert!(inlined.len() == 7 && inlined.iter().all(of_mutex), "{inlined:?}");
    }
}

fn waiting_frames(goroutine: Goroutine) -> Option<Vec<Frame>> {
    if let Goroutine::Waiting(frames) = goroutine { Some(frames) } else { None }
}

#[test]
fn a_stripped_program_has_no_goroutines() {
    let Some((running, _dir)) = started("-s -w") else { return };
    let mut processes = Processes::new();
    let process = processes.get(running.pid()).unwrap();
    assert_eq!((process.has_goroutines(), process.goroutines(1000)), (false, None));
}
