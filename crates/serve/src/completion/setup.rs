//! Settings of an io_uring model, and a check that this process may create an io_uring.

use sys::Errno;
use sys::uring::{Buffers, Config, Ring, RingCloseWatcher};

use crate::ServeError;
use crate::strategies::Policy;

/// Number of receive buffers at the start. More receive buffers are added when none is free. At the start, only a few
/// buffers are used, so that they fit into a CPU's cache.
const BUFFERS_AT_FIRST: u16 = 64;

/// Way in which receives are posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receive {
    /// One multishot receive, which continues until the peer closes.
    Multishot,
    /// Only one receive is posted at a time.
    Single,
    /// The server posts a zero-byte receive, which completes when data arrives. After the zero-byte receive, single
    /// receives follow until the socket would block or enough bytes were read.
    Empty,
}

/// Settings of the event loop, which an I/O model chooses.
pub(crate) struct Setup {
    pub(crate) receive: Receive,
    /// Maximum number of outstanding sends.
    pub(crate) sends: u32,
    /// Maximum size of one send in bytes.
    pub(crate) send_bytes: u32,
    /// Maximum number of receive buffers. The kernel gets a few buffers at first, and more when none of these is free.
    pub(crate) buffers: u16,
    /// Size of each receive buffer in bytes.
    pub(crate) buffer_bytes: u32,
    /// True if connections are stored only in the ring's file table, without descriptors.
    pub(crate) direct: bool,
    /// Number of entries of the submission queue.
    pub(crate) entries: u32,
    /// True if each operation signals an eventfd on which the thread waits (at most 62 connections per thread).
    pub(crate) literal: bool,
}

impl Setup {
    /// Creates the ring, its receive buffers, and the watcher that reports when the kernel has freed the ring.
    pub(super) fn ring(&self) -> Result<(Ring, Buffers, RingCloseWatcher), ServeError> {
        let files = if self.direct { sys::limits::descriptors().0.clamp(1, 1 << 20) as u32 } else { 1 };
        let config = Config {
            entries: self.entries,
            completions: (self.entries * 8).clamp(256, 16_384),
            files,
            slots: self.sends,
            slot_bytes: self.send_bytes,
            buffers: self.buffers,
            buffers_at_first: BUFFERS_AT_FIRST,
            buffer_bytes: self.buffer_bytes,
            eager: self.literal,
            ..Config::default()
        };
        let os = |e| ServeError::os("make an io_uring", e);
        let (mut ring, buffers) = Ring::new(&config).map_err(os)?;
        let none = ServeError::os("make an io_uring with receive buffers", Errno::INVAL);
        let close_watcher = ring.close_watcher(files - 1).map_err(os)?;
        Ok((ring, buffers.ok_or(none)?, close_watcher))
    }
}

/// Returns true if connections work without descriptors. Strategies that report or refuse peers need descriptors.
pub(crate) fn allows_direct(policy: &Policy) -> bool {
    policy.limits.is_none() && policy.active.is_none()
}

/// Checks that this process may create an io_uring. The check creates a ring in a separate thread. The kernel frees a
/// ring in the thread that created it, and thereby interrupts system calls of that thread. System calls of the caller's
/// thread must not be interrupted.
pub(crate) fn probe() -> Result<(), ServeError> {
    let config = Config { entries: 8, buffers: 1, buffer_bytes: 64, ..Config::default() };
    let thread = std::thread::Builder::new().spawn(move || Ring::new(&config).map(drop));
    let tried = thread.map_err(|error| ServeError::no_thread(&error))?.join();
    tried
        .unwrap_or(Err(Errno::NOSYS))
        .map_err(|e| ServeError::os("make an io_uring (use model epoll where it is forbidden)", e))
}
