//! Counts of early keep-alive races. In an early race, a connection ends as in a keep-alive race. Before an early race,
//! however, the server has closed no connection that was idle or had only unread requests.
//!
//! A server with a short keep-alive timeout closes many idle connections, and only rarely closes a connection just when
//! a request is sent. If the server closes no idle or unread connection in the whole trial (one load), early races
//! count as failures.

/// Counts of the early races of a shard (generator thread). All early races also count as keep-alive races.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EarlyRaces {
    pub(crate) connections: u64,
    /// Number of requests that were sent again after early races.
    pub(crate) resent: u64,
    /// Number of requests that failed in early races, because they could not be sent again.
    pub(crate) failed: u64,
}

impl EarlyRaces {
    /// Returns the growth of the counts since an earlier copy.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            connections: self.connections - earlier.connections,
            resent: self.resent - earlier.resent,
            failed: self.failed - earlier.failed,
        }
    }
}
