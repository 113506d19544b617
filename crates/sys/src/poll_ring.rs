//! An io_uring that only waits for readiness, by multishot polls of descriptor numbers. The kernel reports multishot
//! polls edge-triggered. A poll continues until it is disarmed, or until one of its completions has `more` set to
//! false.
//!
//! An armed poll keeps its file open in the kernel, so a poll must be disarmed before its descriptor is closed. Source:
//! io_uring_enter(2), IORING_OP_POLL_ADD and IORING_OP_ASYNC_CANCEL, io_uring/poll.c.

use std::os::fd::RawFd;

use io_uring::{IoUring, cqueue, opcode, squeue, types};

use crate::{Errno, Result};

/// Token of requests whose completions this module ignores. A poll must not use `IGNORED_TOKEN`.
const IGNORED_TOKEN: u64 = u64::MAX;

/// Moment at which the kernel turns wake-ups into completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskRun {
    /// Whenever the thread that created the ring returns from the kernel, after any system call.
    Cooperative,
    /// Only while the thread that created the ring waits on it (IORING_SETUP_DEFER_TASKRUN).
    Deferred,
}

/// An io_uring that is used only for polls. Only the thread that created the ring may use it.
pub struct PollRing {
    ring: IoUring,
}

impl std::fmt::Debug for PollRing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PollRing")
    }
}

/// A completion: the report of a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Token that was passed when the poll was armed.
    pub token: u64,
    /// The reported `POLL…` bits, or the error that ended the poll.
    pub outcome: Result<u32>,
    /// True if the poll continues.
    pub more: bool,
}

impl Drop for PollRing {
    /// Ends all polls immediately. Without the code in `drop`, the kernel would end the polls some milliseconds later.
    /// An armed poll keeps its file open, so a listening socket would keep its port until its poll has ended.
    fn drop(&mut self) {
        let limit = types::Timespec::new().sec(1);
        let _ = self.ring.submitter().register_sync_cancel(Some(limit), types::CancelBuilder::any());
        // A poll releases its file when the kernel posts the last completion of the poll. The kernel posts the last
        // completions of the polls when this process enters the kernel.
        let _ = self.ring.submitter().submit_with_args(0, &types::SubmitArgs::new());
    }
}

impl PollRing {
    /// Creates a ring with room for `batch` requests. When `batch` requests are queued, the ring submits them to the
    /// kernel.
    pub fn new(batch: u32, work: TaskRun) -> Result<Self> {
        let mut builder = IoUring::builder();
        builder.setup_cqsize(batch.max(64) * 32).setup_clamp().setup_single_issuer();
        match work {
            TaskRun::Cooperative => builder.setup_coop_taskrun().setup_taskrun_flag(),
            TaskRun::Deferred => builder.setup_defer_taskrun().setup_taskrun_flag(),
        };
        let ring: IoUring = builder.build(batch.max(1)).map_err(errno)?;
        // If the ring is registered, the kernel need not look up the ring's descriptor in every call. Kernels before
        // 5.18 cannot register the ring, which is harmless.
        let _ = ring.submitter().register_ring_fd();
        Ok(Self { ring })
    }

    /// Arms a poll for `events` (`POLL…` bits) of `fd`. The kernel receives the request at the next [`PollRing::enter`]
    /// or when the batch is full. If the descriptor is already ready, the poll completes immediately.
    #[inline]
    pub fn arm(&mut self, fd: RawFd, token: u64, events: u32) -> Result<()> {
        self.push(&opcode::PollAdd::new(types::Fd(fd), events).multi(true).build().user_data(token))
    }

    /// Disarms the poll that has the token `token`. [`PollRing::reap`] may still return completions that the poll
    /// produced earlier.
    #[inline]
    pub fn disarm(&mut self, token: u64) -> Result<()> {
        // IORING_OP_POLL_REMOVE is unsuitable: it fails with EALREADY while the poll is about to report, and leaves the
        // poll armed. If the poll stayed armed, the file of a closed descriptor would stay open forever. An async
        // cancel works even while the poll is about to report.
        let remove = opcode::AsyncCancel::new(token).build().user_data(IGNORED_TOKEN);
        self.push(&remove.flags(squeue::Flags::SKIP_SUCCESS))
    }

