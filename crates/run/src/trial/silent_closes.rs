//! Recognizes servers that close connections without announcing it. If a server closes a connection without announcing
//! it, the next request on the connection fails.

use crate::{ErrorKind, FailureKind, Tally, Trial};

/// Minimum number of connections for a conclusion about silent closes. With fewer than `MIN_CONNECTIONS` connections,
/// the mean number of answers per connection is too uncertain for a conclusion.
const MIN_CONNECTIONS: u64 = 20;
/// Minimum mean number of successive connections per client for a conclusion. Two restarts of the server give each
/// client only three successive connections, so restarts alone do not reach the minimum.
const GENERATIONS: f64 = 4.0;
/// Minimum share of all connections that must have ended for a conclusion, 0 to 1. With servers that close silently,
/// more than 0.99 of the connections had ended, because only the last connection of each client stays open.
const NEARLY_ALL: f64 = 0.9;
/// Maximum scatter of the number of answers per lost connection. At this scatter or less, loadline concludes that the
/// server closes connections after a fixed number of answers. The scatter is the standard deviation divided by the
/// mean. The scatter is 0 if all lost connections had the same number of answers. The scatter is 1 or more for a server
/// that drops each request with a fixed probability, because the number of answers is then geometrically distributed.
const MAX_SPREAD: f64 = 0.5;

/// Rule by which a server closes connections without announcing it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SilentCloses {
    /// The server closes a connection after a fixed number of answers; the value is about this number.
    AfterAnswers(f64),
    /// The server closes a connection after a random number of answers. The value is the share of the requests that get
    /// no answer, 0 to 1.
    AtRandom(f64),
}

impl Trial {
    /// Returns the rule by which the server closes its connections without announcing it. A rule is found if nearly all
    /// connections ended without an announcement, and each end left one request without an answer. Returns `None` if no
    /// rule by which the server closes connections is found, and for servers that refused connects.
    pub fn silent_closes(&self) -> Option<SilentCloses> {
        let tally = &self.tally;
        let errors = |kind| tally.errors.count(kind);
        let lost = [ErrorKind::Reset, ErrorKind::ShortResponse, ErrorKind::KeepAliveRace].map(errors);
        let ended = lost.into_iter().chain([tally.resent]).fold(0, u64::saturating_add);
        // A server that restarts once also ends all of its connections, but then each client has had only one or two
        // connections.
        let again = tally.connected as f64 >= GENERATIONS * self.rates.concurrency;
        let all = ended as f64 >= NEARLY_ALL * tally.connected as f64;
        if tally.connected < MIN_CONNECTIONS || !again || !all || errors(ErrorKind::ConnectRefused) > 0 {
            return None;
        }
        if ends_at_random(tally) {
            return Some(SilentCloses::AtRandom(ended as f64 / (tally.completed as f64 + ended as f64)));
        }
        let answers = match tally.lost_connections {
            // Runs of older versions do not contain the numbers of answers on lost connections.
            0 => tally.completed as f64 / tally.connected as f64,
            lost => tally.answers_before_loss as f64 / lost as f64,
        };
        (answers >= 0.5).then_some(SilentCloses::AfterAnswers(answers))
    }

    /// Returns the reason of the first failure of one kind; `None` if there was no failure of this kind, or if its
    /// reason is unknown.
    pub fn first_reason(&self, kind: ErrorKind) -> Option<&str> {
        let first = self.first_failures.iter().find(|first| first.kind == FailureKind::Error(kind))?;
        Some(first.reason.as_str()).filter(|reason| !reason.is_empty())
    }
}

/// Returns true if lost connections had very different numbers of answers. Runs of older versions do not contain the
/// numbers of answers on lost connections.
fn ends_at_random(tally: &Tally) -> bool {
    let lost = tally.lost_connections as f64;
    let mean = tally.answers_before_loss as f64 / lost.max(1.0);
    let variance = tally.answers_before_loss_squared as f64 / lost.max(1.0) - mean * mean;
    lost > 0.0 && variance.max(0.0).sqrt() > MAX_SPREAD * mean
}
