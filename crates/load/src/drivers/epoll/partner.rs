//! The socketpair between the two processes of two-process S-Clients. The first process establishes connections and
//! sends them through the socketpair to the second process, with messages about each new phase.

use std::cell::Cell;
use std::os::fd::{AsFd as _, OwnedFd};
use std::rc::Rc;

use run::Phase;
use sys::{Errno, clock, pass};

use crate::driver::Start;

/// Link to the other process.
#[derive(Debug)]
pub(crate) struct Partner {
    pub(super) end: OwnedFd,
    /// Free connection indexes. Used only in the process that handles connections, where the driver assigns the
    /// connection indexes.
    pub(super) free: Vec<u32>,
    pub(super) handles: bool,
    /// True while the process that handles connections has no free connection index, so messages may wait in the
    /// socketpair.
    pub(super) behind: bool,
    pub(super) message: Rc<Cell<PartnerMessage>>,
}

/// Latest message about a phase from the process that establishes connections. `gone` is true if the process that
/// establishes connections has ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PartnerMessage {
    pub(crate) phase: Phase,
    pub(crate) at_ns: u64,
    pub(crate) gone: bool,
}

/// Epoll token of the socketpair. The token of the socketpair differs from all connection indexes.
pub(super) const PARTNER_TOKEN: u64 = u64::MAX;
// Kinds of messages: a connection, and the start of a phase.
pub(super) const CONNECTION_MESSAGE: u8 = 1;
pub(super) const PHASE_MESSAGE: u8 = 2;

fn message(kind: u8, small: u8, values: [u64; 2]) -> [u8; pass::MESSAGE_BYTES] {
    let mut bytes = [0; pass::MESSAGE_BYTES];
    (bytes[0], bytes[1]) = (kind, small);
    bytes[8..].chunks_exact_mut(8).zip(values).for_each(|(to, value)| to.copy_from_slice(&value.to_ne_bytes()));
    bytes
}

impl Partner {
    /// Creates the link of the process that establishes connections and passes them to the other process.
    pub(super) fn establishing(end: OwnedFd) -> Self {
        Self { end, free: Vec::new(), handles: false, behind: false, message: Rc::default() }
    }

    /// Creates the link of the process that handles connections, which has `capacity` connection indexes.
    pub(super) fn handling(end: OwnedFd, capacity: u32) -> Self {
        Self { end, free: (0..capacity).rev().collect(), handles: true, behind: true, message: Rc::default() }
    }

    /// Returns the cell with the latest message about a phase from the process that establishes connections.
    pub(super) fn message(&self) -> Rc<Cell<PartnerMessage>> {
        Rc::clone(&self.message)
    }

    pub(super) fn behind(&self) -> bool {
        self.behind
    }

    /// Frees the number of a closed connection, in the process that handles connections.
    #[inline]
    pub(super) fn give_back(&mut self, conn: u32) {
        if self.handles {
            self.free.push(conn);
        }
    }

    pub(super) fn pass_on(&self, fd: &OwnedFd, start: Start) -> Result<(), Errno> {
        pass::send(&self.end, &message(CONNECTION_MESSAGE, 0, [start.intended_ns, start.sent_ns]), Some(fd.as_fd()))
    }

    pub(super) fn tell(&self, phase: Phase, at_ns: u64) {
        if self.handles {
            return;
        }
        // Messages about phases are rare and must arrive. While the process that handles connections is behind, sending
        // is therefore repeated until it succeeds.
        while pass::send(&self.end, &message(PHASE_MESSAGE, phase as u8, [at_ns, 0]), None) == Err(Errno::AGAIN) {
            clock::sleep_until_ns(clock::monotonic_ns() + 100_000);
        }
    }
}
