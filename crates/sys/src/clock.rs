//! Clocks: the monotonic one that everything is measured with, processor time, and sleeping until a moment.
//! Source: clock_gettime(2), clock_nanosleep(2), getrusage(2). Reading a clock here costs no system call (vDSO).

use rustix::thread::{self, ClockId, Timespec};

/// Nanoseconds of CLOCK_MONOTONIC.
#[inline]
pub fn monotonic_ns() -> u64 {
    read(rustix::time::ClockId::Monotonic)
}

/// Nanoseconds since the epoch (CLOCK_REALTIME).
#[inline]
pub fn realtime_ns() -> u64 {
    read(rustix::time::ClockId::Realtime)
}

/// Processor time of the calling thread, user and system together, nanoseconds (exact, not sampled by ticks).
pub fn thread_cpu_ns() -> u64 {
    read(rustix::time::ClockId::ThreadCPUTime)
}

/// Processor time of the whole process, nanoseconds.
pub fn process_cpu_ns() -> u64 {
    read(rustix::time::ClockId::ProcessCPUTime)
}

/// The moment that times of a trial count from, on the monotonic clock of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin(u64);

impl Origin {
    /// A moment from now.
    pub fn after(lead: std::time::Duration) -> Self {
        Self(monotonic_ns().saturating_add(u64::try_from(lead.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// A moment of [`monotonic_ns`].
    pub const fn at_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// It as a moment of [`monotonic_ns`].
    pub const fn ns(self) -> u64 {
        self.0
    }

    /// Seconds from it until now; negative before it.
    pub fn now_s(self) -> f64 {
        self.s_at(monotonic_ns())
    }

    /// Seconds from it until a moment of [`monotonic_ns`]; negative before it.
    pub fn s_at(self, ns: u64) -> f64 {
        (i128::from(ns) - i128::from(self.0)) as f64 / 1e9
    }
}

fn read(clock: rustix::time::ClockId) -> u64 {
    let t = rustix::time::clock_gettime(clock);
    (t.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(t.tv_nsec as u64)
}

/// User and system time of the calling thread, microseconds (getrusage(2), RUSAGE_THREAD).
pub fn thread_usage_us() -> (f64, f64) {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for one `rusage`, which the kernel fills; all-zero is a valid value of it, and it
    // is what is read if the call should fail (it cannot with these arguments).
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    let us = |t: libc::timeval| t.tv_sec as f64 * 1e6 + t.tv_usec as f64;
    (us(usage.ru_utime), us(usage.ru_stime))
}

/// Sleeps until CLOCK_MONOTONIC reaches `at_ns`; a signal does not end the sleep.
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
    fn sleeping_ends_at_the_moment_or_later() {
        let until = monotonic_ns() + 2_000_000;
        sleep_until_ns(until);
        assert!(monotonic_ns() >= until);
    }

    #[test]
    fn an_origin_may_lie_ahead() {
        let ahead = Origin::after(std::time::Duration::from_secs(10)).now_s();
        assert!((-10.0..-5.0).contains(&ahead), "{ahead}");
        assert_eq!(Origin::at_ns(3_000_000_000).s_at(1_500_000_000), -1.5);
    }

    #[test]
    fn processor_time_grows_with_work_and_not_with_sleep() {
        let before = thread_cpu_ns();
        sleep_until_ns(monotonic_ns() + 20_000_000);
        let slept = thread_cpu_ns() - before;
        let begin = thread_cpu_ns();
        while thread_cpu_ns() - begin < 2_000_000 {}
        assert!(slept < 10_000_000, "{slept}");
    }
}
