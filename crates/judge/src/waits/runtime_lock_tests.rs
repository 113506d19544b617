//! Tests of locks of language runtimes: those of Python's and Ruby's interpreters, and monitors of Java.

use run::{FutexKind, FutexProfile, HolderFunction, HolderState, HolderThread, ThreadState, WaitCause};

use super::tests::{causes, clients, locked, process};
use super::waits;

#[test]
fn the_interpreter_lock_is_named_by_all_its_futexes() {
    let mut profile = process(16.0, &[(ThreadState::Futex, "0x10", 13.0), (ThreadState::OnCpu, "", 1.0)]);
    let lock = locked(FutexKind::Condition).futexes[0].clone();
    let holders = vec![HolderState { state: ThreadState::OnCpu, share: 0.9, ..HolderState::default() }];
    let half = FutexProfile { name: "_PyRuntime".into(), waiting: 6.5, contended: 0.5, owned: 0.0, holders, ..lock };
    profile.futexes = vec![half.clone(), FutexProfile { address: "0x14".into(), ..half }];
    profile.clients = Some(clients(16.0, 0.0));
    let found = waits(&profile, &[]);
    assert_eq!((found.len(), found[0].cause, found[0].threads), (1, WaitCause::Lock, 13.0));
    let said = "13 of 16 threads of app:7 wait for Python's interpreter lock (GIL)";
    assert_eq!(found[0].sentence, said);
    profile.futexes.iter_mut().for_each(|futex| futex.waiting = 0.1);
    assert!(!causes(&profile).contains(&WaitCause::Lock));
}

/// In this observed case, handlers of requests waited for a thread that computed a report. The lock has two futexes,
/// and the readings of both count for this thread.
#[test]
fn the_thread_that_holds_the_interpreter_lock_is_named_with_its_function() {
    let mut profile = process(16.0, &[(ThreadState::Futex, "0x10", 13.0), (ThreadState::OnCpu, "", 1.0)]);
    profile.clients = Some(clients(16.0, 0.0));
    let lock = locked(FutexKind::Condition).futexes[0].clone();
    let futex = |address: &str, held: &[(u32, &str, u64)]| {
        let all: u64 = held.iter().map(|(_, _, n)| n).sum();
        let share = |n: &u64| *n as f64 / all as f64;
        let function = |(_, function, n): &(u32, &str, u64)| HolderFunction {
            state: ThreadState::OnCpu,
            function: (*function).into(),
            stacks: *n,
            share: share(n),
        };
        let thread = |(id, _, n): &(u32, &str, u64)| HolderThread {
            name: "python3".into(),
            id: *id,
            readings: *n,
            share: share(n),
        };
        FutexProfile {
            name: "_PyRuntime".into(),
            address: address.into(),
            waiting: 6.5,
            owned: 0.0,
            holder_functions: held.iter().map(function).collect(),
            holder_threads: held.iter().map(thread).collect(),
            ..lock.clone()
        }
    };
    let mut told = |first: &[_], second: &[_]| {
        profile.futexes = vec![futex("0x10", first), futex("0x14", second)];
        waits(&profile, &[])[0].sentence.clone()
    };
    let waiting = "13 of 16 threads of app:7 wait for Python's interpreter lock (GIL)";
    assert_eq!(
        told(&[(71, "report (app.py:7)", 3), (80, "do_GET (app.py:12)", 1)], &[(71, "report (app.py:7)", 8)]),
        format!("{waiting}; its holder (thread python3, ID 71) computes, 91.7 % of the time in report (app.py:7)")
    );
    assert_eq!(told(&[(71, "a", 5), (72, "b", 5)], &[(73, "c", 5)]), format!("{waiting}; its holder computes"));
    assert_eq!(told(&[], &[]), waiting);
}

