//! Soft interrupts that take the CPU of a thread which is pinned to one CPU.

use run::Instances;

use crate::context::view::{Task, View};

/// Soft interrupts on each CPU. While a CPU handles soft interrupts, a thread that may use only this CPU cannot run.
pub(super) struct Interrupts<'a> {
    softirq: Instances<'a>,
    view: View<'a>,
}

impl<'a> Interrupts<'a> {
    pub(super) fn of(view: &View<'a>) -> Self {
        Self { softirq: view.side.recording.instances("cpu.softirq"), view: *view }
    }

    /// Returns the share of the time for which a thread ran. If the thread is pinned to one CPU, the share includes the
    /// time of soft interrupts on this CPU, up to the CPU's busy share.
    pub(super) fn ran(&self, task: &Task) -> f64 {
        let with = || {
            let mask = task.mask.filter(|mask| mask.count_ones() == 1)?;
            let us = self.softirq.value(&mask.trailing_zeros().to_string(), self.view.window)?;
            let share = us / 1e6 / self.view.span_s?;
            Some((task.busy + share.max(0.0)).min(self.view.busy_share_of(mask)?))
        };
        with().filter(|ran| ran.is_finite()).unwrap_or(task.busy).max(task.busy)
    }
}

/// Returns the share of the time for which a thread ran. For a thread that is pinned to one CPU, includes the soft
/// interrupts on this CPU.
pub(crate) fn ran(view: &View<'_>, task: &Task) -> f64 {
    Interrupts::of(view).ran(task)
}
