//! Reasons why a server held (accepted and kept) fewer connections than were attempted.

use run::{ErrorKind, Trial};

use super::levels::Levels;

/// Number of free descriptors below which a process counts as having reached its descriptor limit.
const SPARE: f64 = 100.0;

/// Reason why the server did not hold (accept and keep) more connections.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ended {
    /// ID of the bottleneck, as in `loadline list bottlenecks`; `None` if no bottleneck corresponds to the reason.
    pub(crate) id: Option<&'static str>,
    /// Description of the reason for the user.
    pub(crate) words: String,
}

impl Ended {
    /// Returns the descriptor limit as the reason if the process had nearly as many open descriptors as its limit
    /// allows (`limit`). The function also compares the number of accepted connections with the limit, because
    /// connections of io_uring have no descriptors. The connections of io_uring fill a table that is as large as the
    /// descriptor limit. The table is full if the number of accepted connections reaches the limit.
    pub(super) fn by_descriptors(most: &Levels, limit: f64) -> Option<Self> {
        let full = most.descriptors.max(most.accepted) + SPARE >= limit;
        let words = format!("descriptors: one process may have {limit} (RLIMIT_NOFILE)");
        full.then_some(Self { id: Some("server-fds"), words })
    }

    /// Derives the reason why no more connections were held from the clients' errors and the number of the server's
    /// threads.
    pub(super) fn by_errors(trial: &Trial, threads: f64) -> Self {
        let errors = |kind: ErrorKind| trial.tally.errors.count(kind);
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
