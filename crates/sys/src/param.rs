//! Constants of the running kernel, from the auxiliary vector. Source: getauxval(3), sysconf(3).

/// Reads and writes of a file go past the page cache (open(2)).
pub const O_DIRECT: i32 = libc::O_DIRECT;

/// Clock ticks a second in which the kernel tells user space about times (USER_HZ).
pub fn clock_ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second().max(1)
}

/// Bytes of a page of memory.
pub fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}
