//! Divides a host's CPU time within a measured window into kinds of CPU time. Only this file decides which kinds of CPU
//! time count as busy.

use crate::{Recording, Window};

/// CPU time of one CPU, or of all CPUs (`total`), by kind, microseconds. Kinds of CPU time that the kernel does not
/// report separately are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuTimes {
    /// Time in user mode, microseconds.
    pub user_us: f64,
    /// Time of the kernel on behalf of programs, microseconds.
    pub system_us: f64,
    /// Time in hard interrupts, microseconds.
    pub irq_us: f64,
    /// Time in soft interrupts, microseconds.
    pub softirq_us: f64,
    /// Time taken by the hypervisor, microseconds.
    pub steal_us: f64,
    /// Idle time while a disk request was pending, microseconds.
    pub iowait_us: f64,
    /// Idle time, microseconds.
    pub idle_us: f64,
}

impl CpuTimes {
    /// Makes the times from the values of counters; `None` if the idle time is unknown.
    pub fn from_counters(part: impl Fn(&str) -> Option<f64>) -> Option<Self> {
        let or_none = |id: &str| part(id).unwrap_or(0.0).max(0.0);
        Some(Self {
            user_us: or_none("cpu.user"),
            system_us: or_none("cpu.system"),
            irq_us: or_none("cpu.irq"),
            softirq_us: or_none("cpu.softirq"),
            steal_us: or_none("cpu.steal"),
            iowait_us: or_none("cpu.iowait"),
            idle_us: part("cpu.idle")?.max(0.0),
        })
    }

    /// Returns the time of the kernel, on behalf of programs and in interrupts, microseconds.
    pub fn kernel_us(&self) -> f64 {
        self.system_us + self.irq_us + self.softirq_us
    }

    /// Returns all time in which the CPU was not idle, microseconds. Time taken by the hypervisor counts as busy,
    /// because the CPU had work to do in this time.
    pub fn busy_us(&self) -> f64 {
        self.user_us + self.kernel_us() + self.steal_us
    }

    /// Returns the sum of all kinds of CPU time, microseconds.
    pub fn all_us(&self) -> f64 {
        self.busy_us() + self.iowait_us + self.idle_us
    }

    /// Returns `part_us` as a share of the sum of all kinds, 0 to 1; `None` if the sum is 0.
    pub fn share_of(&self, part_us: f64) -> Option<f64> {
        let all_us = self.all_us();
        (all_us > 0.0).then(|| part_us / all_us)
    }

    /// Returns the share of the time in which the CPU was not idle, 0 to 1; `None` if no time was counted.
    pub fn busy(&self) -> Option<f64> {
        self.share_of(self.busy_us())
    }
}

impl Recording {
    /// Returns the times of a CPU (`0`), or of all CPUs (`total`), in a window; `None` if its idle time is unknown.
    pub fn cpu_times(&self, cpu: &str, window: Window) -> Option<CpuTimes> {
        CpuTimes::from_counters(|id| self.reading(id, cpu, window).value())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, CounterId};

    #[test]
    fn stolen_time_is_busy_and_waits_for_a_disk_are_idle() {
        let column = |id: &'static str, us: f64| Column {
            counter: CounterId::new(id),
            instance: "total".into(),
            values: vec![Some(0.0), Some(us)],
        };
        let rec = Recording {
            t_s: vec![0.0, 1.0],
            columns: vec![
                column("cpu.user", 4e5),
                column("cpu.steal", 1e5),
                column("cpu.iowait", 2e5),
                column("cpu.idle", 3e5),
            ],
            ..Recording::default()
        };
        let times = rec.cpu_times("total", Window::ALL).unwrap();
        assert_eq!((times.busy(), times.kernel_us(), times.all_us()), (Some(0.5), 0.0, 1e6));
        assert_eq!(rec.cpu_times("0", Window::ALL), None);
        assert_eq!(CpuTimes::default().busy(), None);
    }
}
