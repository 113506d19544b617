//! limits: what may be outstanding, and whom the server gives up. A peer that sends and never reads leaves output that
//! never leaves: after `unsent_ms` without progress it is closed, counted and named. A peer that says nothing for
//! `silent_ms` is closed too. In each thread (the source's server has one) at most `sends` connections may have output
//! outstanding; while there are that many, the others are not read.

use super::Policy;
use crate::{Options, ServeError};

/// Outstanding sends at once, as in the source.
pub(crate) const SENDS: u32 = 200;

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

pub(super) fn policy(options: &Options<'_>) -> Result<Policy, ServeError> {
    let limits = Limits {
        sends: options.get("sends")?.unwrap_or(SENDS).max(1),
        unsent_ms: options.get("unsent_ms")?.unwrap_or(5000),
        silent_ms: options.get("silent_ms")?.unwrap_or(30_000),
    };
    Ok(Policy { limits: Some(limits), ..Policy::NONE })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_over_by_one_limit_at_a_time() {
        let l = Limits { sends: 1, unsent_ms: 100, silent_ms: 50 };
        assert_eq!(l.over(1000, 960, 0), None);
        assert_eq!(l.over(1000, 950, 0), Some(Over::Silent));
        assert_eq!(l.over(1000, 0, 950), None);
        assert_eq!(l.over(1000, 0, 900), Some(Over::Unread));
    }
}
