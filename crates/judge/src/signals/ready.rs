//! Threads of a server that are ready to run but wait for a CPU. A thread that always runs or waits for a CPU does not
//! wait for a lock, a request or an upstream.

use super::chance;
use super::full::full;
use crate::context::view::Task;
use crate::thresholds::{CPU_WAIT, FULL_WIDTH, WORKS};

/// Mean values over the working threads, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ReadyThreads {
    /// Share of the time for which a working thread ran or waited for a CPU.
    pub(crate) wants: f64,
    /// Share of the time in `wants` that a working thread spent waiting for a CPU.
    pub(crate) unmet: f64,
}

impl ReadyThreads {
    /// Returns the mean times of the working threads, which use at least 5 % of a CPU.
    pub(crate) fn of(workers: &[Task]) -> Self {
        let working = || workers.iter().filter(|task| task.busy >= WORKS);
        let n = working().count() as f64;
        let wants = working().map(Task::wants).sum::<f64>() / n;
        Self { wants, unmet: working().filter_map(|task| task.wait).sum::<f64>() / (n * wants) }
    }

    /// Returns the probability that the threads are always ready to run, but often do not get a CPU. `given` is the
    /// share of the time for which the hypervisor let this virtual machine use its CPUs. `shift` is the sum of the log
    /// odds of further evidence, which is added to the log odds of the result.
    pub(crate) fn lack_cpus(&self, given: f64, shift: f64) -> f64 {
        chance(full("", given, self.wants).log_odds() + shift) * chance((self.unmet - CPU_WAIT) / FULL_WIDTH)
    }
}
