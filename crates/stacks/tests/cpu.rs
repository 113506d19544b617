//! Tests profiles of CPU time and the cost of taking them.
#![allow(missing_docs, unused_crate_dependencies)]

#[allow(dead_code, reason = "each test uses a part")]
mod common;

use std::process::Command;
use std::time::{Duration, Instant};

use common::{Running, run, source};
use loadline_stacks::{CpuProfile, CpuStacks, Processes};
use sys::clock::sleep_until_ns;

/// Minimum number of CPU samples in a profile. Sampling continues until the profile has the minimum number of samples,
/// because a busy machine collects samples slowly. By chance, a function that uses 95 % of the CPU time may get at most
/// 80 % of [`SAMPLES`] samples. [`assert_hot`] therefore fails in about 1 of 28,000 runs.
const SAMPLES: u64 = 60;

/// Maximum time to collect [`SAMPLES`] samples.
const PATIENCE: Duration = Duration::from_secs(60);

/// Profiles the CPU time of a running program. Returns `None` if the kernel does not allow sampling.
fn profile(running: &Running) -> Option<CpuProfile> {
    let mut processes = Processes::new();
    let mut stacks = CpuStacks::new();
    if let Err(e) = CpuStacks::allowed() {
        testkit::skip("stacks", format!("the kernel samples no CPU time: {e}"));
        return None;
    }
    stacks.follow(running.pid());
    let start = Instant::now();
    while stacks.samples() < SAMPLES && start.elapsed() < PATIENCE {
        sleep_until_ns(stacks.poll(&mut processes));
    }
    Some(stacks.profile(&mut processes))
}

/// Asserts that more than 80 % of the CPU time is in `function`, and that `caller` called this function.
fn assert_hot(profile: &CpuProfile, function: &str, caller: &str) {
    let hot = profile.stacks.hot(0.01);
    assert!(profile.samples >= SAMPLES, "{profile:?}");
    assert!(hot[0].function.contains(function) && hot[0].share > 0.8, "{hot:?}\n{}", profile.stacks.folded());
    let chain = format!("{caller};");
    let called: f64 = profile.stacks.stacks().filter(|(s, _)| s.contains(&chain)).map(|(_, weight)| weight).sum();
    assert!(called > 0.8 * profile.stacks.total(), "{}", profile.stacks.folded());
}

#[test]
fn a_computing_c_program_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("threads");
    let options = ["-O1", "-fomit-frame-pointer", "-pthread"];
    if run(Command::new("gcc").args(options).arg(source("threads.c")).arg("-o").arg(&program))
        && let Some(profile) = profile(&Running::start(&mut Command::new(&program)))
    {
        assert_hot(&profile, "compute_planted_sum", "computer");
    }
}

#[test]
fn a_computing_rust_program_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("threads");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    if !run(Command::new(rustc)
        .args(["-O", "-C", "debuginfo=1", "--edition=2024"])
        .arg(source("threads.rs"))
        .arg("-o")
        .arg(&program))
    {
        return;
    }
    let running = Running::start(&mut Command::new(&program));
    let mut processes = Processes::new();
    let stacks = running.waiting_stacks(&mut processes);
    let waits = stacks.iter().flatten().find(|f| f.label() == "threads::wait_for_planted_lock");
    assert_eq!(waits.and_then(|f| f.place()).as_deref(), Some("threads.rs:11"), "{stacks:#?}");
    assert!(common::has_chain(&stacks, &["threads::wait_for_planted_place"]), "{stacks:#?}");
    let locks = common::lock_name(&running, processes.get(running.pid()).unwrap());
    assert!(locks.contains(&"threads::PLANTED_LOCK".to_owned()), "{locks:?}");
    if let Some(profile) = profile(&running) {
        assert_hot(&profile, "threads::compute_planted_sum", "__rust_begin_short_backtrace");
    }
}

