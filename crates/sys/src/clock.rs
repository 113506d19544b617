//! Clocks: the monotonic clock used for all measurements, CPU time, and sleeping until a given time. Source:
//! clock_gettime(2), clock_nanosleep(2), getrusage(2). Reading the monotonic clock or the real-time clock needs no
//! system call (vDSO). Reading CPU time needs a system call.

use rustix::thread::{self, ClockId, Timespec};

/// Returns CLOCK_MONOTONIC in nanoseconds.
#[inline]
pub fn monotonic_ns() -> u64 {
    read(rustix::time::ClockId::Monotonic)
}

/// Returns the nanoseconds since 1970 (CLOCK_REALTIME).
#[inline]
pub fn realtime_ns() -> u64 {
    read(rustix::time::ClockId::Realtime)
}

/// Returns the CPU time of the calling thread in nanoseconds, user and system together. The kernel measures the CPU
/// time of threads exactly, not in ticks.
pub fn thread_cpu_ns() -> u64 {
    read(rustix::time::ClockId::ThreadCPUTime)
}

/// Returns the CPU time of the whole process in nanoseconds.
pub fn process_cpu_ns() -> u64 {
    read(rustix::time::ClockId::ProcessCPUTime)
}

/// Start time of a trial (one load), on the monotonic clock of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin(u64);

impl Origin {
    /// Returns an origin that lies `lead` in the future.
    pub fn after(lead: std::time::Duration) -> Self {
        Self(monotonic_ns().saturating_add(u64::try_from(lead.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// Creates an origin at a time of [`monotonic_ns`].
    pub const fn at_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// Returns the origin as a time of [`monotonic_ns`].
    pub const fn ns(self) -> u64 {
        self.0
    }

    /// Returns the seconds from the origin until now. The result is negative if the origin is in the future.
    pub fn now_s(self) -> f64 {
        self.s_at(monotonic_ns())
    }

    /// Returns the seconds from the origin until a time of [`monotonic_ns`]. The result is negative for a time before
    /// the origin.
    pub fn s_at(self, ns: u64) -> f64 {
        (i128::from(ns) - i128::from(self.0)) as f64 / 1e9
    }
}

fn read(clock: rustix::time::ClockId) -> u64 {
    let t = rustix::time::clock_gettime(clock);
    (t.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(t.tv_nsec as u64)
}

/// Returns user and system CPU time of the calling thread in microseconds (getrusage(2), RUSAGE_THREAD).
pub fn thread_usage_us() -> (f64, f64) {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for one `rusage`, which the kernel fills. If the call fails, `usage` stays all-zero,
    // which is also valid.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    let us = |t: libc::timeval| t.tv_sec as f64 * 1e6 + t.tv_usec as f64;
    (us(usage.ru_utime), us(usage.ru_stime))
}

/// Sleeps until CLOCK_MONOTONIC reaches `at_ns`. A signal does not end the sleep.
pub fn sleep_until_ns(at_ns: u64) {
    loop {
        let now = monotonic_ns();
        if now >= at_ns {
            return;
        }
        let left = at_ns - now;
        let request = Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as _ };
        let _ = thread::clock_nanosleep_relative(ClockId::Monotonic, &request);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_ends_at_the_requested_time_or_later() {
        let until = monotonic_ns() + 2_000_000;
        sleep_until_ns(until);
        assert!(monotonic_ns() >= until);
    }

    #[test]
    fn an_origin_in_the_future_gives_negative_times() {
        let ahead = Origin::after(std::time::Duration::from_secs(10)).now_s();
        assert!((-10.0..-5.0).contains(&ahead), "{ahead}");
        assert_eq!(Origin::at_ns(3_000_000_000).s_at(1_500_000_000), -1.5);
    }

    #[test]
    fn cpu_time_grows_with_work_but_not_during_sleep() {
        let before = thread_cpu_ns();
        sleep_until_ns(monotonic_ns() + 20_000_000);
        let slept = thread_cpu_ns() - before;
        let begin = thread_cpu_ns();
        while thread_cpu_ns() - begin < 2_000_000 {}
        assert!(slept < 10_000_000, "{slept}");
    }
}
