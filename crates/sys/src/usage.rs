//! CPU time of ended child processes (getrusage(2), RUSAGE_CHILDREN).

use std::io;
use std::mem::MaybeUninit;

/// Returns the CPU time, user and system, of all child processes that have ended and were waited for, in microseconds.
/// The result includes the CPU time of the children's own children that had ended and were waited for.
pub fn children_cpu_us() -> io::Result<f64> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for one `rusage`, which the kernel fills. If the call fails, `usage` stays all-zero,
    // which is also valid.
    let (result, usage) = unsafe { (libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()), usage.assume_init()) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    let us = |t: libc::timeval| t.tv_sec as f64 * 1e6 + t.tv_usec as f64;
    Ok(us(usage.ru_utime) + us(usage.ru_stime))
}
