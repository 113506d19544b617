//! CPU time of processes, including the CPU time of their children that have ended. A server may start a process for
//! each request. Such a process often starts and ends between two readings, so only its parent's counters show its CPU
//! time. Source: proc_pid_stat(5), fields 4 (ppid), 16 (cutime) and 17 (cstime).
//!
//! When a child ends, its counted CPU time becomes a debt of its parent. Once the parent has waited for the child, the
//! parent's counter of ended children grows by all CPU time of the child. The debt is subtracted from this growth, so
//! the child's CPU time counts once. A parent that ignores SIGCHLD never gets the CPU time of its children, so its debt
//! is never subtracted.

use std::collections::BTreeMap;

use crate::text::{number, stat_fields};
use crate::units;

/// CPU times of one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ProcessCpu {
    parent: u32,
    /// CPU time of the process itself, nanoseconds.
    own_ns: u64,
    /// CPU time of the ended children for which the process has waited, and of their own ended children, nanoseconds.
    children_ns: u64,
}

/// CPU times of some processes, read at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct TreeCpu {
    processes: BTreeMap<u32, ProcessCpu>,
    /// CPU time of ended children that was counted already, but that the growth of the parent's counter of ended
    /// children does not contain yet, nanoseconds. The key is the ID of the parent.
    debts: BTreeMap<u32, u64>,
}

impl TreeCpu {
    /// Reads the CPU times of processes. Leaves out processes that cannot be read.
    pub(crate) fn of(pids: impl Iterator<Item = u32>) -> Self {
        let read = |pid: u32| {
            let own_ns = sys::cpuclock::process_cpu_ns(pid).ok()?;
            let (parent, children_ns) =
                std::fs::read(format!("/proc/{pid}/stat")).ok().and_then(|text| ended_children(&text))?;
            Some((pid, ProcessCpu { parent, own_ns, children_ns }))
        };
        Self::from(pids.filter(|pid| *pid > 0).filter_map(read).collect())
    }

    /// Makes a reading of one process without children.
    #[cfg(test)]
    pub(crate) fn of_one(pid: u32, own_ns: u64) -> Self {
        Self::from(BTreeMap::from([(pid, ProcessCpu { own_ns, ..ProcessCpu::default() })]))
    }

    fn from(processes: BTreeMap<u32, ProcessCpu>) -> Self {
        Self { processes, debts: BTreeMap::new() }
    }

    /// Adds processes that started after this reading, so that all of their CPU time counts in the next reading. Does
    /// not change processes of this reading.
    pub(crate) fn start_at_zero(&mut self, started: impl Iterator<Item = u32>) {
        started.for_each(|pid| _ = self.processes.entry(pid).or_default());
    }

    /// Returns the CPU time since an earlier reading, nanoseconds. Only processes of the earlier reading count, with
    /// their children that ended in between.
    pub(crate) fn since_ns(&self, earlier: &Self) -> u64 {
        self.clone().follow_ns(earlier)
    }

    /// Returns the CPU time since an earlier reading as [`TreeCpu::since_ns`] does. Also keeps the earlier reading's
    /// `debts` (already counted CPU time of ended children), so a series of readings counts no child twice.
    pub(crate) fn follow_ns(&mut self, earlier: &Self) -> u64 {
        let mut debts = earlier.debts.clone();
        let ended = earlier.processes.iter().filter(|(pid, _)| !self.processes.contains_key(pid));
        for (_, before) in ended.filter(|(_, before)| earlier.processes.contains_key(&before.parent)) {
            let debt = debts.entry(before.parent).or_default();
            *debt = debt.saturating_add(before.own_ns).saturating_add(before.children_ns);
        }
        debts.retain(|parent, debt| *debt > 0 && self.processes.contains_key(parent));
        let mut sum_ns: u64 = 0;
        for (pid, before) in &earlier.processes {
            let Some(now) = self.processes.get(pid) else { continue };
            let grown_ns = now.children_ns.saturating_sub(before.children_ns);
            let paid_ns = debts.get(pid).map_or(0, |debt| grown_ns.min(*debt));
            debts.entry(*pid).and_modify(|debt| *debt -= paid_ns);
            let own_ns = now.own_ns.saturating_sub(before.own_ns);
            sum_ns = sum_ns.saturating_add(own_ns).saturating_add(grown_ns - paid_ns);
        }
        self.debts = debts;
        sum_ns
    }
}

