//! Times that the kernel counts in ticks.

/// Ticks per second of the kernel's counters of CPU time (USER_HZ). The kernel rounds each counter down to a whole
/// tick.
const TICKS_PER_S: u32 = 100;

/// Counters of the CPU time of a host, without idle time.
pub(crate) const OF_HOST: [&str; 4] = ["cpu.user", "cpu.system", "cpu.irq", "cpu.softirq"];
/// Counters of the CPU time of a side's processes.
const OF_PROCESSES: [&str; 2] = ["process.user", "process.system"];

/// Returns the counters whose sum is the CPU time of which `counter` is a part. Returns `None` if `counter` is not
/// counted in ticks.
pub(crate) fn whole(counter: &str) -> Option<&'static [&'static str]> {
    [&OF_HOST[..], &OF_PROCESSES].into_iter().find(|whole| whole.contains(&counter))
}

/// Returns the largest error, in seconds, of the growth of a time that is the sum of several counters. At the beginning
/// and at the end, each counter may be up to one tick too low.
pub(crate) fn error_s(counters: &[&str]) -> f64 {
    counters.len() as f64 / f64::from(TICKS_PER_S)
}
