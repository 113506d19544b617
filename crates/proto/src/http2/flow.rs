//! Windows (RFC 9113, section 5.2): what the peer may send us, and what we may send the peer.

use super::frame::{self, MOST_WINDOW};
use crate::Fault;

/// What the server may have on its way on one stream, and on all together.
pub(super) const STREAM_WINDOW: u32 = 1 << 24;
pub(super) const CONNECTION_WINDOW: u32 = 1 << 30;

const BEYOND: Fault = Fault::Malformed("a window of HTTP/2 that is larger than 2^31-1");
const OVERRUN: Fault = Fault::Malformed("the peer sends more than its window allows");

/// Whether a fault is one of this file, which the other side is told by a code of its own (section 7).
pub(super) fn is_of_windows(fault: &Fault) -> bool {
    [BEYOND, OVERRUN].contains(fault)
}

/// What the peer still may send; given back once half of it is used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Received {
    window: u32,
    used: u32,
}

impl Default for Received {
    /// Of a connection.
    fn default() -> Self {
        Self { window: CONNECTION_WINDOW, used: 0 }
    }
}

impl Received {
    /// Of a stream.
    pub(super) const fn stream() -> Self {
        Self { window: STREAM_WINDOW, used: 0 }
    }

    /// So many bytes came.
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), Fault> {
        self.used = self.used.saturating_add(bytes as u32);
        if self.used > self.window { Err(OVERRUN) } else { Ok(()) }
    }

    /// Allows further bytes where they run short.
    pub(super) fn give_back(&mut self, to: &mut Vec<u8>, stream: u32) {
        if self.used > self.window / 2 {
            frame::write(to, frame::WINDOW_UPDATE, 0, stream, &self.used.to_be_bytes());
            self.used = 0;
        }
    }
}

/// What we still may send on the connection, and what a new stream may.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    pub(super) window: i64,
    pub(super) initial: i64,
}

impl Default for Sending {
    fn default() -> Self {
        Self { window: 65_535, initial: 65_535 }
    }
}

impl Sending {
    pub(super) fn widen(&mut self, by: u32) -> Result<(), Fault> {
        self.window += i64::from(by);
        if self.window > MOST_WINDOW { Err(BEYOND) } else { Ok(()) }
    }

    /// The peer sets the window of new streams; by how much those that are open change.
    pub(super) fn set_initial(&mut self, value: u32) -> Result<i64, Fault> {
        if i64::from(value) > MOST_WINDOW {
            return Err(BEYOND);
        }
        let change = i64::from(value) - self.initial;
        self.initial = i64::from(value);
        Ok(change)
    }
}

/// Adds to the window of a stream.
pub(super) fn widen(window: &mut i64, by: i64) -> Result<(), Fault> {
    *window += by;
    if *window > MOST_WINDOW { Err(BEYOND) } else { Ok(()) }
}
