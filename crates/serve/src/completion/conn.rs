//! What the loop keeps of a connection and of a send on its way.

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
    /// What is posted is the empty receive.
    pub(super) empty: bool,
    /// The lasting receive was told to end.
    pub(super) stopping: bool,
    pub(super) sending: bool,
    pub(super) queued: bool,
    /// The peer has ended its side; the state is told once the backlog is consumed.
    pub(super) input_ended: bool,
    /// Our side is being ended in the kernel, which looks the place in the table up when it gets to it.
    pub(super) ending: bool,
    /// It is over, and closed once our side has ended.
    pub(super) over: Option<End>,
    /// Bytes drained since the last empty receive.
    pub(super) drained: u32,
    /// Boxed: 8 bytes of every idle connection instead of 32.
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

/// A send on its way.
pub(super) struct Sending {
    pub(super) index: u32,
    pub(super) generation: u32,
    pub(super) len: u32,
    pub(super) buffer: Option<BufferId>,
}