#[test]
fn a_computing_go_program_is_named_even_if_stripped() {
    for flags in ["", "-s -w"] {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("threads");
        let mut go = Command::new("go");
        go.args(["build", "-ldflags", flags, "-o"]).arg(&program).arg(source("threads.go"));
        if !run(go.env("GO111MODULE", "off").env("GOFLAGS", "")) {
            return;
        }
        let running = Running::start(&mut Command::new(&program));
        // The inlined function `read` is in another file than `Read`, which calls it.
        let stacks = running.waiting_stacks(&mut Processes::new());
        let reads = stacks.iter().flatten().find(|frame| frame.label() == "os.(*File).Read");
        let place = reads.and_then(|frame| frame.place()).unwrap_or_default();
        assert!(place.starts_with("file.go:"), "{flags:?}: {place:?} in {stacks:#?}");
        if let Some(profile) = profile(&running) {
            assert_hot(&profile, "main.computePlantedSum", "main.serveForever");
        }
    }
}

#[test]
fn compiled_code_of_node_is_named() {
    if !run(Command::new("node").arg("--version")) {
        return;
    }
    // node writes a log into its working directory, so it gets a folder of its own.
    let dir = tempfile::tempdir().unwrap();
    // The options make node write the map of its compiled code, give interpreted functions stack frames of their own,
    // and turn inlining off.
    let options = ["--perf-basic-prof", "--interpreted-frames-native-stack", "--no-turbo-inlining"];
    let running = Running::start(Command::new("node").current_dir(dir.path()).args(options).arg(source("threads.js")));
    let profile = profile(&running);
    let _ = std::fs::remove_file(format!("/tmp/perf-{}.map", running.pid()));
    if let Some(profile) = profile {
        assert_hot(&profile, "computePlantedSum", "turn");
    }
}

#[test]
fn computing_python_code_is_named() {
    if !run(Command::new("python3").arg("--version")) {
        return;
    }
    let running = Running::start(Command::new("python3").arg(source("threads.py")).arg("compute"));
    if let Some(profile) = profile(&running) {
        let hot = profile.stacks.hot(0.01);
        assert!(hot[0].function == "compute_planted_sum" && hot[0].share > 0.6, "{hot:?}\n{}", profile.stacks.folded());
    }
}

/// Eight threads of Python compute by turns, and send an answer after each computation. Nearly all of the time, a thread
/// waits for the interpreter lock in the function that sent its answer. A thread that was sampled while it computed is
/// in this function soon after.
#[test]
fn the_computing_function_is_named_although_most_threads_wait_for_the_interpreter_lock_elsewhere() {
    if !run(Command::new("python3").arg("--version")) {
        return;
    }
    let running = Running::start(Command::new("python3").arg(source("threads.py")).arg("turns"));
    if let Some(profile) = profile(&running) {
        let hot = profile.stacks.hot(0.01);
        let named = hot[0].function == "compute_planted_part" && hot[0].share > 0.6;
        assert!(named, "{hot:?}\n{}", profile.stacks.folded());
    }
}

#[test]
fn sampling_costs_less_than_one_percent_of_a_cpu() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("threads");
    if !run(Command::new("gcc").args(["-O1", "-pthread"]).arg(source("threads.c")).arg("-o").arg(&program)) {
        return;
    }
    let running = Running::start(&mut Command::new(&program));
    let mut processes = Processes::new();
    if let Err(e) = CpuStacks::allowed() {
        return testkit::skip("stacks", format!("the kernel samples no CPU time: {e}"));
    }
    let mut stacks = CpuStacks::new();
    stacks.follow(running.pid());
    sleep_until_ns(stacks.poll(&mut processes));
    let (cpu, start) = (sys::clock::thread_cpu_ns(), Instant::now());
    while stacks.samples() < SAMPLES && start.elapsed() < PATIENCE {
        sleep_until_ns(stacks.poll(&mut processes));
    }
    let share = (sys::clock::thread_cpu_ns() - cpu) as f64 / start.elapsed().as_nanos() as f64;
    eprintln!("cost: {share:.5} of a CPU");
    // Without optimization, the sampling code takes about ten times as long as with optimization.
    assert!(share < if cfg!(debug_assertions) { 0.1 } else { 0.01 }, "{share}");
}
