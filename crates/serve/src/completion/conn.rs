//! State of a connection and of an outstanding send.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use sys::uring::BufferId;

use crate::connection::{Connection, End};

/// State of one connection. The type is small, because a large server has mostly idle connections.
pub(super) struct Conn {
    pub(super) state: Connection,
    pub(super) fd: Option<OwnedFd>,
    pub(super) generation: u32,
    /// True if a receive operation is posted.
    pub(super) armed: bool,
    /// True if the posted receive is a zero-byte receive.
    pub(super) empty: bool,
    /// True if the multishot receive is being cancelled.
    pub(super) stopping: bool,
    pub(super) sending: bool,
    pub(super) queued: bool,
    /// True if the peer has closed its side. The session is told that the peer has closed only after it has processed
    /// the backlog of received data.
    pub(super) input_ended: bool,
    /// True while a shutdown of the server's side is posted. The kernel looks up the file by the connection's index
    /// when the shutdown runs, so the connection must keep its index until then.
    pub(super) ending: bool,
    /// Reason why the connection has ended, if a posted shutdown has not run yet. The socket is closed after the
    /// shutdown has run.
    pub(super) over: Option<End>,
    /// Number of bytes read since the last zero-byte receive.
    pub(super) drained: u32,
    /// Received data that waits until a send has completed. In an idle connection, the box takes 8 bytes, whereas the
    /// queue itself would take 32 bytes.
    #[expect(clippy::box_collection)]
    pub(super) backlog: Option<Box<VecDeque<Waiting>>>,
}

/// Received data that waits until a send has completed.
pub(super) enum Waiting {
    /// The data is still in its receive buffer. The number is the length of the data in bytes.
    Buffer(BufferId, u32),
    /// The data was copied, and its receive buffer was returned to the kernel.
    Copy(Box<[u8]>),
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

/// A send that has been posted but has not completed yet.
pub(super) struct Sending {
    pub(super) index: u32,
    pub(super) generation: u32,
    pub(super) len: u32,
    /// Receive buffer that is sent back as an echo.
    pub(super) buffer: Option<BufferId>,
}
