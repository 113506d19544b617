//! Time for which processes ran on a CPU or waited for one. Reading the run times and the waiting times from /proc
//! takes little CPU time. Source: the kernel's Documentation/scheduler/sched-stats.rst, /proc/PID/task/TID/schedstat.

/// Maximum number of threads that are read, so that reading a server with thousands of threads takes little time.
const MAX_THREADS: usize = 256;

/// Time for which the threads of some processes have run on a CPU or waited for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedTimes {
    /// Time on a CPU in nanoseconds.
    pub run_ns: u64,
    /// Time in which threads were ready to run but had no CPU, nanoseconds.
    pub wait_ns: u64,
}

impl SchedTimes {
    /// Returns the difference between this reading and an earlier reading.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            run_ns: self.run_ns.saturating_sub(earlier.run_ns),
            wait_ns: self.wait_ns.saturating_sub(earlier.wait_ns),
        }
    }

    /// Returns the time on a CPU as a share of the whole time in which threads ran or waited for a CPU. Returns `None`
    /// if no thread ran.
    pub fn speed(&self) -> Option<f64> {
        (self.run_ns > 0).then(|| self.run_ns as f64 / (self.run_ns + self.wait_ns) as f64)
    }
}

/// Reads at most [`MAX_THREADS`] threads of these processes. Threads that cannot be read add nothing.
pub fn sched_times(pids: &[u32]) -> SchedTimes {
    let mut sum = SchedTimes::default();
    let tasks = pids.iter().filter_map(|pid| std::fs::read_dir(format!("/proc/{pid}/task")).ok()).flatten().flatten();
    for task in tasks.take(MAX_THREADS) {
        let Ok(text) = std::fs::read_to_string(task.path().join("schedstat")) else { continue };
        let mut fields = text.split_whitespace().map(|n| n.parse::<u64>().unwrap_or(0));
        sum.run_ns += fields.next().unwrap_or(0);
        sum.wait_ns += fields.next().unwrap_or(0);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_thread_has_run_time() {
        // The busy loop is a separate process, because threads of this process come and go with concurrent tests.
        let busy = testkit::ChildProcess::start(std::process::Command::new("sh").args(["-c", "while :; do :; done"]));
        let before = sched_times(&[busy.pid()]);
        let worked = testkit::eventually(|| {
            let worked = sched_times(&[busy.pid()]).since(&before);
            (worked.run_ns >= 15_000_000).then_some(worked)
        });
        assert!(worked.speed().is_some_and(|s| s > 0.0 && s <= 1.0));
        assert_eq!(SchedTimes::default().speed(), None);
        assert_eq!(sched_times(&[u32::MAX]), SchedTimes::default());
    }
}