    fn push(&mut self, entry: &squeue::Entry) -> Result<()> {
        for _ in 0..2 {
            // SAFETY: polls and cancellations pass only numbers and refer to no memory.
            if unsafe { self.ring.submission().push(entry) }.is_ok() {
                return Ok(());
            }
            self.submit()?;
        }
        Err(Errno::BUSY)
    }

    /// Returns true if the kernel must be entered for submissions or completions.
    #[inline]
    pub fn wants_enter(&mut self) -> bool {
        let queue = self.ring.submission();
        !queue.is_empty() || queue.taskrun() || queue.cq_overflow()
    }

    /// Submits all queued polls and cancellations, and collects completions, without waiting.
    pub fn submit(&mut self) -> Result<()> {
        done(self.ring.submit())
    }

    /// Submits all queued polls and cancellations, and waits until a completion arrives or `timeout_ns` nanoseconds
    /// have passed (`None`: no limit). A signal ends the wait early.
    pub fn enter(&mut self, timeout_ns: Option<u64>) -> Result<()> {
        match timeout_ns {
            Some(0) => self.submit(),
            None => done(self.ring.submit_and_wait(1)),
            Some(ns) => {
                let span = types::Timespec::new().sec(ns / 1_000_000_000).nsec((ns % 1_000_000_000) as u32);
                done(self.ring.submitter().submit_with_args(1, &types::SubmitArgs::new().timespec(&span)))
            }
        }
    }

    /// Takes the completions that are available, without a system call.
    #[inline]
    pub fn reap(&mut self, mut each: impl FnMut(Completion)) {
        for entry in self.ring.completion() {
            if entry.user_data() != IGNORED_TOKEN {
                each(read(&entry));
            }
        }
    }
}

#[inline]
fn read(entry: &cqueue::Entry) -> Completion {
    let outcome = u32::try_from(entry.result()).map_err(|_| Errno::from_raw_os_error(-entry.result()));
    Completion { token: entry.user_data(), outcome, more: cqueue::more(entry.flags()) }
}

fn done(outcome: std::io::Result<usize>) -> Result<()> {
    match outcome.map_err(errno) {
        // A timeout, a signal and a full completion queue are no errors: in all these cases, the caller reaps the
        // completions next.
        Ok(_) | Err(Errno::TIME | Errno::INTR | Errno::BUSY | Errno::AGAIN) => Ok(()),
        Err(e) => Err(e),
    }
}

fn errno(e: std::io::Error) -> Errno {
    Errno::from_io_error(&e).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;

    fn all(ring: &mut PollRing) -> Vec<Completion> {
        let mut list = Vec::new();
        ring.reap(|c| list.push(c));
        list
    }

    #[test]
    fn a_poll_reports_each_arrival_until_disarmed() {
        for work in [TaskRun::Cooperative, TaskRun::Deferred] {
            let Ok(mut ring) = PollRing::new(8, work) else {
                return testkit::skip("a_poll_reports_each_arrival_until_disarmed", "no io_uring here");
            };
            let (mut a, mut b) = std::os::unix::net::UnixStream::pair().unwrap();
            ring.arm(a.as_raw_fd(), 7, crate::poll::IN as u32).unwrap();
            ring.enter(Some(0)).unwrap();
            assert_eq!(all(&mut ring), []);
            for _ in 0..2 {
                b.write_all(b"x").unwrap();
                ring.enter(Some(1_000_000_000)).unwrap();
                let got = all(&mut ring);
                assert_eq!((got[0].token, got[0].more), (7, true), "{got:?}");
                assert_eq!(got[0].outcome.unwrap() & 1, 1);
                a.read_exact(&mut [0]).unwrap();
            }
            ring.disarm(7).unwrap();
            ring.submit().unwrap();
            b.write_all(b"x").unwrap();
            ring.enter(Some(1_000_000)).unwrap();
            assert!(all(&mut ring).iter().all(|c| !c.more));
            b.write_all(b"x").unwrap();
            ring.enter(Some(1_000_000)).unwrap();
            assert_eq!(all(&mut ring), []);
        }
    }
}
