//! Counts of early keep-alive races. In an early race, a connection ends as in a keep-alive race, but before the server
//! has closed any idle or unread connection.
//!
//! A server with a short keep-alive timeout closes many idle connections, and only rarely closes a connection just when
//! a request is sent. If the server closes no idle or unread connection in the whole trial (one load), early races
//! count as failures.
//!
//! The same holds for connections in use (pipelines) that end after equal numbers of answers: these ends are early races
//! until an idle or unread connection shows that the server closes after this number of answers.

use run::{ErrorKind, Hist};

/// A keep-alive race on one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Race {
    /// Kind of failure as which the end of the connection would count without a race: a reset or a close.
    pub(crate) kind: ErrorKind,
    /// Number of answers before the end of a connection in use, if nothing proves so far that the server closes after
    /// this number; `None` for any other race.
    pub(crate) unproven_answers: Option<u64>,
    /// Time from the intended start of the oldest request in flight to the end of its connection, nanoseconds.
    pub(crate) lost_ns: u64,
    /// True if the oldest request in flight was sent again, and false if this request failed.
    pub(crate) is_first_resent: bool,
    /// Number of requests that followed the oldest request in flight, and were sent again.
    pub(crate) behind_resent: u64,
    /// Number of requests that followed the oldest request in flight, and failed because they could not be sent again.
    pub(crate) behind_failed: u64,
}

/// Counts of the early races of a shard (generator thread). All early races also count as keep-alive races.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EarlyRaces {
    /// Early races in which the connection was closed.
    pub(crate) closed: RaceCounts,
    /// Early races in which the connection was reset.
    pub(crate) reset: RaceCounts,
}

/// Counts of keep-alive races of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RaceCounts {
    pub(crate) connections: u64,
    /// Number of races whose oldest request was sent again.
    pub(crate) first_resent: u64,
    /// Number of requests that followed the oldest request of their connection, and were sent again.
    pub(crate) behind_resent: u64,
    /// Number of requests that failed, because they could not be sent again.
    pub(crate) failed: u64,
}

/// Times until the end of the connection, for the requests that were sent again after early races. If the early races
/// count as failures, these times are those of requests without an answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct EarlyTimes {
    /// Times of [`crate::counts::Counts::early_races`].
    pub(crate) idle: Hist,
    /// Times of [`crate::counts::Counts::busy_races`].
    pub(crate) busy: Hist,
}

impl EarlyRaces {
    /// Adds a keep-alive race on one connection.
    pub(crate) fn add(&mut self, race: &Race) {
        let counts = if race.kind == ErrorKind::Reset { &mut self.reset } else { &mut self.closed };
        counts.connections += 1;
        counts.first_resent += u64::from(race.is_first_resent);
        counts.behind_resent += race.behind_resent;
        counts.failed += u64::from(!race.is_first_resent) + race.behind_failed;
    }

    /// Returns the early races by the failure that they resemble: a short response (connection closed) or a reset.
    pub(crate) fn by_kind(self) -> [(ErrorKind, RaceCounts); 2] {
        [(ErrorKind::ShortResponse, self.closed), (ErrorKind::Reset, self.reset)]
    }

    /// Returns the growth of the counts since an earlier copy.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self { closed: self.closed.since(earlier.closed), reset: self.reset.since(earlier.reset) }
    }
}

impl RaceCounts {
    fn since(self, earlier: Self) -> Self {
        Self {
            connections: self.connections - earlier.connections,
            first_resent: self.first_resent - earlier.first_resent,
            behind_resent: self.behind_resent - earlier.behind_resent,
            failed: self.failed - earlier.failed,
        }
    }
}
