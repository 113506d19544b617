//! Finds threads that wait for locks of a language runtime, by the stacks of the threads.

use std::collections::BTreeMap;

use run::{MonitorGroup, MonitorKind};
use stacks::Frame;

use super::rows::largest;

/// Name of HotSpot's function in which a thread waits to enter a monitor. Source:
/// share/runtime/objectMonitor.cpp.
const JAVA_ENTER: &str = "ObjectMonitor::enter";

/// Functions through which a Ruby thread waits for the interpreter lock, and also for other events. Source:
/// thread_pthread.c of Ruby 2.6 to 3.4.
const RUBY_WAITS: [&str; 2] = ["rb_native_cond_wait", "thread_sched_wait_running_turn"];
/// Beginnings of the names of Ruby's functions that wait on a condition variable only for the interpreter lock. Some of
/// the listed functions take the interpreter lock, and others return from a system call. Threads that sleep, or that
/// wait for a `Mutex` or a `Queue`, have other functions in place of the listed functions.
const RUBY_RETURNS: [&str; 11] = [
    "gvl_acquire",
    "gvl_yield",
    "thread_sched_to_running",
    "thread_sched_yield",
    "rb_thread_io_blocking_",
    "rb_threadptr_execute_interrupts",
    "rb_thread_fd_select",
    "rb_wait_for_single_fd",
    "rb_io_wait",
    "rb_io_blocking_region",
    "rb_thread_schedule",
];

/// Maximum number of remembered groups (process, lock and function).
const MAX_MONITORS: usize = 1024;

/// Weighted numbers of stacks of waiting threads, by process, lock and function.
#[derive(Clone, Debug, Default)]
pub(super) struct MonitorSums(BTreeMap<(String, MonitorKind, String), f64>);

impl MonitorSums {
    /// Adds the stack of a thread, innermost frame first. Ignores a stack that shows no wait for a lock of a language
    /// runtime.
    pub(super) fn add(&mut self, process: &str, frames: &[Frame], weight: f64) {
        let Some((kind, function)) = awaited(frames) else { return };
        let id = (process.to_owned(), kind, function);
        if self.0.len() < MAX_MONITORS || self.0.contains_key(&id) {
            *self.0.entry(id).or_default() += weight;
        }
    }

    /// Returns the mean number of waiting threads of each group over `rounds` readings of all threads, the largest
    /// first.
    pub(super) fn rows(&self, rounds: u64) -> Vec<MonitorGroup> {
        let row = |((process, kind, function), sum): (&(String, MonitorKind, String), &f64)| MonitorGroup {
            process: process.clone(),
            kind: *kind,
            function: function.clone(),
            waiting: sum / rounds.max(1) as f64,
        };
        largest(self.0.iter().map(row).collect(), |row| row.waiting)
    }
}

/// Returns the kind of lock that a thread waits for. Also returns the function outside the runtime that wants the lock,
/// if the stack shows it.
fn awaited(frames: &[Frame]) -> Option<(MonitorKind, String)> {
    if wants_ruby_lock(frames) {
        return Some((MonitorKind::RubyLock, String::new()));
    }
    let at = frames.iter().position(|frame| frame.function.as_deref() == Some(JAVA_ENTER))?;
    let runtime = &frames.get(at)?.module;
    let caller = frames.iter().skip(at).find(|frame| frame.module != *runtime);
    let function = caller.filter(|frame| frame.function.is_some()).map(Frame::label_and_place);
    Some((MonitorKind::JavaMonitor, function.unwrap_or_default()))
}

/// Returns true for a thread of Ruby that waits for the interpreter lock. A stripped library names only some of its
/// functions, so the first named caller of the waiting functions decides.
fn wants_ruby_lock(frames: &[Frame]) -> bool {
    let mut known = frames.iter().filter_map(|frame| frame.function.as_deref());
    let waits = known.find(|function| function.starts_with("pthread_cond_")).is_some();
    let caller = known.find(|function| !RUBY_WAITS.contains(function));
    waits && caller.is_some_and(|function| RUBY_RETURNS.iter().any(|start| function.starts_with(start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: Option<&str>, module: &str) -> Frame {
        Frame { function: function.map(Into::into), module: module.into(), file: None, line: None }
    }

    #[test]
    fn threads_that_enter_a_java_monitor_are_counted_by_the_function_that_wants_it() {
        let entering = |java: Option<&str>| {
            [
                frame(Some("pthread_cond_wait"), "libc.so.6"),
                frame(Some("ObjectMonitor::EnterI"), "libjvm.so"),
                frame(Some("ObjectMonitor::enter"), "libjvm.so"),
                frame(Some("Runtime1::monitorenter"), "libjvm.so"),
                frame(java, ""),
            ]
        };
        let mut sums = MonitorSums::default();
        (0..3).for_each(|_| sums.add("java", &entering(Some("LSync;::slow")), 2.0));
        sums.add("java", &entering(None), 1.0);
        sums.add("java", &entering(None)[..2], 9.0);
        sums.add("java", &[], 9.0);
        let rows = sums.rows(2);
        let row = |function: &str, waiting| MonitorGroup {
            process: "java".into(),
            kind: MonitorKind::JavaMonitor,
            function: function.into(),
            waiting,
        };
        assert_eq!(rows, [row("LSync;::slow", 3.0), row("", 0.5)]);
    }

    #[test]
    fn threads_that_wait_for_the_lock_of_ruby_are_told_from_those_that_sleep() {
        let stack = |functions: &[&str]| -> Vec<Frame> {
            let frames = functions.iter().map(|f| frame(Some(f).filter(|f| !f.is_empty()).copied(), "libruby.so"));
            frames.collect()
        };
        let kind = |functions: &[&str]| awaited(&stack(functions));
        let lock = Some((MonitorKind::RubyLock, String::new()));
        // The stacks come from a stripped library of Ruby 3.1, and from libraries of Ruby 3.1 and 3.4 with all symbols.
        let read = [
            "__futex_abstimed_wait_common",
            "pthread_cond_wait",
            "rb_native_cond_wait",
            "",
            "rb_thread_io_blocking_region",
        ];
        assert_eq!(kind(&read), lock);
        assert_eq!(kind(&["pthread_cond_timedwait", "", "rb_threadptr_execute_interrupts", "rb_vm_exec"]), lock);
        assert_eq!(kind(&["pthread_cond_wait", "rb_native_cond_wait", "gvl_acquire_common", "native_sleep"]), lock);
        let new = ["pthread_cond_wait", "rb_native_cond_wait", "thread_sched_wait_running_turn"];
        assert_eq!(kind(&[&new[..], &["thread_sched_to_running_common"]].concat()), lock);
        assert_eq!(kind(&[&new[..], &["thread_sched_to_waiting_until_wakeup", "native_sleep"]].concat()), None);
        for other in ["rb_mutex_lock", "rb_mutex_sleep", "rb_thread_sleep_forever", "native_cond_sleep", "rb_nogvl"] {
            assert_eq!(kind(&["pthread_cond_wait", "rb_native_cond_wait", "", other]), None, "{other}");
        }
        assert_eq!(kind(&["read", "", "rb_thread_io_blocking_region"]), None, "a thread in a system call");
        assert_eq!(kind(&["pthread_cond_wait"]), None);
    }
}