/// Threads that sleep for 10 ms and compute for 0.5 ms often wait briefly for the interpreter lock, but the lock does
/// not limit them.
#[test]
fn the_interpreter_lock_is_not_named_if_most_threads_sleep() {
    let groups = [(ThreadState::Sleep, "", 12.0), (ThreadState::Futex, "0x10", 0.7)];
    let mut profile = process(13.0, &groups);
    let lock = locked(FutexKind::Condition).futexes[0].clone();
    profile.futexes = vec![FutexProfile { name: "_PyRuntime".into(), waiting: 0.7, contended: 0.6, ..lock }];
    profile.clients = Some(clients(13.0, 0.0));
    assert_eq!(causes(&profile), [WaitCause::Sleep]);
}

/// Each thread that waits for a Java monitor has a futex of its own, so only the stacks show the common lock.
#[test]
fn threads_that_wait_for_a_java_monitor_are_told_with_the_function() {
    let monitor = |function: &str, waiting| run::MonitorGroup {
        process: "app:7".into(),
        kind: run::MonitorKind::JavaMonitor,
        function: function.into(),
        waiting,
    };
    let told = |function, waiting, in_progress| {
        let mut profile = process(40.0, &[(ThreadState::Futex, "", 39.0), (ThreadState::Sleep, "", 1.0)]);
        (profile.monitors, profile.clients) = (vec![monitor(function, waiting)], Some(clients(in_progress, 20.0)));
        waits(&profile, &[]).into_iter().map(|found| found.sentence).collect::<Vec<_>>()
    };
    assert_eq!(told("", 31.0, 32.0), ["31 of 40 threads of app:7 wait for a Java monitor (synchronized)"]);
    assert_eq!(told("slow", 31.0, 32.0), ["31 of 40 threads of app:7 wait for a Java monitor (synchronized) in slow"]);
    let none = |said: Vec<String>| !said.iter().any(|sentence| sentence.contains("monitor"));
    assert!(none(told("", 31.0, 3.0)), "threads without requests");
    assert!(none(told("", 3.0, 32.0)), "few of the requests");
}

/// The program can do less work under a monitor of Java, but it cannot avoid the interpreter lock of Ruby.
#[test]
fn only_an_interpreter_lock_asks_for_more_processes() {
    let advised = |kind| {
        let mut profile = process(40.0, &[(ThreadState::Futex, "", 39.0), (ThreadState::OnCpu, "", 1.0)]);
        let (process, function) = ("app:7".into(), String::new());
        profile.monitors = vec![run::MonitorGroup { process, kind, function, waiting: 31.0 }];
        profile.clients = Some(clients(32.0, 20.0));
        super::advice(&waits(&profile, &[])[0])
    };
    let shorten = "Shorten the work of app:7 under this lock, or split the lock.";
    assert_eq!(advised(run::MonitorKind::JavaMonitor), shorten);
    assert!(advised(run::MonitorKind::RubyLock).starts_with("Start more processes of app:7"));
}

#[test]
fn threads_that_wait_for_the_lock_of_ruby_have_work() {
    let told = |waiting, sleeping| {
        let groups =
            [(ThreadState::Futex, "", 60.0), (ThreadState::OnCpu, "", 1.0), (ThreadState::Sleep, "", sleeping)];
        let mut profile = process(65.0, &groups);
        let kind = run::MonitorKind::RubyLock;
        profile.monitors = vec![run::MonitorGroup { process: "app:7".into(), kind, function: String::new(), waiting }];
        // Threads that have written an answer also wait for the lock, so fewer requests than threads are in progress.
        profile.clients = Some(clients(35.0, 14.0));
        waits(&profile, &[]).into_iter().map(|found| (found.cause, found.sentence)).collect::<Vec<_>>()
    };
    let sentence = "58 of 65 threads of app:7 wait for Ruby's interpreter lock (GVL)";
    assert_eq!(told(58.0, 0.0), [(WaitCause::Lock, sentence.to_string())]);
    let none = |told: Vec<(WaitCause, String)>| told.iter().all(|(cause, _)| *cause != WaitCause::Lock);
    assert!(none(told(0.4, 0.0)), "a thread that returns now and then");
    assert!(none(told(0.7, 12.0)), "most threads sleep");
}
