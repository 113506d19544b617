//! The only unsafe code of loadline: thin, safe doors to the kernel, one file a mechanism.
//!
//! Every other crate forbids unsafe code. Each block here says why it is sound; nothing here decides anything.

pub mod clock;
pub mod cpuclock;
pub mod diag;
pub mod epoll;
pub mod interrupt;
pub mod limits;
pub mod netlink;
pub mod rtnl;
pub mod socket;
pub mod syn_count;
pub mod uring;
pub mod usage;

/// An error number of the kernel: `Errno::AGAIN`, `Errno::MFILE`, … One word, no allocation; turns into
/// [`std::io::Error`] with `into()`.
pub use rustix::io::Errno;

/// What system calls return here.
pub type Result<T> = core::result::Result<T, Errno>;

/// The error number that the last libc call of this thread left.
pub(crate) fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
