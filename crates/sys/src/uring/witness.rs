//! How one learns that a ring is gone. The kernel tidies a ring up in a worker of its own, some milliseconds after the
//! last descriptor of it was closed; until then it keeps every socket that an operation or the table of files names.
//!
//! The writing end of a pipe is put into the table and closed here. The reading end tells of a hang-up once the table has
//! let go of it, which is the last thing that the kernel does (io_ring_ctx_free in io_uring/io_uring.c).

use std::os::fd::{AsRawFd as _, OwnedFd};

use super::Ring;
use crate::Result;
use crate::poll::{self, Entry};

/// Sees a ring go.
#[derive(Debug)]
pub struct Witness {
    end: OwnedFd,
}

impl Ring {
    /// A witness of this ring, at a free place of its table of files.
    pub fn witness(&mut self, at: u32) -> Result<Witness> {
        let (end, kept) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        self.register_file(at, &kept)?;
        Ok(Witness { end })
    }
}

impl Witness {
    /// Waits at most `timeout_ns` after the ring was dropped; whether it is gone.
    pub fn wait(&self, timeout_ns: u64) -> bool {
        let mut entries = [Entry::new(self.end.as_raw_fd(), poll::IN)];
        poll::poll(&mut entries, Some(timeout_ns)).is_ok() && entries[0].found() & poll::HUP != 0
    }
}
