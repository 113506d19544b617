//! Threads with `perf` events, and the number of their context switches.

use std::collections::BTreeSet;
use std::fs;

/// Threads with open `perf` events.
#[derive(Debug, Default)]
pub(super) struct Threads {
    threads: Vec<Thread>,
    /// Number of all threads of the sampled processes, including threads without a `perf` event.
    all: usize,
}

#[derive(Debug)]
struct Thread {
    pid: u32,
    tid: u32,
    /// Number of context switches when the `perf` event was opened.
    before: Option<u64>,
}

impl Threads {
    /// Returns all threads of the processes `pids`. If there are more than `most` threads, returns every n-th thread,
    /// with n so large that at most `most` threads are left.
    pub(super) fn of(pids: &BTreeSet<u32>, most: usize) -> Self {
        let all: Vec<(u32, u32)> =
            pids.iter().flat_map(|pid| threads_of(*pid).into_iter().map(|tid| (*pid, tid))).collect();
        let step = all.len().div_ceil(most.max(1)).max(1);
        let thread = |(pid, tid): &(u32, u32)| Thread { pid: *pid, tid: *tid, before: switches(*pid, *tid) };
        Self { threads: all.iter().step_by(step).map(thread).collect(), all: all.len() }
    }

    pub(super) fn tids(&self) -> Vec<u32> {
        self.threads.iter().map(|thread| thread.tid).collect()
    }

    /// Returns the number of threads that each thread with `perf` events represents, at least 1.
    pub(super) fn of_one(&self) -> f64 {
        if self.threads.is_empty() { 1.0 } else { self.all as f64 / self.threads.len() as f64 }
    }

    /// Returns the number of context switches since the `perf` events were opened; `None` if the kernel does not count
    /// them. A thread that has ended adds 0.
    pub(super) fn switches(&self) -> Option<u64> {
        let since = |thread: &Thread| {
            let before = thread.before?;
            Some(switches(thread.pid, thread.tid).map_or(0, |now| now.saturating_sub(before)))
        };
        self.threads.iter().map(since).sum()
    }
}

/// Returns the number of times that a thread got a CPU.
fn switches(pid: u32, tid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/schedstat")).ok()?;
    text.split_whitespace().nth(2)?.parse().ok()
}

/// Returns the IDs of the threads of a process of this machine; an empty list if the process does not exist.
pub fn threads_of(pid: u32) -> Vec<u32> {
    let folder = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
    folder.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_of_this_process_are_counted_and_a_part_stands_for_all_threads() {
        let pids = BTreeSet::from([std::process::id()]);
        let threads = Threads::of(&pids, usize::MAX);
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert!(threads.switches().is_some_and(|n| n >= 1), "{threads:?}");
        assert_eq!(threads.of_one(), 1.0);
        let (stop, wait) = std::sync::mpsc::channel::<()>();
        let idle = std::thread::spawn(move || wait.recv().is_err());
        let one = Threads::of(&pids, 1);
        assert!(one.tids().len() == 1 && one.of_one() >= 2.0, "{one:?}");
        drop(stop);
        assert!(idle.join().unwrap());
    }
}
