//! Detects the end of a ring. A kernel worker cleans up a ring some milliseconds after the ring's last descriptor was
//! closed. Until the ring is cleaned up, all sockets that its operations or its file table use stay open.
//!
//! To detect the end of the ring, this module puts the write end of a pipe into the ring's file table. Once the write
//! end of the pipe is in the ring's file table, this process closes its own descriptor of the write end. The read end
//! reports a hang-up once the ring's file table has released the write end, in the last step of the clean-up
//! (io_ring_ctx_free in io_uring/io_uring.c).

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
    /// Creates a watcher of this ring, at a free index of its table of files.
    pub fn close_watcher(&mut self, at: u32) -> Result<RingCloseWatcher> {
        let (end, kept) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        self.register_file(at, &kept)?;
        Ok(RingCloseWatcher { end })
    }
}

impl RingCloseWatcher {
    /// Waits for the end of the ring, for at most `timeout_ns` nanoseconds. Call this method after the ring was
    /// dropped. Returns true if the ring has ended.
    ///
    /// The clean-up itself may interrupt the wait, because it notifies the thread that created the ring as a signal
    /// does. An interrupted wait therefore continues.
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

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::time::{Duration, Instant};

    use crate::poll;
    use crate::uring::{Config, File, Ring};
    use crate::wake::Waker;

    /// A completion of an eager ring interrupts the system calls of the thread that created the ring.
    #[test]
    fn interruptions_do_not_end_the_wait() {
        let (mut ring, _) = match Ring::new(&Config { files: 1, eager: true, ..Config::default() }) {
            Ok(made) => made,
            Err(e) => return testkit::skip("io_uring", e),
        };
        let watcher = ring.close_watcher(0).unwrap();
        let (waker, has_waited) = (Waker::new().unwrap(), AtomicBool::new(false));
        ring.poll(File::Fd(waker.as_raw_fd()), u32::from(poll::IN as u16), true, 1).unwrap();
        ring.submit().unwrap();
        let wait = Duration::from_millis(20);
        let (has_ended, waited) = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !has_waited.load(Relaxed) {
                    waker.wake();
                }
            });
            let begin = Instant::now();
            let has_ended = watcher.wait(wait.as_nanos() as u64);
            has_waited.store(true, Relaxed);
            (has_ended, begin.elapsed())
        });
        assert!(!has_ended, "the ring still exists");
        assert!(waited >= wait, "the wait ended after {waited:?} of {wait:?}");
    }
}
