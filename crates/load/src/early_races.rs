//! Ends of connections that look like keep-alive races, before the server has closed any idle connection.
//!
//! A server with a short keep-alive timeout closes idle connections, and only now and then one just as a request
//! leaves. If a server closes no idle connection in the whole trial, it has no such timeout: these ends are failures.

use run::ErrorKind;

use crate::counts::Counts;

/// Counts of the early races of a shard, all of which are in the counts of keep-alive races, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EarlyRaces {
    pub(crate) connections: u64,
    /// Their requests that were sent again.
    pub(crate) resent: u64,
    /// Their requests that were not.
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

impl Counts {
    /// Turns early races into failures: their requests, also those that were sent again, got no answer.
    pub(crate) fn early_races_are_failures(mut self) -> Self {
        let early = std::mem::take(&mut self.early_races);
        self.keep_alive_races -= early.connections;
        self.resent -= early.resent;
        self.errors[ErrorKind::KeepAliveRace as usize] -= early.failed;
        self.fail(ErrorKind::ShortResponse, early.resent + early.failed);
        self
    }
}
