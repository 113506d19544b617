//! CPU time that other programs use during a test. The CPU time comes from /proc, and not from loadline.

use std::time::Instant;

/// Clock ticks per second in /proc/stat. On all common architectures, the kernel reports times to user space in ticks
/// of 1/100 s.
const TICKS_PER_S: f64 = 100.0;
/// Maximum CPU time that other programs may use without disturbing a measurement, in CPUs.
const DISTURBING_CPUS: f64 = 0.25;

/// Environment variable of a test that runs beside other measuring tests. The variable contains the ID of the process
/// that runs all these tests (`run-tests`).
pub const TEST_RUN_PID: &str = "LOADLINE_TEST_RUN_PID";

/// Measures the CPU time of all programs except this test and its child processes. If the test runs at the same time as
/// other measuring tests (environment variable [`TEST_RUN_PID`]), these tests do not count as other programs, either. A
/// test that runs at the same time as others must therefore give the right result whatever CPU time the other tests
/// use.
#[derive(Debug)]
pub struct OtherPrograms {
    begin: Instant,
    /// Process whose CPU time, like that of its descendants, does not count as CPU time of other programs.
    own: u32,
    machine_ticks: u64,
    own_ticks: u64,
    stolen_ticks: u64,
}

impl OtherPrograms {
    /// Starts to measure the CPU time of other programs.
    pub fn watch() -> Self {
        let test_run = std::env::var(TEST_RUN_PID).ok().and_then(|pid| pid.parse().ok());
        let own = test_run.unwrap_or_else(std::process::id);
        Self {
            begin: Instant::now(),
            own,
            machine_ticks: machine_ticks(),
            own_ticks: own_ticks(own),
            stolen_ticks: stolen_ticks(),
        }
    }

    /// Returns the CPU time that other programs used on average since the start of the measurement, in CPUs.
    pub fn cpus(&self) -> f64 {
        let machine = machine_ticks().saturating_sub(self.machine_ticks);
        let own = own_ticks(self.own).saturating_sub(self.own_ticks);
        self.mean_cpus(machine.saturating_sub(own))
    }

    /// Returns the mean number of CPUs that were in use if `ticks` clock ticks of CPU time passed since the start of
    /// the measurement.
    fn mean_cpus(&self, ticks: u64) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "ticks of a test")]
        let ticks = ticks as f64;
        ticks / TICKS_PER_S / self.begin.elapsed().as_secs_f64()
    }

    /// Returns true if other programs, or other virtual machines, used so much CPU time that they disturbed the test.
    pub fn disturbed(&self) -> bool {
        self.cpus() + self.mean_cpus(stolen_ticks().saturating_sub(self.stolen_ticks)) > DISTURBING_CPUS
    }

    /// Returns true if other programs used so little CPU time that they did not disturb the test. If other programs
    /// used too much CPU time, prints that a check is skipped, and returns false.
    #[track_caller]
    pub fn stayed_away(&self, test: &str) -> bool {
        let cpus = self.cpus();
        if cpus > DISTURBING_CPUS {
            crate::skip(test, format!("other programs used {cpus:.2} CPUs"));
        }
        cpus <= DISTURBING_CPUS
    }
}

/// Returns the CPU time of all programs, in clock ticks: the user, nice and system time of /proc/stat. The result does
/// not include time in interrupts, because this time belongs to no program.
fn machine_ticks() -> u64 {
    processor_ticks().iter().take(3).sum()
}

/// Returns the CPU time that the hypervisor gave to other virtual machines, in clock ticks.
fn stolen_ticks() -> u64 {
    processor_ticks().get(7).copied().unwrap_or(0)
}

/// Returns the times of all CPUs together in the order of proc_stat(5): user, nice, system, idle, iowait, irq, softirq
/// and steal time, in clock ticks.
fn processor_ticks() -> Vec<u64> {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let fields = stat.lines().next().unwrap_or_default().split_whitespace().skip(1);
    fields.filter_map(|ticks| ticks.parse().ok()).collect()
}

/// Returns the CPU time of a process, of its ended children and of its running descendants, in clock ticks.
fn own_ticks(process: u32) -> u64 {
    ticks(process) + crate::children(process).into_iter().map(own_ticks).sum::<u64>()
}

/// Returns the sum of fields 14 to 17 of /proc/PID/stat (proc_pid_stat(5)): utime, stime, cutime and cstime.
fn ticks(process: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    after_name.split_whitespace().skip(11).take(4).filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_cpu_time_does_not_count_as_that_of_others() {
        let others = OtherPrograms::watch();
        let begin = Instant::now();
        while begin.elapsed().as_secs_f64() < 0.3 {}
        let own = own_ticks(std::process::id()) - others.own_ticks;
        let machine = machine_ticks() - others.machine_ticks;
        assert!(own > 0 && machine >= own, "{own} of {machine} ticks");
    }
}