/// Parses `/proc/PID/stat`. Returns the ID of the parent process, and the CPU time of the ended children in
/// nanoseconds.
pub(crate) fn ended_children(stat: &[u8]) -> Option<(u32, u64)> {
    let (_, fields) = stat_fields(stat)?;
    let fields: Vec<u64> = fields.take(15).map(|word| number(word).unwrap_or(0)).collect();
    let [_, parent, .., user, system] = fields.as_slice() else { return None };
    let ns = units::ticks_us(user.saturating_add(*system)) * 1e3;
    Some((u32::try_from(*parent).ok()?, ns as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_ended_children_are_found() {
        let text = b"7 (a b) S 5 7 7 0 -1 4194304 1 2 3 4 10 20 30 40 20 0 1 0 99 0 0";
        let ns = |ticks: u64| (units::ticks_us(ticks) * 1e3) as u64;
        assert_eq!(ended_children(text), Some((5, ns(70))));
        assert_eq!(ended_children(b"7 (a) S 5 7"), None);
    }

    fn reading(processes: &[(u32, u32, u64, u64)]) -> TreeCpu {
        let one = |&(pid, parent, own_ns, children_ns): &(u32, u32, u64, u64)| {
            (pid, ProcessCpu { parent, own_ns, children_ns })
        };
        TreeCpu::from(processes.iter().map(one).collect())
    }

    #[test]
    fn children_that_end_between_two_readings_count_once() {
        let before = reading(&[(10, 1, 100, 50), (11, 10, 30, 0)]);
        let unseen = reading(&[(10, 1, 110, 90), (11, 10, 35, 0)]);
        assert_eq!(unseen.since_ns(&before), 10 + 40 + 5, "an unseen child used 40");
        let ended = reading(&[(10, 1, 110, 88)]);
        assert_eq!(ended.since_ns(&before), 10 + 38 - 30, "child 11 used 38 in all, 8 of it after the first reading");
        let mut zombie = reading(&[(10, 1, 110, 50)]);
        assert_eq!(zombie.follow_ns(&before), 10, "the parent has not waited for its child yet");
        assert_eq!(ended.since_ns(&zombie), 38 - 30, "the parent has waited for its child");
        let stranger = reading(&[(11, 10, 35, 0)]);
        assert_eq!(stranger.since_ns(&before), 5, "the CPU time of an ended process without a known parent is unknown");
    }

    #[test]
    fn the_growth_of_other_processes_pays_no_debt() {
        let before = reading(&[(10, 1, 100, 50), (11, 10, 30, 0), (12, 1, 500, 0)]);
        let mut ignores = reading(&[(10, 1, 110, 50), (12, 1, 540, 70)]);
        assert_eq!(ignores.follow_ns(&before), 10 + 40 + 70, "process 10 ignores SIGCHLD");
        let mut later = reading(&[(10, 1, 120, 50), (12, 1, 550, 70)]);
        assert_eq!(later.follow_ns(&ignores), 10 + 10);
        assert_eq!(reading(&[(12, 1, 560, 70)]).since_ns(&later), 10, "the parent has ended, too");
    }

    #[test]
    fn a_shell_that_starts_programs_uses_their_cpu_time() {
        let script = "while :; do sh -c 'i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done'; done";
        let shell = testkit::ChildProcess::start(std::process::Command::new("sh").args(["-c", script]));
        let before = TreeCpu::of([shell.pid()].into_iter());
        let own_before = sys::cpuclock::process_cpu_ns(shell.pid()).unwrap();
        let used = testkit::eventually(|| {
            let used_ns = TreeCpu::of([shell.pid()].into_iter()).since_ns(&before);
            (used_ns >= 200_000_000).then_some(used_ns)
        });
        let own = sys::cpuclock::process_cpu_ns(shell.pid()).unwrap() - own_before;
        assert!(used > 2 * own, "{used} of all, {own} of the shell itself");
    }
}
