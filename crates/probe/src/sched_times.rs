//! Time for which processes ran on a CPU or waited for one. Reading the times of running and waiting takes little CPU
//! time. Source: the kernel's Documentation/scheduler/sched-stats.rst (/proc/PID/task/TID/schedstat), and
//! clock_getcpuclockid(3).

use std::collections::BTreeMap;

use crate::tree_cpu::TreeCpu;

/// Maximum number of threads that are read, so that reading a server with thousands of threads takes little time.
const MAX_THREADS: usize = 256;

/// Time for which the threads of some processes ran on a CPU or waited for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedTimes {
    /// Time on a CPU in nanoseconds.
    pub run_ns: u64,
    /// Time in which threads were ready to run but had no CPU, nanoseconds.
    pub wait_ns: u64,
}

impl SchedTimes {
    /// Returns the time on a CPU as a share of the whole time in which threads ran or waited for a CPU. Returns `None`
    /// if no thread ran.
    pub fn speed(&self) -> Option<f64> {
        (self.run_ns > 0).then(|| self.run_ns as f64 / (self.run_ns + self.wait_ns) as f64)
    }

    fn plus(self, other: Self) -> Self {
        Self { run_ns: self.run_ns + other.run_ns, wait_ns: self.wait_ns + other.wait_ns }
    }

    /// Returns the difference between this reading of a thread and an earlier one. A smaller value than before belongs
    /// to a new thread that has the same ID.
    fn since(self, earlier: Self) -> Self {
        let of = |now: u64, before: u64| now.checked_sub(before).unwrap_or(now);
        Self { run_ns: of(self.run_ns, earlier.run_ns), wait_ns: of(self.wait_ns, earlier.wait_ns) }
    }
}

/// Times of the threads of some processes since their start, read at one moment.
#[derive(Clone, Debug, Default)]
pub struct SchedReading {
    /// CPU times of the processes, including their threads and children that have ended.
    processes: TreeCpu,
    /// Times of each thread.
    threads: BTreeMap<u32, SchedTimes>,
    /// True if there were more threads than [`MAX_THREADS`].
    is_cut: bool,
}

impl SchedReading {
    /// Reads the CPU times of the given processes, and the times of at most [`MAX_THREADS`] of their threads. Processes
    /// and threads that cannot be read are left out.
    pub fn of(pids: &[u32]) -> Self {
        let processes = TreeCpu::of(pids.iter().copied());
        let mut tasks =
            pids.iter().filter_map(|pid| std::fs::read_dir(format!("/proc/{pid}/task")).ok()).flatten().flatten();
        let threads = tasks.by_ref().take(MAX_THREADS).filter_map(|task| {
            let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
            Some((task.file_name().to_str()?.parse().ok()?, times(&text)))
        });
        let threads = threads.collect();
        Self { processes, threads, is_cut: tasks.next().is_some() }
    }

    /// Returns the times between an earlier reading of the processes and this reading.
    ///
    /// The kernel deletes the times of a thread that ends, for example of a thread that handled one request. The CPU
    /// time of the process still includes an ended thread's time on a CPU, but the thread's waiting time is unknown.
    /// Some threads ended or were not read. These threads are assumed to have waited for a CPU as long per running
    /// second as all other threads.
    pub fn since(&self, earlier: &Self) -> SchedTimes {
        let of_thread = |(id, now): (&u32, &SchedTimes)| match earlier.threads.get(id) {
            Some(before) => now.since(*before),
            None if earlier.is_cut => SchedTimes::default(),
            None => *now,
        };
        let seen = self.threads.iter().map(of_thread).fold(SchedTimes::default(), SchedTimes::plus);
        let run_ns = self.processes.since_ns(&earlier.processes).max(seen.run_ns);
        let wait_ns = match seen.run_ns {
            0 => seen.wait_ns,
            seen_ns => (seen.wait_ns as f64 * (run_ns as f64 / seen_ns as f64)) as u64,
        };
        SchedTimes { run_ns, wait_ns }
    }
}

/// Reads the text of a file /proc/PID/task/TID/schedstat. Unknown numbers count as 0.
fn times(text: &str) -> SchedTimes {
    let mut fields = text.split_whitespace().map(|n| n.parse::<u64>().unwrap_or(0));
    SchedTimes { run_ns: fields.next().unwrap_or(0), wait_ns: fields.next().unwrap_or(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_thread_has_run_time() {
        // The busy loop is a separate process, because threads of this process come and go with concurrent tests.
        let busy = testkit::ChildProcess::start(std::process::Command::new("sh").args(["-c", "while :; do :; done"]));
        let before = SchedReading::of(&[busy.pid()]);
        let worked = testkit::eventually(|| {
            let worked = SchedReading::of(&[busy.pid()]).since(&before);
            (worked.run_ns >= 15_000_000).then_some(worked)
        });
        assert!(worked.speed().is_some_and(|s| s > 0.0 && s <= 1.0));
        assert_eq!(SchedTimes::default().speed(), None);
        assert_eq!(SchedReading::of(&[u32::MAX]).since(&SchedReading::default()), SchedTimes::default());
    }

    /// Builds a reading of a process with ID 1. Each thread has an ID, a time on a CPU and a waiting time,
    /// milliseconds.
    fn reading(process_ms: u64, threads: &[(u32, u64, u64)]) -> SchedReading {
        let thread = |&(id, run, wait): &(u32, u64, u64)| {
            (id, SchedTimes { run_ns: run * 1_000_000, wait_ns: wait * 1_000_000 })
        };
        let processes = TreeCpu::of_one(1, process_ms * 1_000_000);
        SchedReading { processes, threads: threads.iter().map(thread).collect(), is_cut: false }
    }

    /// In this test, a server starts a thread for each connection. An earlier version of loadline left out ended
    /// threads. That version found that the server wanted a CPU for 17 % of the time, although the server always
    /// computed.
    #[test]
    fn ended_threads_count_with_the_cpu_time_of_their_process() {
        let ms = |t: SchedTimes| (t.run_ns / 1_000_000, t.wait_ns / 1_000_000);
        let before = reading(1_000, &[(1, 400, 100), (2, 30, 10), (3, 20, 5)]);
        let after = reading(1_050, &[(1, 410, 102), (4, 10, 3)]);
        assert_eq!(ms(after.since(&before)), (50, 12), "20 ms are seen, with 5 ms of waiting");
        let steady = reading(1_040, &[(1, 420, 105), (2, 40, 12), (3, 30, 5)]);
        assert_eq!(ms(steady.since(&before)), (40, 7), "no thread ended");
        let cut = SchedReading { is_cut: true, ..before.clone() };
        assert_eq!(ms(after.since(&cut)), (50, 10), "thread 4 may be an old one that was not read before");
        assert_eq!(ms(reading(1_001, &[(1, 1, 1)]).since(&before)), (1, 1), "a new thread with an old ID");
    }
}
