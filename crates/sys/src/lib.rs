//! The only unsafe code of loadline: thin, safe doors to the kernel, one file a mechanism.
//!
//! Every other crate forbids unsafe code. Each block here says why it is sound; nothing here decides anything.

pub mod alloc;
pub mod clock;
pub mod cpuclock;
pub mod diag;
pub mod diag_unix;
pub mod epoll;
pub mod epoll_raw;
pub mod hiccups;
pub mod interrupt;
pub mod limits;
pub mod map;
pub mod netlink;
pub mod netns;
pub mod nonblock;
pub mod nsenter;
pub mod param;
pub mod pass;
pub mod peer;
pub mod poll;
pub mod poll_ring;
pub mod rtnl;
pub mod select;
pub mod sigio;
pub mod signal;
pub mod socket;
pub mod syn_count;
pub mod tap;
pub mod terminal;
pub mod tsc;
pub mod uring;
pub mod usage;
pub mod wake;

/// An error number of the kernel: `Errno::AGAIN`, `Errno::MFILE`, … One word, no allocation; turns into
/// [`std::io::Error`] with `into()`.
pub use rustix::io::Errno;

/// What system calls return here.
pub type Result<T> = core::result::Result<T, Errno>;

/// The error number that the last libc call of this thread left.
pub(crate) fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// How many of the descriptors that were waited for are ready, by what the system call returned; a signal brings none.
pub(crate) fn ready(returned: i64) -> Result<usize> {
    match usize::try_from(returned) {
        Ok(n) => Ok(n),
        Err(_) => match last_errno() {
            Errno::INTR => Ok(0),
            e => Err(e),
        },
    }
}

/// A time span as the kernel takes it.
pub(crate) const fn timespec(ns: u64) -> libc::timespec {
    libc::timespec { tv_sec: (ns / 1_000_000_000) as libc::time_t, tv_nsec: (ns % 1_000_000_000) as _ }
}
