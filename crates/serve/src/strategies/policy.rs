//! What strategies ask of models.

use crate::conn::ReadTurn;
use crate::{Options, ServeError};

/// What a strategy asks of a model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    pub(crate) read: ReadTurn,
    /// Whether buffers are taken only once there is something to read (completion models).
    pub(crate) lazy_buffers: bool,
    pub(crate) active: Option<Active>,
    pub(crate) limits: Option<Limits>,
    /// How long the head of a request may take; 0: for ever. Every strategy has it.
    pub(crate) head_ms: u32,
}

/// How long the head of a request may take, milliseconds.
const HEAD_MS: u32 = 10_000;

/// The time that the options allow for the head of a request, milliseconds; 0: any.
pub(crate) fn head_ms(options: &Options<'_>) -> Result<u32, ServeError> {
    Ok(options.get("header_timeout_ms")?.unwrap_or(HEAD_MS))
}

impl Policy {
    /// No strategy: read what one call gives, four pieces at most in a turn.
    pub(crate) const NONE: Self = Self {
        read: ReadTurn { bytes: 4 * crate::conn::PIECE, drain: false },
        lazy_buffers: false,
        active: None,
        limits: None,
        head_ms: HEAD_MS,
    };
}

/// The bounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Active {
    pub(crate) places: u32,
    pub(crate) idle_ms: u32,
    pub(crate) waiting: Option<u32>,
    pub(crate) refuse: Refuse,
}

/// How a connection is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refuse {
    Busy,
    Close,
    Reset,
}

/// The bounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) sends: u32,
    pub(crate) unsent_ms: u32,
    pub(crate) silent_ms: u32,
}

/// Why a limit closes a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    Unread,
    Silent,
    /// The head of its request took too long (not a limit of this strategy: every one has it).
    Slow,
}

impl Limits {
    /// Whether a connection is over a limit. Times are milliseconds of the server's clock; `blocked_ms` is 0 when no
    /// output waits.
    pub(crate) fn over(&self, now_ms: u32, heard_ms: u32, blocked_ms: u32) -> Option<Over> {
        if blocked_ms != 0 && now_ms.saturating_sub(blocked_ms) >= self.unsent_ms {
            return Some(Over::Unread);
        }
        // While output waits it is the server that is silent.
        (blocked_ms == 0 && now_ms.saturating_sub(heard_ms) >= self.silent_ms).then_some(Over::Silent)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_head_of_a_request_has_a_time_without_being_asked() {
        let none = BTreeMap::new();
        assert_eq!(head_ms(&Options::new(&none).unwrap()).unwrap(), 10_000);
        assert_eq!(Policy::NONE.head_ms, 10_000);
    }
}
