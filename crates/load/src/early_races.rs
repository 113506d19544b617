//! Ends of connections that look like keep-alive races, before the server has closed any connection without a request.
//!
//! A server with a short keep-alive timeout closes idle connections, and only now and then closes one just as a request
//! is sent. If a server closes no connection without a request in the whole trial, these ends are failures.

/// Counts of the early races of a shard, all of which are in the counts of keep-alive races, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EarlyRaces {
    pub(crate) connections: u64,
    /// Number of requests of early races that were sent again.
    pub(crate) resent: u64,
    /// Number of requests of early races that were not sent again.
    pub(crate) failed: u64,
}

impl EarlyRaces {
    /// Returns the counts since an earlier copy.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            connections: self.connections - earlier.connections,
            resent: self.resent - earlier.resent,
            failed: self.failed - earlier.failed,
        }
    }
}
