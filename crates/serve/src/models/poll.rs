//! poll(2): in every wait, the whole list of descriptors is copied to the kernel and back. Unlike select, poll supports
//! descriptor numbers of any size. The model has one thread.
//!
//! Cost of an event: its share of two scans of all connections, one in the kernel and one in this process. All events
//! of one wake-up share one scan in the kernel and one scan in this process.

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

use sys::poll::{self, Entry};

use super::launch::Launch;
use crate::ServeError;
use crate::ready::Want;
use crate::ready::{Readiness, Ready, Worker};

pub(super) fn start(launch: &Launch<'_>) -> Result<SocketAddr, ServeError> {
    launch.one_thread("poll", PollList::default)
}

/// List of descriptors, in the order in which they were added. When a descriptor is removed, the last descriptor takes
/// its position.
#[derive(Default)]
pub(super) struct PollList {
    entries: Vec<Entry>,
    tokens: Vec<u32>,
    /// True if a wait reports only the ready descriptor with the lowest index (model `event-groups` without `fair`).
    pub(super) lowest_only: bool,
}

impl PollList {
    fn place(&self, token: u32) -> Option<usize> {
        self.tokens.iter().position(|t| *t == token)
    }
}

fn events(want: Want) -> i16 {
    (if want.read { poll::IN } else { 0 }) | (if want.write { poll::OUT } else { 0 })
}

impl Readiness for PollList {
    const EDGE: bool = false;

    fn add(&mut self, fd: BorrowedFd<'_>, token: u32, want: Want) -> sys::Result<()> {
        self.entries.push(Entry::new(fd.as_raw_fd(), events(want)));
        self.tokens.push(token);
        Ok(())
    }

    fn change(&mut self, _fd: BorrowedFd<'_>, token: u32, want: Want) -> sys::Result<()> {
        if let Some(at) = self.place(token) {
            self.entries[at].ask(events(want));
        }
        Ok(())
    }

    fn remove(&mut self, _fd: BorrowedFd<'_>, token: u32) {
        if let Some(at) = self.place(token) {
            self.entries.swap_remove(at);
            self.tokens.swap_remove(at);
        }
    }

    fn wait(&mut self, timeout_ns: Option<u64>, ready: &mut Vec<Ready>) -> sys::Result<()> {
        poll::poll(&mut self.entries, timeout_ns)?;
        let found = self.entries.iter().zip(&self.tokens).filter(|(e, _)| e.found() != 0).map(|(e, token)| Ready {
            token: *token,
            read: e.found() & poll::IN != 0,
            gone: e.found() & (poll::HUP | poll::ERR) != 0,
        });
        ready.extend(found.take(if self.lowest_only { 1 } else { usize::MAX }));
        Ok(())
    }
}

/// Creates the descriptor list for one thread of the model `event-groups`. Unless `fair` is set, a wait reports only
/// the ready descriptor with the lowest index, as WSAWaitForMultipleEvents does.
pub(super) fn group(fair: bool) -> PollList {
    PollList { lowest_only: !fair, ..PollList::default() }
}

/// Runs the event loop of one thread of the model `event-groups`, which also uses poll(2). The function [`group`]
/// explains the argument `fair`.
pub(super) fn run(shard: crate::shard::ShardSetup, fair: bool) -> Result<(), ServeError> {
    Worker::new(shard, group(fair)).run()
}
