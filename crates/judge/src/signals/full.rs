//! Signals of full CPUs and full threads: busy shares, with the time that a hypervisor took away.

use stats::average;

use super::Signal;
use crate::context::view::{Task, View};
use crate::thresholds::{FULL_MIDDLE, FULL_WIDTH};

/// Makes a signal from a busy share of CPUs, 0 to 1. The busy share is divided by `given`, the share of the time for
/// which the hypervisor gave the machine its CPUs ([`View::given`](crate::context::view::View::given)).
pub(crate) fn full(name: &'static str, given: f64, share: f64) -> Signal {
    Signal::new(name, share / given, (FULL_MIDDLE, FULL_WIDTH))
}

/// Returns the larger of two utilizations: that of a side's CPUs, and that of its busiest thread (time running or
/// waiting for a CPU). Returns `None` if the CPU use of the side is unknown.
pub(crate) fn busiest(view: &View<'_>) -> Option<f64> {
    Some(view.workers().iter().map(Task::wants).fold(view.cpu_share()?, f64::max))
}

/// Makes a signal from the busy share of a thread. `stolen` are the shares of the time that the hypervisor took from
/// the CPUs on which the thread may run. The CPU on which the thread ran is unknown if several CPUs are allowed. If the
/// allowed CPUs lost unequal times, the standard deviation over these CPUs therefore widens the signal.
pub(crate) fn full_thread(name: &'static str, stolen: &[f64], share: f64) -> Signal {
    let each: Vec<f64> = stolen.iter().map(|stolen| share / (1.0 - stolen)).collect();
    let mean = if each.is_empty() { share } else { average(&each) };
    let variance = average(&each.iter().map(|one| (one - mean).powi(2)).collect::<Vec<_>>());
    Signal::new(name, mean, (FULL_MIDDLE, FULL_WIDTH.hypot(variance.sqrt())))
}
