//! Tests stacks of C programs that were compiled with different options.
#![allow(missing_docs, unused_crate_dependencies)]

#[allow(dead_code, reason = "each test uses a part")]
mod common;

use std::path::PathBuf;
use std::process::Command;

use common::{Running, has_chain, lock_name, named, run, source};
use loadline_stacks::Processes;

fn compile(dir: &tempfile::TempDir, flags: &[&str]) -> Option<PathBuf> {
    let program = dir.path().join("threads");
    let done = run(Command::new("gcc").args(flags).arg("-pthread").arg(source("threads.c")).arg("-o").arg(&program));
    done.then_some(program)
}

#[test]
fn waiting_threads_of_each_way_to_compile_are_named() {
    let ways: [&[&str]; 6] = [
        &["-O0", "-g"],
        &["-O2", "-g"],
        &["-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls"],
        &["-O1", "-fno-omit-frame-pointer", "-g"],
        &["-O1", "-static", "-g"],
        &["-O1", "-no-pie", "-g"],
    ];
    for flags in ways {
        let dir = tempfile::tempdir().unwrap();
        let Some(program) = compile(&dir, flags) else { return };
        let running = Running::start(&mut Command::new(&program));
        let mut processes = Processes::new();
        let stacks = running.waiting_stacks(&mut processes);
        assert!(has_chain(&stacks, &["hold_planted_lock", "holder"]), "{flags:?} {stacks:#?}");
        assert!(has_chain(&stacks, &["wait_for_planted_lock", "waiter"]), "{flags:?} {stacks:#?}");
        let variable = ["wait_for_planted_lock", "wait_with_variable_frame", "variable"];
        assert!(has_chain(&stacks, &variable), "{flags:?} {stacks:#?}");
        assert_eq!(lock_name(&running, processes.get(running.pid()).unwrap()), ["planted_lock"; 2], "{flags:?}");
        let place = stacks.iter().flatten().find(|f| f.label() == "wait_for_planted_lock").and_then(|f| f.place());
        assert_eq!(place.as_deref(), flags.contains(&"-g").then_some("threads.c:11"), "{flags:?}");
    }
}

#[test]
fn a_stripped_program_names_none_of_its_functions() {
    let dir = tempfile::tempdir().unwrap();
    let Some(program) = compile(&dir, &["-O1"]) else { return };
    if !run(Command::new("strip").arg(&program)) {
        return;
    }
    let running = Running::start(&mut Command::new(&program));
    let mut processes = Processes::new();
    let stacks = running.waiting_stacks(&mut processes);
    assert!(stacks.iter().any(|stack| stack.iter().any(|frame| &*frame.module == "threads")), "{stacks:#?}");
    let own = |frame: &&loadline_stacks::Frame| &*frame.module == "threads" && frame.function.is_some();
    let wrong: Vec<_> = stacks.iter().flatten().filter(own).filter(|f| f.label() != "_start").collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(lock_name(&running, processes.get(running.pid()).unwrap()).is_empty());
    assert!(!named(&stacks).iter().any(|name| name.contains("planted")));
}
