//! Detects the end of a ring. A kernel worker cleans up a ring some milliseconds after the ring's last descriptor was
//! closed. Until the ring is cleaned up, all sockets that its operations or its file table use stay open.
//!
//! To detect the end of the ring, this module puts the write end of a pipe into the ring's file table. This process
//! then closes its own descriptor of the write end. The read end reports a hang-up once the ring's file table has
//! released the write end. This is the last step of the clean-up (io_ring_ctx_free in io_uring/io_uring.c).

use std::os::fd::{AsRawFd as _, OwnedFd};

use super::Ring;
use crate::Result;
use crate::poll::{self, Entry};

/// Watches for the end of a ring.
#[derive(Debug)]
pub struct RingCloseWatcher {
    end: OwnedFd,
}

impl Ring {
    /// Creates a watcher of the ring, at a free index of the ring's table of files.
    pub fn close_watcher(&mut self, at: u32) -> Result<RingCloseWatcher> {
        let (end, kept) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        self.register_file(at, &kept)?;
        Ok(RingCloseWatcher { end })
    }
}

impl RingCloseWatcher {
    /// Waits for the end of the ring, for at most `timeout_ns` nanoseconds. Call this method after the ring was
    /// dropped. Returns true if the ring has ended.
    /// A signal does not end the wait.
    pub fn wait(&self, timeout_ns: u64) -> bool {
        let deadline_ns = crate::clock::monotonic_ns().saturating_add(timeout_ns);
        let mut entries = [Entry::new(self.end.as_raw_fd(), poll::IN)];
        loop {
            let left_ns = deadline_ns.saturating_sub(crate::clock::monotonic_ns());
            match poll::poll(&mut entries, Some(left_ns)) {
                Ok(0) if left_ns > 0 => {}
                Ok(_) => return entries[0].found() & poll::HUP != 0,
                Err(_) => return false,
            }
        }
    }
}
