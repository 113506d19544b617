//! The socketpair of a two-process S-Client: the establishing side passes connections over it and tells the phases, the
//! handling side adopts them.

use std::cell::Cell;
use std::os::fd::{AsFd as _, OwnedFd};
use std::rc::Rc;

use run::Phase;
use sys::{Errno, clock, pass};

use crate::driver::Start;

/// The way to the other process, and on the handling side what came over it.
#[derive(Debug)]
pub(crate) struct Partner {
    pub(super) end: OwnedFd,
    /// Numbers without a connection; only the handling side gives them itself.
    pub(super) free: Vec<u32>,
    pub(super) handles: bool,
    /// Something waits in the socketpair that no number was free for.
    pub(super) behind: bool,
    pub(super) told: Rc<Cell<Told>>,
}

/// What the establishing process said last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Told {
    pub(crate) phase: Phase,
    pub(crate) at_ns: u64,
    pub(crate) gone: bool,
}

/// The number of the socketpair among the connections.
pub(super) const PARTNER: u64 = u64::MAX;
// Kinds of messages.
pub(super) const CONNECTION: u8 = 1;
pub(super) const PHASE: u8 = 2;

fn message(kind: u8, small: u8, values: [u64; 2]) -> [u8; pass::MESSAGE] {
    let mut bytes = [0; pass::MESSAGE];
    (bytes[0], bytes[1]) = (kind, small);
    bytes[8..].chunks_exact_mut(8).zip(values).for_each(|(to, value)| to.copy_from_slice(&value.to_ne_bytes()));
    bytes
}

impl Partner {
    /// The establishing side: connections can be passed to the process at the other end.
    pub(super) fn establishing(end: OwnedFd) -> Self {
        Self { end, free: Vec::new(), handles: false, behind: false, told: Rc::default() }
    }

    /// The handling side, with numbers for so many connections.
    pub(super) fn handling(end: OwnedFd, capacity: u32) -> Self {
        Self { end, free: (0..capacity).rev().collect(), handles: true, behind: true, told: Rc::default() }
    }

    /// Where what the establishing side says of phases appears.
    pub(super) fn told(&self) -> Rc<Cell<Told>> {
        Rc::clone(&self.told)
    }

    pub(super) fn behind(&self) -> bool {
        self.behind
    }

    /// A number whose connection has gone.
    #[inline]
    pub(super) fn give_back(&mut self, conn: u32) {
        if self.handles {
            self.free.push(conn);
        }
    }

    pub(super) fn pass_on(&self, fd: &OwnedFd, start: Start) -> Result<(), Errno> {
        pass::send(&self.end, &message(CONNECTION, 0, [start.intended_ns, start.sent_ns]), Some(fd.as_fd()))
    }

    pub(super) fn tell(&self, phase: Phase, at_ns: u64) {
        if self.handles {
            return;
        }
        // A few times in a run, and the other side must hear of it: wait while it is behind.
        while pass::send(&self.end, &message(PHASE, phase as u8, [at_ns, 0]), None) == Err(Errno::AGAIN) {
            clock::sleep_until_ns(clock::monotonic_ns() + 100_000);
        }
    }
}
