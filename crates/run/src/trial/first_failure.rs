//! First failure of each kind in a load, with the reason that the server gave or that the client saw.

use serde::{Deserialize, Serialize};

use crate::ErrorKind;
use crate::figure::Figure;

/// Maximum number of kinds of failures for which loadline keeps the first failure.
pub const MAX_FIRST_FAILURES: usize = 32;

/// Kind of a failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// An answer with this unexpected status (`503`, `UNAVAILABLE`); the text is empty for a protocol without statuses.
    Status(String),
    /// A failed request or connect that got no usable answer.
    Error(ErrorKind),
}

/// First failure of one kind, with its reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FirstFailure {
    /// Kind of the failure.
    pub kind: FailureKind,
    /// Time of the failure, seconds since the load began.
    #[serde(with = "Figure")]
    pub at_s: f64,
    /// Reason without secrets: the server's words in quotation marks, or the client's observation. Empty if neither the
    /// server's words nor an observation of the client are known.
    #[serde(default)]
    pub reason: String,
}

impl FirstFailure {
    /// Adds the first failures of another thread or agent. Keeps the earlier failure of each kind. A failure that has a
    /// reason replaces a failure of the same kind that has no reason.
    pub fn merge(all: &mut Vec<Self>, others: Vec<Self>) {
        for other in others {
            match all.iter().position(|known| known.kind == other.kind) {
                Some(at) if other.rank() < all[at].rank() => all[at] = other,
                None if all.len() < MAX_FIRST_FAILURES => all.push(other),
                _ => {}
            }
        }
    }

    fn rank(&self) -> (bool, f64) {
        (self.reason.is_empty(), self.at_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_kind_the_earliest_failure_of_all_threads_stays() {
        let failure = |kind: &str, at_s, reason: &str| FirstFailure {
            kind: FailureKind::Status(kind.into()),
            at_s,
            reason: reason.into(),
        };
        let mut all = vec![failure("503", 2.0, "later")];
        FirstFailure::merge(&mut all, vec![failure("503", 1.0, "first"), failure("500", 3.0, "other")]);
        FirstFailure::merge(&mut all, vec![failure("500", 4.0, "late")]);
        assert_eq!(all, [failure("503", 1.0, "first"), failure("500", 3.0, "other")]);
        let mut words = vec![failure("429", 1.0, "")];
        FirstFailure::merge(&mut words, vec![failure("429", 2.0, "slow down"), failure("429", 0.5, "")]);
        assert_eq!(words, [failure("429", 2.0, "slow down")], "words are worth more than the moment");
        FirstFailure::merge(&mut all, (0..100).map(|i| failure(&i.to_string(), 1.0, "x")).collect());
        assert_eq!(all.len(), MAX_FIRST_FAILURES);
    }
}
