//! What an io_uring model asks of the loop, and whether there can be a ring at all.

use sys::Errno;
use sys::uring::{Buffers, Config, Ring, RingCloseWatcher};

use crate::ServeError;
use crate::strategies::Policy;

/// Receive buffers that are used as long as they suffice: what is filled in turn should fit into a processor's cache.
const BUFFERS_AT_FIRST: u16 = 64;

/// How receives are posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receive {
    /// One that goes on until the peer closes (multishot).
    Lasting,
    /// One at a time.
    Single,
    /// One of zero bytes; when it completes, single ones until the socket would block.
    Empty,
}

/// What a model asks of the loop.
pub(crate) struct Setup {
    pub(crate) receive: Receive,
    /// Most sends outstanding.
    pub(crate) sends: u32,
    /// Bytes of one send.
    pub(crate) send_bytes: u32,
    /// Receive buffers, and their size. The kernel is given few of them until they do not suffice.
    pub(crate) buffers: u16,
    pub(crate) buffer_bytes: u32,
    /// Connections live in the ring's table of files.
    pub(crate) direct: bool,
    /// Submission entries.
    pub(crate) entries: u32,
    /// An eventfd is signalled for each operation, and the thread waits for those (at most 62 connections).
    pub(crate) literal: bool,
}

impl Setup {
    /// The ring with its receive buffers, and who sees it go.
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

/// Whether connections may live in the ring's table only: strategies that name or refuse peers need descriptors.
pub(crate) fn direct(policy: &Policy) -> bool {
    policy.limits.is_none() && policy.active.is_none()
}

/// Whether a ring can be made here; an error says what forbids it. Tried in a thread of its own: the kernel tidies a
/// ring up in the thread that made it, which would interrupt the caller's system calls a moment later.
pub(crate) fn probe() -> Result<(), ServeError> {
    let config = Config { entries: 8, buffers: 1, buffer_bytes: 64, ..Config::default() };
    let tried = std::thread::spawn(move || Ring::new(&config).map(drop)).join();
    tried
        .unwrap_or(Err(Errno::NOSYS))
        .map_err(|e| ServeError::os("make an io_uring (use model epoll where it is forbidden)", e))
}
