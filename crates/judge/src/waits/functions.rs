//! Functions in which threads wait, from the stacks of waiting threads.

use std::collections::BTreeMap;

use run::{Run, WaitProcess, WaitProfile, WaitingFunction};

use crate::context::view::names;
use crate::thresholds::WAIT_MOSTLY;

/// Maximum number of functions in the list.
const MAX_FUNCTIONS: usize = 10;

/// Beginnings of the names of library functions that wait for locks, semaphores and queues: Python's Lib/queue.py and
/// Lib/threading.py, and Java's package `java.util.concurrent`.
const PLACE_WAITS: [&str; 3] = ["java.util.concurrent.Semaphore.", "queue.", "threading."];

/// Returns the functions of the run in which most threads wait.
pub(crate) fn of_run(run: &Run) -> Vec<WaitingFunction> {
    run.sampled_waits().map(waiting).unwrap_or_default()
}

/// Returns the functions in which most threads wait, the function with the most threads first.
fn waiting(profile: &WaitProfile) -> Vec<WaitingFunction> {
    let mut functions: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    for (process, frames, weight) in stacks(profile) {
        *functions.entry((process, responsible_function(frames))).or_default() += weight;
    }
    let all: f64 = functions.values().sum();
    let row = |((process, function), threads): ((&str, &str), f64)| WaitingFunction {
        process: process.into(),
        function: function.into(),
        threads,
        share: threads / all,
    };
    let mut rows: Vec<WaitingFunction> = functions.into_iter().map(row).collect();
    rows.sort_by(|a, b| b.threads.total_cmp(&a.threads));
    rows.truncate(MAX_FUNCTIONS);
    rows
}

/// Returns the function in which the blocked threads of a process mostly wait. Returns an empty text if no function has
/// at least half of the blocked threads.
pub(super) fn mostly_in(profile: &WaitProfile, process: &WaitProcess) -> String {
    let mut functions: BTreeMap<&str, f64> = BTreeMap::new();
    let mut all = 0.0;
    for (name, frames, weight) in stacks(profile) {
        if names(name, &process.process) {
            all += weight;
            *functions.entry(named_function(frames).unwrap_or_default()).or_default() += weight;
        }
    }
    let most = functions.into_iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
    most.filter(|(_, weight)| *weight >= WAIT_MOSTLY * all).map(|(function, _)| function.into()).unwrap_or_default()
}

/// Returns the mean number of blocked threads and tasks of a process in whose stacks a function occurs for which
/// `is_meant` returns true.
pub(super) fn threads_in(profile: &WaitProfile, process: &WaitProcess, is_meant: impl Fn(&str) -> bool) -> f64 {
    let own = stacks(profile).filter(|(name, ..)| names(name, &process.process));
    own.filter(|(_, frames, _)| frames.split(';').any(&is_meant)).map(|(.., weight)| weight).sum()
}

/// Returns the function in which most threads of a process wait for a lock, a semaphore or a queue of a library (see
/// [`PLACE_WAITS`]), and the number of these threads. Leaves out threads whose stack has only one function of the
/// program: such a function gets work for an idle thread.
pub(super) fn waits_for_places<'a>(profile: &'a WaitProfile, process: &WaitProcess) -> Option<(&'a str, f64)> {
    let mut functions: BTreeMap<&str, f64> = BTreeMap::new();
    for (_, frames, weight) in stacks(profile).filter(|(name, ..)| names(name, &process.process)) {
        if let Some(function) = called_function(frames) {
            *functions.entry(function).or_default() += weight;
        }
    }
    functions.into_iter().max_by(|(_, a), (_, b)| a.total_cmp(b))
}

/// Returns the innermost function of the program, if it was called by another function of the program, and itself calls
/// a library function of [`PLACE_WAITS`].
fn called_function(frames: &str) -> Option<&str> {
    let is_own = |name: &&str| !name.starts_with('[') && run::is_own_function(name);
    let mut from_innermost = frames.rsplit(';');
    let mut waits = false;
    let function = from_innermost.find(|name| {
        waits |= PLACE_WAITS.iter().any(|module| name.starts_with(module));
        is_own(name)
    });
    function.filter(|_| waits && from_innermost.any(|name| is_own(&name)))
}

/// Returns the number of threads of a process that wait in `lock`, a function that waits for a lock, and the function of
/// the program that most of these threads call it from. The function is empty if it is unknown.
pub(super) fn callers_of<'a>(profile: &'a WaitProfile, process: &WaitProcess, lock: &str) -> (f64, &'a str) {
    let mut callers: BTreeMap<&str, f64> = BTreeMap::new();
    for (_, frames, weight) in stacks(profile).filter(|(name, ..)| names(name, &process.process)) {
        // Inside a function of the program that a lock guards, the threads do not wait for this lock.
        let mut from_innermost = frames.rsplit(';');
        let is_own = |name: &&str| !name.starts_with('[') && run::is_own_function(name);
        if from_innermost.find(|name| *name == lock || is_own(name)) == Some(lock) {
            *callers.entry(from_innermost.find(is_own).unwrap_or_default()).or_default() += weight;
        }
    }
    let all = callers.values().sum();
    let most = callers.into_iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
    (all, most.filter(|(_, weight)| *weight >= WAIT_MOSTLY * all).map_or("", |(function, _)| function))
}

