//! Constants of the running kernel. Source: getauxval(3), sysconf(3).

/// Open flag that makes reads and writes bypass the page cache (open(2)).
pub const O_DIRECT: i32 = libc::O_DIRECT;

/// Open flag for a file without a name (open(2)).
pub const O_TMPFILE: i32 = libc::O_TMPFILE;

/// Returns the number of clock ticks per second (USER_HZ). The kernel reports some times, such as CPU times, as numbers
/// of clock ticks.
pub fn clock_ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second().max(1)
}

/// Returns the size of a page of memory in bytes.
pub fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}
