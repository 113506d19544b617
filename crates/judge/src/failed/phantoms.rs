//! Findings about connections that were established from the client's point of view, but on which the server never
//! answered a request. The client cannot tell whether the server has the connection: the server may have dropped the
//! last packet of the TCP handshake. Only the server host's count of connections shows whether the server has the
//! connection. Requests also stay unanswered if their connections wait in the server's accept queue.

use crate::number::{counted, figure};
use crate::thresholds::ALL_ANSWERED;

/// Maximum relative difference between the server's and the client's counts of connections that still counts as
/// agreement. Connections at the beginning and the end of the window may cause a small difference.
const EDGES: f64 = 1.0 - ALL_ANSWERED;

/// Returns a sentence about the connections of a trial that were never answered. `unanswered` is the number of
/// unanswered connections. `ours` is the client's count of new connections in the measured window, and `seen` is the
/// count of the server's host.
pub(crate) fn unanswered(unanswered: u64, ours: f64, seen: Option<f64>) -> Option<String> {
    let so = match seen {
        Some(seen) if ours - seen > EDGES * ours => {
            format!(
                "the server's host saw only {} of {}, so some exist for the client alone",
                figure(seen),
                counted(ours, "connection")
            )
        }
        Some(_) => "the server's host saw all connections, so these waited to be accepted or answered".into(),
        None => "the server's counters would show if it saw them".into(),
    };
    let all = counted(unanswered as f64, "connection");
    (unanswered > 0).then(|| format!("{all} established but not answered in time: {so}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_servers_count_tells_a_phantom_from_one_that_waits() {
        assert_eq!(unanswered(0, 800.0, Some(400.0)), None);
        let said = |seen| unanswered(30, 800.0, seen).unwrap();
        assert!(said(Some(800.0)).ends_with("so these waited to be accepted or answered"), "{}", said(Some(800.0)));
        assert!(said(Some(770.0)).contains("saw only 770 of 800"), "{}", said(Some(770.0)));
        assert!(said(None).contains("would show"), "{}", said(None));
    }
}
