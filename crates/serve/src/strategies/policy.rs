//! Policies: the rules that a strategy sets for an I/O model.

use crate::{Options, ServeError};

/// Limits on reading from a connection in one turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadTurn {
    /// Maximum number of bytes to read from a connection in one turn.
    pub(crate) bytes: usize,
    /// True to continue reading until the socket has no more data. False to stop after a read that returned fewer bytes
    /// than requested.
    pub(crate) drain: bool,
}

/// Rules that a strategy sets for an I/O model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    pub(crate) read: ReadTurn,
    /// True to choose a buffer only when data has arrived (completion models).
    pub(crate) lazy_buffers: bool,
    pub(crate) active: Option<Active>,
    pub(crate) limits: Option<Limits>,
    /// Maximum time for the head of a request, milliseconds; 0 for no limit. The maximum time for the head applies with
    /// all strategies.
    pub(crate) head_ms: u32,
}

/// Default maximum time for the head of a request, milliseconds.
const HEAD_MS: u32 = 10_000;

/// Returns the maximum time for the head of a request, milliseconds; 0 for no limit.
pub(crate) fn head_ms(options: &Options<'_>) -> Result<u32, ServeError> {
    Ok(options.get("header_timeout_ms")?.unwrap_or(HEAD_MS))
}

impl Policy {
    /// Policy of a server without a strategy. In one turn, a connection is read at most four times, up to 64 KiB each
    /// time. A read that returns fewer bytes than requested (a short read) is the last read of the turn. In an
    /// edge-triggered model, a short read is not the last read of the turn if the peer has closed its side.
    pub(crate) const NONE: Self = Self {
        read: ReadTurn { bytes: 4 * crate::connection::PIECE_BYTES, drain: false },
        lazy_buffers: false,
        active: None,
        limits: None,
        head_ms: HEAD_MS,
    };
}

/// Settings of the strategy `high-throughput`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Active {
    pub(crate) slots: u32,
    pub(crate) idle_ms: u32,
    pub(crate) waiting: Option<u32>,
    pub(crate) refuse: Refuse,
}

/// Method of refusing a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refuse {
    Busy,
    Close,
    Reset,
}

/// Settings of the strategy `limits`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) sends: u32,
    pub(crate) unsent_ms: u32,
    pub(crate) silent_ms: u32,
}

/// Limit because of which a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LimitHit {
    /// The peer does not read its answers.
    Unread,
    Silent,
    /// The head of a request took too long. The maximum time for a request head applies with all strategies.
    SlowHead,
}

impl LimitHit {
    /// Returns a description of what the peer does, for messages to the user.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Unread => "sends and does not read",
            Self::Silent => "is silent",
            Self::SlowHead => "takes too long for a request's head",
        }
    }
}

impl Limits {
    /// Returns the limit that a connection exceeds, if any. All times are in milliseconds of the monotonic clock;
    /// `blocked_ms` is 0 if no output waits.
    pub(crate) fn hit(&self, now_ms: u32, heard_ms: u32, blocked_ms: u32) -> Option<LimitHit> {
        if blocked_ms != 0 && now_ms.saturating_sub(blocked_ms) >= self.unsent_ms {
            return Some(LimitHit::Unread);
        }
        // The limit for silent peers does not apply while output waits. A peer that still waits for answers need not
        // send anything.
        (blocked_ms == 0 && now_ms.saturating_sub(heard_ms) >= self.silent_ms).then_some(LimitHit::Silent)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_head_of_a_request_has_a_default_time_limit() {
        let none = BTreeMap::new();
        assert_eq!(head_ms(&Options::new(&none).unwrap()).unwrap(), 10_000);
        assert_eq!(Policy::NONE.head_ms, 10_000);
    }
}
