//! Flow-control windows (RFC 9113, section 5.2): how many bytes the peer may send to us, and how many we may send to
//! the peer.

use super::frame::{self, MAX_WINDOW};
use crate::Fault;

/// Receive window of one stream: maximum number of bytes that the peer may send on the stream before a WINDOW_UPDATE.
pub(super) const STREAM_WINDOW: u32 = 1 << 24;
/// Receive window of the connection: maximum number of bytes that the peer may send on all streams together before a
/// WINDOW_UPDATE.
pub(super) const CONNECTION_WINDOW: u32 = 1 << 30;

const BEYOND: Fault = Fault::Malformed("a window of HTTP/2 that is larger than 2^31-1");
const OVERRUN: Fault = Fault::Malformed("the peer sends more than its window allows");

/// Returns true for a fault of flow control. Faults of flow control have their own error code (section 7).
pub(super) fn is_of_windows(fault: &Fault) -> bool {
    [BEYOND, OVERRUN].contains(fault)
}

/// Receive window: its size, and the number of bytes that the peer has used up. The receive window is extended when
/// more than half of it is used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Received {
    window: u32,
    used: u32,
}

impl Default for Received {
    /// Creates the receive window of a connection.
    fn default() -> Self {
        Self { window: CONNECTION_WINDOW, used: 0 }
    }
}

impl Received {
    /// Creates the receive window of a stream.
    pub(super) const fn stream() -> Self {
        Self { window: STREAM_WINDOW, used: 0 }
    }

    /// Counts received bytes, and returns an error if the peer sent more than the window allows.
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), Fault> {
        self.used = self.used.saturating_add(bytes as u32);
        if self.used > self.window { Err(OVERRUN) } else { Ok(()) }
    }

    /// Writes a WINDOW_UPDATE for `stream` (0 for the connection) if more than half of the window is used.
    pub(super) fn give_back(&mut self, to: &mut Vec<u8>, stream: u32) {
        if self.used > self.window / 2 {
            frame::write(to, frame::WINDOW_UPDATE, 0, stream, &self.used.to_be_bytes());
            self.used = 0;
        }
    }
}

/// Number of bytes that we may still send on the connection, and initial window of each new stream.
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
        if self.window > MAX_WINDOW { Err(BEYOND) } else { Ok(()) }
    }

    /// Sets the initial window that the peer gives to new streams. Returns the difference from the previous initial
    /// window; the caller changes the windows of open streams by this difference.
    pub(super) fn set_initial(&mut self, value: u32) -> Result<i64, Fault> {
        if i64::from(value) > MAX_WINDOW {
            return Err(BEYOND);
        }
        let change = i64::from(value) - self.initial;
        self.initial = i64::from(value);
        Ok(change)
    }
}

/// Changes a stream's send window by `by` bytes. `by` is negative if the peer lowered its initial window.
pub(super) fn widen(window: &mut i64, by: i64) -> Result<(), Fault> {
    *window += by;
    if *window > MAX_WINDOW { Err(BEYOND) } else { Ok(()) }
}
