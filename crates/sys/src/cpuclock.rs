//! CPU time of another process, read from the process's CPU clock. The CPU clock of a process is exact and includes its
//! ended threads. One system call reads the CPU time of all threads of a process together. Source:
//! clock_getcpuclockid(3).

use crate::{Errno, Result};

/// Highest ID of a process on Linux (PID_MAX_LIMIT). The ID of a clock contains the process ID, and has no room for a
/// higher one.
const MAX_PID: u32 = 1 << 22;

/// Returns the CPU time of all current and ended threads of process `pid`, user and kernel together, in nanoseconds.
/// Every user may read the CPU time of every process.
pub fn process_cpu_ns(pid: u32) -> Result<u64> {
    let pid = libc::pid_t::try_from(pid).ok().filter(|_| pid <= MAX_PID).ok_or(Errno::SRCH)?;
    let mut clock: libc::clockid_t = 0;
    // SAFETY: the pointer is valid for one clock id.
    match unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) } {
        0 => {}
        code => return Err(Errno::from_raw_os_error(code)),
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is valid for one timespec.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return Err(crate::last_errno());
    }
    Ok((time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_of_this_process_grows_with_its_work() {
        let pid = std::process::id();
        let before = process_cpu_ns(pid).unwrap();
        let mut x = 1_u64;
        while crate::clock::process_cpu_ns() < before + 2_000_000 {
            x = std::hint::black_box(x.wrapping_mul(3));
        }
        assert!(process_cpu_ns(pid).unwrap() >= before + 2_000_000);
        for pid in [i32::MAX as u32, u32::MAX] {
            assert_eq!(process_cpu_ns(pid).unwrap_err(), Errno::SRCH);
        }
    }

    #[test]
    fn the_cpu_time_of_a_process_contains_its_ended_threads() {
        let work = || {
            let begin = crate::clock::thread_cpu_ns();
            while crate::clock::thread_cpu_ns() - begin < 2_000_000 {}
        };
        let before = process_cpu_ns(std::process::id()).unwrap();
        std::thread::spawn(work).join().unwrap();
        assert!(process_cpu_ns(std::process::id()).unwrap() >= before + 2_000_000);
    }
}
