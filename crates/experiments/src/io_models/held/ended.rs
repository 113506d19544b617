//! What ended a trial's connections where fewer are held than were attempted.

use run::{ErrorKind, Trial};

use super::levels::Levels;

/// So near its limit a process has no descriptor left.
const SPARE: f64 = 100.0;

/// The bottleneck's id where that is told, and in words.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ended {
    /// Row of `loadline list bottlenecks`.
    pub(crate) id: Option<&'static str>,
    /// In words.
    pub(crate) words: String,
}

impl Ended {
    /// The descriptors of a process that may have so many. Rings keep their connections in a table of their own, of the same
    /// size as the limit.
    pub(super) fn by_descriptors(most: &Levels, limit: f64) -> Option<Self> {
        let full = most.descriptors.max(most.accepted) + SPARE >= limit;
        let words = format!("descriptors: one process may have {limit} (RLIMIT_NOFILE)");
        full.then_some(Self { id: Some("server-fds"), words })
    }

    /// What the clients' errors say of it, where the server had so many threads.
    pub(super) fn by_errors(trial: &Trial, threads: f64) -> Self {
        let errors = |kind: ErrorKind| trial.tally.errors.0.get(&kind).copied().unwrap_or(0);
        let (id, words) = if errors(ErrorKind::ClientPorts) > 0 {
            (Some("client-ports"), "the client's ports".into())
        } else if errors(ErrorKind::ClientFds) > 0 {
            (Some("client-fds"), "the client's descriptors".into())
        } else if errors(ErrorKind::Reset) > 0 {
            let words = format!(
                "the server's refusals: it has no more than {threads} threads (max_threads, or the system's limit)"
            );
            (Some("server-concurrency"), words)
        } else {
            (None, "time: the server had not accepted the others when the trial ended".into())
        };
        Self { id, words }
    }
}
