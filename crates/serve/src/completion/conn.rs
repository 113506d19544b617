//! State of a connection and of an outstanding send.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use sys::uring::BufferId;

use crate::connection::{Connection, End};

/// One connection. Small: a large server has mostly idle ones.
pub(super) struct Conn {
    pub(super) state: Connection,
    pub(super) fd: Option<OwnedFd>,
    pub(super) generation: u32,
    /// A receive is posted.
    pub(super) armed: bool,
    /// The posted receive is the one of zero bytes.
    pub(super) empty: bool,
    /// The multishot receive was told to end.
    pub(super) stopping: bool,
    pub(super) sending: bool,
    pub(super) queued: bool,
    /// The peer has ended its side; the state is told once the backlog is consumed.
    pub(super) input_ended: bool,
    /// A shutdown of our side is posted. The kernel looks up the index in the table of files only when it runs.
    pub(super) ending: bool,
    /// The connection is over, and is closed once the shutdown has run.
    pub(super) over: Option<End>,
    /// Bytes read since the last receive of zero bytes.
    pub(super) drained: u32,
    /// Boxed, so that it takes 8 bytes of an idle connection instead of 32.
    #[expect(clippy::box_collection)]
    pub(super) backlog: Option<Box<VecDeque<(BufferId, u32)>>>,
}

impl Conn {
    pub(super) fn new(state: Connection, fd: Option<OwnedFd>, generation: u32) -> Self {
        Self {
            state,
            fd,
            generation,
            armed: false,
            empty: false,
            stopping: false,
            sending: false,
            queued: false,
            input_ended: false,
            ending: false,
            over: None,
            drained: 0,
            backlog: None,
        }
    }
}

/// An outstanding send.
pub(super) struct Sending {
    pub(super) index: u32,
    pub(super) generation: u32,
    pub(super) len: u32,
    pub(super) buffer: Option<BufferId>,
}
