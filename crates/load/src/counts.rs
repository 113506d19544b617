//! Counts of a shard (generator thread) as plain numbers. At the end of the load, the counts are converted once to a
//! [`run::Tally`].

use run::{ErrorKind, STATUS_CLASSES, Tally};

use crate::early_races::EarlyRaces;
use crate::status_counts::StatusCounts;

/// Counts of a shard (generator thread). The counts grow during the whole load. The counts of the measured window are
/// the difference between a copy at its end and a copy at its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) attempted: u64,
    pub(crate) connected: u64,
    pub(crate) sent: u64,
    pub(crate) completed: u64,
    pub(crate) unexpected: u64,
    pub(crate) unexpected_statuses: StatusCounts,
    pub(crate) status: [u64; STATUS_CLASSES.len()],
    pub(crate) errors: [u64; ErrorKind::ALL.len()],
    pub(crate) due: u64,
    pub(crate) unanswered: u64,
    pub(crate) phantom: u64,
    pub(crate) closed_by_server: u64,
    pub(crate) closes_left_to_client: u64,
    pub(crate) keep_alive_races: u64,
    pub(crate) early_races: EarlyRaces,
    /// Early races of connections in use, which ended after equal numbers of answers.
    pub(crate) busy_races: EarlyRaces,
    pub(crate) lost_connections: u64,
    pub(crate) answers_before_loss: u64,
    pub(crate) answers_before_loss_squared: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    pub(crate) answer_bytes: u64,
    pub(crate) connects_held_back: u64,
    pub(crate) connects_past_need: u64,
    pub(crate) unprocessed: u64,
    pub(crate) resent: u64,
    pub(crate) traced: u64,
    pub(crate) moved: u64,
    pub(crate) asked: u64,
    pub(crate) unasked: u64,
    pub(crate) doubtful: u64,
    pub(crate) handshakes: u64,
    pub(crate) handshakes_resumed: u64,
    pub(crate) handshakes_early: u64,
    pub(crate) early_requests: u64,
    pub(crate) early_resent: u64,
    pub(crate) handshake_bytes_sent: u64,
    pub(crate) handshake_bytes_received: u64,
}

impl Counts {
    /// Counts `n` failures of a kind.
    pub(crate) fn fail(&mut self, kind: ErrorKind, n: u64) {
        self.errors[kind as usize] += n;
    }

    /// Turns early keep-alive races into failures, because their requests got no answer. A request that was sent again
    /// after an early race counts as a further request with its own result. The requests that followed the oldest
    /// request of an early race were sent again, because the server did not process them.
    pub(crate) fn early_races_are_failures(mut self) -> Self {
        let early = std::mem::take(&mut self.early_races);
        self.are_failures(early)
    }

    /// Turns the early races of connections in use into failures, as [`Self::early_races_are_failures`] does.
    pub(crate) fn busy_races_are_failures(mut self) -> Self {
        let early = std::mem::take(&mut self.busy_races);
        self.are_failures(early)
    }

    fn are_failures(mut self, early: EarlyRaces) -> Self {
        for (kind, races) in early.by_kind() {
            self.keep_alive_races -= races.connections;
            self.resent -= races.first_resent + races.behind_resent;
            self.unprocessed += races.behind_resent;
            self.due += races.first_resent;
            self.sent += races.first_resent;
            self.errors[ErrorKind::KeepAliveRace as usize] -= races.failed;
            self.fail(kind, races.first_resent + races.failed);
        }
        self
    }

    /// Counts a connection that the server ended while requests on the connection waited for answers. The server had
    /// sent `answers` answers on this connection before it ended the connection.
    pub(crate) fn lost_after(&mut self, answers: u64) {
        self.lost_connections += 1;
        self.answers_before_loss += answers;
        let squared = answers.saturating_mul(answers);
        self.answers_before_loss_squared = self.answers_before_loss_squared.saturating_add(squared);
    }

    /// Returns the total number of failures.
    pub(crate) fn error_count(&self) -> u64 {
        self.errors.iter().sum()
    }

