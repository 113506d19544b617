//! Finds threads that wait for locks of their language runtimes, by the threads' stacks.

use std::collections::BTreeMap;

use run::{MonitorGroup, MonitorKind};
use stacks::Frame;

use super::rows::largest;

/// Beginnings of the runtimes' functions in which threads wait for a lock. Source: HotSpot, share/runtime/objectMonitor.cpp.
const MONITORS: [(&str, MonitorKind); 1] = [("ObjectMonitor::enter(", MonitorKind::JavaMonitor)];

/// Maximum number of distinct groups during the sampling.
const MAX_MONITORS: usize = 1024;

/// Sums over stacks, by process, lock and function.
#[derive(Debug, Default)]
pub(super) struct MonitorSums(BTreeMap<(String, MonitorKind, String), f64>);

impl MonitorSums {
    /// Adds the stack of a waiting thread, innermost frame first.
    pub(super) fn add(&mut self, process: &str, frames: &[Frame], weight: f64) {
        let Some((kind, function)) = awaited(frames) else { return };
        let id = (process.to_owned(), kind, function);
        if self.0.len() < MAX_MONITORS || self.0.contains_key(&id) {
            *self.0.entry(id).or_default() += weight;
        }
    }

    /// Returns the means over `rounds` readings of all threads, the largest first.
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

/// Returns the kind of lock that a thread waits for, and the function outside of the runtime that wants this lock.
fn awaited(frames: &[Frame]) -> Option<(MonitorKind, String)> {
    let kind_of = |frame: &Frame| {
        let function = frame.function.as_deref()?;
        MONITORS.iter().find(|(start, _)| function.starts_with(start)).map(|(_, kind)| *kind)
    };
    let (at, kind) = frames.iter().enumerate().find_map(|(at, frame)| Some((at, kind_of(frame)?)))?;
    let runtime = &frames.get(at)?.module;
    let caller = frames.iter().skip(at).find(|frame| frame.module != *runtime);
    let function = caller.filter(|frame| frame.function.is_some()).map(Frame::label_and_place);
    Some((kind, function.unwrap_or_default()))
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
                frame(Some("ObjectMonitor::EnterI(JavaThread*)"), "libjvm.so"),
                frame(Some("ObjectMonitor::enter(JavaThread*)"), "libjvm.so"),
                frame(Some("Runtime1::monitorenter(JavaThread*)"), "libjvm.so"),
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
}
