//! Thin, safe wrappers around kernel interfaces, one file per mechanism.
//!
//! All unsafe code of loadline is in this crate and in `event-c`, the event API for C. Every other crate forbids unsafe
//! code. In this crate and in `event-c`, a comment at each unsafe block says why the block is sound. A wrapper only
//! returns the result of a call, and its caller decides what to do next.

pub mod alloc;
pub mod block_device;
pub mod blocking_stream;
pub mod clock;
pub mod cpu_hog;
pub mod cpuclock;
pub mod diag;
pub mod diag_unix;
pub mod each_client;
pub mod epoll;
pub mod epoll_raw;
pub mod exhausted;
pub mod hiccups;
pub mod interrupt;
pub mod limits;
pub mod lock;
pub mod map;
pub mod netlink;
pub mod netns;
pub mod nonblock;
pub mod nsenter;
pub mod orphans;
pub mod param;
pub mod pass;
pub mod peer;
pub mod perf;
pub mod poll;
pub mod poll_ring;
pub mod remote_memory;
pub mod rtnl;
pub mod select;
pub mod sigio;
pub mod signal;
pub mod socket;
pub mod syn_count;
pub mod tap;
pub mod terminal;
pub mod tsc;
pub mod udp;
pub mod uring;
pub mod usage;
pub mod wake;

/// An error number of the kernel, such as `Errno::AGAIN` or `Errno::MFILE`. An error number needs no allocation, and
/// `into()` converts it into [`std::io::Error`].
pub use rustix::io::Errno;

/// Result type of all system calls in this crate.
pub type Result<T> = core::result::Result<T, Errno>;

/// Returns the error number of the last failed libc call of this thread.
pub(crate) fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// Converts the return value of a wait into the number of ready descriptors. Returns 0 if a signal interrupted the
/// wait.
pub(crate) fn ready(returned: i64) -> Result<usize> {
    match usize::try_from(returned) {
        Ok(n) => Ok(n),
        Err(_) => match last_errno() {
            Errno::INTR => Ok(0),
            e => Err(e),
        },
    }
}

/// Converts nanoseconds into a `timespec`.
pub(crate) const fn timespec(ns: u64) -> libc::timespec {
    libc::timespec { tv_sec: (ns / 1_000_000_000) as libc::time_t, tv_nsec: (ns % 1_000_000_000) as _ }
}
