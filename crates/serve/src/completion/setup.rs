//! Settings of an io_uring model, and the check whether a ring is allowed here.

use sys::Errno;
use sys::uring::{Buffers, Config, Ring, RingCloseWatcher};

use crate::ServeError;
use crate::strategies::Policy;

/// Number of receive buffers used as long as they suffice, so that they fit into a CPU's cache.
const BUFFERS_AT_FIRST: u16 = 64;

/// Way to post receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receive {
    /// One multishot receive that goes on until the peer closes.
    Multishot,
    /// One at a time.
    Single,
    /// One of zero bytes. When it completes, single ones follow until the socket would block.
    Empty,
}

/// Settings of a model for the loop.
pub(crate) struct Setup {
    pub(crate) receive: Receive,
    /// Maximum number of outstanding sends.
    pub(crate) sends: u32,
    /// Maximum size of one send, bytes.
    pub(crate) send_bytes: u32,
    /// Number and size of receive buffers. The kernel gets few of them at first, and more when they do not suffice.
    pub(crate) buffers: u16,
    pub(crate) buffer_bytes: u32,
    /// Connections are in the ring's table of files, without descriptors.
    pub(crate) direct: bool,
    /// Number of submission entries.
    pub(crate) entries: u32,
    /// Each operation signals an eventfd, and the thread waits for those (at most 62 connections).
    pub(crate) literal: bool,
}

impl Setup {
    /// Makes the ring, its receive buffers, and the watcher that sees it freed.
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

/// Returns whether connections may do without descriptors. Strategies that name or refuse peers need them.
pub(crate) fn allows_direct(policy: &Policy) -> bool {
    policy.limits.is_none() && policy.active.is_none()
}

/// Checks that a ring can be made here. Runs in its own thread: the kernel frees a ring in the thread that made it, which
/// would interrupt the caller's system calls a moment later.
pub(crate) fn probe() -> Result<(), ServeError> {
    let config = Config { entries: 8, buffers: 1, buffer_bytes: 64, ..Config::default() };
    let tried = std::thread::spawn(move || Ring::new(&config).map(drop)).join();
    tried
        .unwrap_or(Err(Errno::NOSYS))
        .map_err(|e| ServeError::os("make an io_uring (use model epoll where it is forbidden)", e))
}
