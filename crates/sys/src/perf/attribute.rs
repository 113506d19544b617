//! Opens `perf` events: samples of CPU time, and counters.

use std::os::fd::{FromRawFd, OwnedFd};

use super::record::{SAMPLE_TYPE, SAMPLED_STACK_BYTES, USER_REGISTERS};
use crate::Result;

/// First 96 bytes of the kernel's `perf_event_attr` (PERF_ATTR_SIZE_VER3).
#[repr(C)]
#[derive(Default)]
struct Attribute {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    bp_type: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clock_id: i32,
}

const TYPE_HARDWARE: u32 = 0;
const TYPE_SOFTWARE: u32 = 1;
const INSTRUCTIONS: u64 = 1;
const TASK_CLOCK: u64 = 1;
/// Format of a counter's reading, with 8 bytes for each number. The numbers are the value, the time since the start,
/// and the time for which the event had a hardware counter.
const FORMAT_TIMES: u64 = 1 | 1 << 1;
const FLAG_INHERIT: u64 = 1 << 1;
/// Flag that also counts the threads that a counted thread starts later, but not the processes that it starts (Linux
/// 5.13).
const FLAG_INHERIT_THREAD: u64 = 1 << 35;
const FLAG_EXCLUDE_KERNEL: u64 = 1 << 5;
const FLAG_EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const FLAG_CLOSE_ON_EXEC: libc::c_ulong = 8;

/// Threads whose code an event samples.
#[derive(Clone, Copy)]
pub(super) enum Target {
    /// The event samples only the calling thread.
    Caller,
    /// The event samples this thread, and the threads that it starts later.
    Thread(u32),
    /// The event samples all threads of the system. Sampling all threads needs more rights than sampling the user's own
    /// threads.
    Everything,
}

impl Target {
    /// Returns the thread ID as the kernel expects it: 0 for the calling thread, -1 for all threads.
    fn tid(self) -> libc::pid_t {
        match self {
            Self::Caller => 0,
            Self::Thread(tid) => tid as libc::pid_t,
            Self::Everything => -1,
        }
    }

    fn flags(self) -> u64 {
        match self {
            Self::Caller | Self::Thread(_) => FLAG_INHERIT,
            Self::Everything => 0,
        }
    }
}

/// Opens an event that takes a sample after each `period_ns` of CPU time on `cpu`. The value `u32::MAX` of `cpu` means
/// all CPUs.
pub(super) fn open(target: Target, cpu: u32, period_ns: u64) -> Result<OwnedFd> {
    let attribute = Attribute {
        kind: TYPE_SOFTWARE,
        size: size_of::<Attribute>() as u32,
        config: TASK_CLOCK,
        sample_period: period_ns,
        sample_type: SAMPLE_TYPE,
        flags: target.flags() | FLAG_EXCLUDE_KERNEL | FLAG_EXCLUDE_HYPERVISOR,
        sample_regs_user: USER_REGISTERS,
        sample_stack_user: SAMPLED_STACK_BYTES,
        ..Attribute::default()
    };
    open_event(&attribute, target.tid(), cpu)
}

/// Kind of event that is counted.
#[derive(Clone, Copy)]
pub(super) enum Counted {
    /// Instructions, by a hardware counter.
    Instructions,
    /// CPU time in nanoseconds, which every machine counts.
    #[cfg(test)]
    CpuTime,
}

/// Opens a counter of thread `tid` and of threads that it starts later. `tid` 0 is the calling thread. Counts
/// instructions of the kernel only if the user has permission.
pub(super) fn open_counter(counted: Counted, tid: u32) -> Result<OwnedFd> {
    let (kind, config) = match counted {
        Counted::Instructions => (TYPE_HARDWARE, INSTRUCTIONS),
        #[cfg(test)]
        Counted::CpuTime => (TYPE_SOFTWARE, TASK_CLOCK),
    };
    let open = |flags: u64| {
        let flags = FLAG_INHERIT | FLAG_INHERIT_THREAD | FLAG_EXCLUDE_HYPERVISOR | flags;
        let size = size_of::<Attribute>() as u32;
        let attribute = Attribute { kind, size, config, read_format: FORMAT_TIMES, flags, ..Attribute::default() };
        open_event(&attribute, tid as libc::pid_t, u32::MAX)
    };
    open(0).or_else(|_| open(FLAG_EXCLUDE_KERNEL))
}

fn open_event(attribute: &Attribute, tid: libc::pid_t, cpu: u32) -> Result<OwnedFd> {
    let (attribute, cpu): (*const Attribute, _) = (attribute, cpu as libc::c_int);
    // SAFETY: the kernel reads `size` bytes of the attribute, which are all initialised, and returns a new descriptor.
    unsafe {
        let fd = libc::syscall(libc::SYS_perf_event_open, attribute, tid, cpu, -1, FLAG_CLOSE_ON_EXEC);
        if fd < 0 { Err(crate::last_errno()) } else { Ok(OwnedFd::from_raw_fd(fd as libc::c_int)) }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_attribute_has_the_size_of_its_kernel_version() {
        assert_eq!(size_of::<super::Attribute>(), 96);
    }
}