    /// Returns the growth of the counts since an earlier copy.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            attempted: self.attempted - earlier.attempted,
            connected: self.connected - earlier.connected,
            sent: self.sent.saturating_sub(earlier.sent),
            completed: self.completed - earlier.completed,
            unexpected: self.unexpected - earlier.unexpected,
            unexpected_statuses: self.unexpected_statuses.since(&earlier.unexpected_statuses),
            status: std::array::from_fn(|i| self.status[i] - earlier.status[i]),
            errors: std::array::from_fn(|i| self.errors[i] - earlier.errors[i]),
            due: self.due - earlier.due,
            unanswered: self.unanswered - earlier.unanswered,
            phantom: self.phantom - earlier.phantom,
            closed_by_server: self.closed_by_server - earlier.closed_by_server,
            closes_left_to_client: self.closes_left_to_client - earlier.closes_left_to_client,
            keep_alive_races: self.keep_alive_races - earlier.keep_alive_races,
            early_races: self.early_races.since(earlier.early_races),
            busy_races: self.busy_races.since(earlier.busy_races),
            lost_connections: self.lost_connections - earlier.lost_connections,
            answers_before_loss: self.answers_before_loss - earlier.answers_before_loss,
            answers_before_loss_squared: self.answers_before_loss_squared - earlier.answers_before_loss_squared,
            bytes_sent: self.bytes_sent - earlier.bytes_sent,
            bytes_received: self.bytes_received - earlier.bytes_received,
            answer_bytes: self.answer_bytes - earlier.answer_bytes,
            connects_held_back: self.connects_held_back - earlier.connects_held_back,
            connects_past_need: self.connects_past_need - earlier.connects_past_need,
            unprocessed: self.unprocessed - earlier.unprocessed,
            resent: self.resent - earlier.resent,
            traced: self.traced - earlier.traced,
            moved: self.moved - earlier.moved,
            asked: self.asked - earlier.asked,
            unasked: self.unasked - earlier.unasked,
            doubtful: self.doubtful - earlier.doubtful,
            handshakes: self.handshakes - earlier.handshakes,
            handshakes_resumed: self.handshakes_resumed - earlier.handshakes_resumed,
            handshakes_early: self.handshakes_early - earlier.handshakes_early,
            early_requests: self.early_requests - earlier.early_requests,
            early_resent: self.early_resent - earlier.early_resent,
            handshake_bytes_sent: self.handshake_bytes_sent - earlier.handshake_bytes_sent,
            handshake_bytes_received: self.handshake_bytes_received - earlier.handshake_bytes_received,
        }
    }

    /// Converts the counts to the type that a run stores.
    pub(crate) fn tally(&self) -> Tally {
        let mut tally = Tally {
            attempted: self.attempted,
            connected: self.connected,
            sent: self.sent,
            completed: self.completed,
            unexpected_status: self.unexpected,
            unexpected_statuses: self.unexpected_statuses.by_name(),
            due: self.due,
            unanswered: self.unanswered,
            phantom: self.phantom,
            closed_by_server: self.closed_by_server,
            closes_left_to_client: self.closes_left_to_client,
            keep_alive_races: self.keep_alive_races,
            lost_connections: self.lost_connections,
            answers_before_loss: self.answers_before_loss,
            answers_before_loss_squared: self.answers_before_loss_squared,
            bytes_sent: self.bytes_sent,
            bytes_received: self.bytes_received,
            answer_bytes: self.answer_bytes,
            connects_held_back: self.connects_held_back,
            connects_past_need: self.connects_past_need,
            unprocessed: self.unprocessed,
            resent: self.resent,
            traced: self.traced,
            moved: self.moved,
            asked: self.asked,
            unasked_messages: self.unasked,
            doubtful_answers: self.doubtful,
            handshakes: self.handshakes,
            handshakes_resumed: self.handshakes_resumed,
            handshakes_early: self.handshakes_early,
            early_requests: self.early_requests,
            early_resent: self.early_resent,
            handshake_bytes_sent: self.handshake_bytes_sent,
            handshake_bytes_received: self.handshake_bytes_received,
            ..Tally::default()
        };
        for (class, &n) in STATUS_CLASSES.into_iter().zip(&self.status) {
            if n > 0 {
                tally.status.insert(class.into(), n);
            }
        }
        for kind in ErrorKind::ALL {
            let n = self.errors[kind as usize];
            if n > 0 {
                tally.errors.0.insert(kind, n);
            }
        }
        tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_happened_is_listed() {
        let mut counts = Counts { sent: 5, ..Counts::default() };
        (counts.status[1], counts.status[3]) = (3, 1);
        counts.fail(ErrorKind::Reset, 2);
        let tally = counts.tally();
        assert_eq!(tally.status.keys().collect::<Vec<_>>(), ["2xx", "4xx"]);
        assert_eq!(tally.errors.0.get(&ErrorKind::Reset), Some(&2));
        assert_eq!((tally.errors.0.len(), tally.error_count(), tally.sent), (1, 2, 5));
    }

    #[test]
    fn every_kind_has_its_own_place() {
        let places: std::collections::BTreeSet<_> = ErrorKind::ALL.iter().map(|&k| k as usize).collect();
        assert_eq!(places.len(), ErrorKind::ALL.len());
        assert_eq!(places.last(), Some(&(ErrorKind::ALL.len() - 1)));
    }
}
