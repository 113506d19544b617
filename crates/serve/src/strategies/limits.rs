//! Strategy `limits`: limits the amount of waiting output, and closes the connections of peers that do not read or do
//! not send.
//!
//! If none of a peer's waiting output could be sent for `unsent_ms`, the peer's connection is closed, counted and
//! reported. If a peer sends nothing for `silent_ms`, its connection is closed, counted and reported, too. In each
//! thread, at most `sends` connections may have waiting output. When `sends` connections have waiting output, the
//! thread reads from no other connection. (The server of the Windows study (Jones and Deshpande, 2000) has one thread.)

use super::policy::{Limits, Policy};
use crate::{Options, ServeError};

/// Default maximum number of outstanding sends, as in the Windows study (Jones and Deshpande, 2000).
pub(crate) const SENDS: u32 = 200;

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
    use crate::strategies::LimitHit;

    #[test]
    fn a_peer_exceeds_at_most_one_limit_at_a_time() {
        let l = Limits { sends: 1, unsent_ms: 100, silent_ms: 50 };
        assert_eq!(l.hit(1000, 960, 0), None);
        assert_eq!(l.hit(1000, 950, 0), Some(LimitHit::Silent));
        assert_eq!(l.hit(1000, 0, 950), None);
        assert_eq!(l.hit(1000, 0, 900), Some(LimitHit::Unread));
    }
}