/// Returns the process, the functions and the weight of each stack of waiting threads. The functions are separated by
/// semicolons, the outermost first.
fn stacks(profile: &WaitProfile) -> impl Iterator<Item = (&str, &str, f64)> {
    let sums = profile.stacks.iter().flat_map(|stacks| &stacks.waiting);
    let usable = sums.filter(|sum| sum.weight.is_finite() && sum.weight > 0.0);
    usable.filter_map(|sum| sum.stack.split_once(';').map(|(process, frames)| (process, frames, sum.weight)))
}

/// Returns the innermost function of the stack that has a name and does not merely wait for its caller.
fn named_function(frames: &str) -> Option<&str> {
    frames.rsplit(';').find(|name| !name.starts_with('[') && run::is_own_function(name))
}

/// Returns the innermost function of the stack that does not merely wait for its caller. For a function without a name,
/// returns its module in brackets. If all functions of the stack merely wait, returns the one whose name says most
/// about the wait.
fn responsible_function(frames: &str) -> &str {
    let own = frames.rsplit(';').find(|name| run::is_own_function(name));
    let waits = || frames.rsplit(';').find(|name| !run::is_system_call(name));
    own.or_else(waits).unwrap_or_else(|| frames.rsplit(';').next().unwrap_or(frames))
}

#[cfg(test)]
mod tests {
    use run::{StackProfile, StackSum};

    use super::super::tests::process;
    use super::*;

    fn profile(stacks: &[(&str, f64)]) -> WaitProfile {
        let sum = |(stack, weight): &(&str, f64)| StackSum { stack: (*stack).into(), weight: *weight };
        let stacks = StackProfile { waiting: stacks.iter().map(sum).collect(), ..StackProfile::default() };
        WaitProfile { stacks: Some(stacks), ..process(4.0, &[]) }
    }

    fn first(stack: &str) -> String {
        waiting(&profile(&[(stack, 1.0)])).remove(0).function
    }

    /// Stacks of loadline's own server, of C, C++, Go and Java programs, with and without names.
    #[test]
    fn the_first_function_of_the_program_is_named_instead_of_system_calls_and_locks() {
        for (stack, function) in [
            (
                "app;main;serve;planted_lock;<std::sys::sync::mutex::futex::Mutex>::lock_contended;syscall",
                "planted_lock",
            ),
            (
                "app;start_thread;serve;write_log;___pthread_mutex_lock;__lll_lock_wait;__GI___lll_lock_wait",
                "write_log",
            ),
            ("app;main;take;pthread_cond_wait@@GLIBC_2.3.2;__futex_abstimed_wait_common", "take"),
            ("app;main;rest;__GI___clock_nanosleep;clock_nanosleep", "rest"),
            ("app;main;std::mutex::lock();pthread_mutex_lock", "main"),
            (
                "app;net/http.(*conn).serve;main.underLock;sync.(*Mutex).Lock;internal/sync.(*Mutex).lockSlow",
                "main.underLock",
            ),
            ("java;LSync:::slow;ObjectMonitor::enter;os::PlatformEvent::park;pthread_cond_wait", "LSync:::slow"),
            ("app;main;[app];pthread_cond_wait", "[app]"),
            ("app;main;accept_loop;[libc.so.6];__libc_accept", "accept_loop"),
            ("app;main;readers;pthread_rwlock_rdlock", "readers"),
        ] {
            assert_eq!(first(stack), function, "{stack}");
        }
    }

    #[test]
    fn only_functions_that_the_program_calls_wait_with_a_request() {
        let waits = "queue.Queue.get;threading.Condition.wait;sem_clockwait;__futex_abstimed_wait_common";
        let handler = "threading.Thread.run;concurrent.futures.thread._worker;ThreadWorker.handle;load_user";
        assert_eq!(called_function(&format!("{handler};{waits}")), Some("load_user"));
        assert_eq!(called_function(&format!("threading.Thread.run;WorkerThread.run;{waits}")), None, "an idle thread");
        assert_eq!(called_function("main;serve;take;pthread_cond_wait"), None, "not Python");
    }

    #[test]
    fn a_stack_without_an_own_function_says_what_it_waits_for() {
        let pool = "app;clone3;start_thread;std::thread::start;<std::sys::sync::condvar::futex::Condvar>::wait;syscall";
        assert_eq!(first(pool), "<std::sys::sync::condvar::futex::Condvar>::wait");
        assert_eq!(first("app;clone3;syscall"), "syscall");
    }

    #[test]
    fn threads_are_added_up_by_function() {
        let rows = waiting(&profile(&[
            ("app;main;slow;pthread_mutex_lock", 11.0),
            ("app;main;slow;sem_wait", 4.0),
            ("app;main;idle;pthread_cond_wait", 5.0),
            ("db;main;slow;fsync", f64::NAN),
        ]));
        let row = |function: &str, threads| WaitingFunction {
            process: "app".into(),
            function: function.into(),
            threads,
            share: threads / 20.0,
        };
        assert_eq!(rows, [row("slow", 15.0), row("idle", 5.0)]);
        assert!(waiting(&WaitProfile::default()).is_empty());
    }
}
