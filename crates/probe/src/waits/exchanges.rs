//! Requests in progress on a server's connections, from the kernel's counts and times.
//!
//! A connection whose last data came from the client has a request in progress. The kernel keeps these times in ticks
//! of up to 10 ms, so both directions often show one tick. Then the counts of segments decide, if they are regular:
//! each exchange of a keep-alive client takes the same number of segments in each direction.

use sys::diag::{OtherConnection, Traffic};

/// Numbers of segments of a request and of its response that are tried.
const EXCHANGES: [(u64, u64); 7] = [(1, 1), (1, 2), (2, 1), (1, 3), (3, 1), (1, 4), (2, 3)];
/// Minimum number of responses of a connection for judging its regularity.
const MIN_RESPONSES: u64 = 4;
/// Minimum part of these connections that must be regular.
const MIN_REGULAR: f64 = 0.9;

/// Counts connections: open, in progress, uncertain, unread, and `queued` ones.
pub(super) fn count(connections: &[OtherConnection], queued: f64) -> [f64; 5] {
    let mut counts = [connections.len() as f64, 0.0, 0.0, 0.0, queued];
    let exchange = exchange(connections);
    for connection in connections {
        let Some(traffic) = connection.traffic else { continue };
        if connection.receive_queue > 0 {
            counts[3] += 1.0;
            continue;
        }
        match in_progress(&traffic, exchange) {
            Some(true) => counts[1] += 1.0,
            Some(false) => {}
            None => counts[2] += 1.0,
        }
    }
    counts
}

/// Returns true if a request is in progress, or `None` if this is unknown.
fn in_progress(traffic: &Traffic, exchange: Option<(u64, u64)>) -> Option<bool> {
    match (traffic.data_in, traffic.data_out) {
        (0, _) => Some(false),
        (_, 0) => Some(true),
        _ if traffic.received_ms_ago != traffic.sent_ms_ago => Some(traffic.received_ms_ago < traffic.sent_ms_ago),
        // The client's next request acknowledges the response.
        _ if traffic.unacknowledged > 0 => Some(false),
        _ => {
            let (request, response) = exchange?;
            match ahead(traffic, (request, response)) {
                0 => Some(false),
                n if n == i128::from(request * response) => Some(true),
                _ => None,
            }
        }
    }
}

/// Returns by how much requests are ahead of responses: 0 after a response, and the product of both numbers while a
/// request is in progress.
fn ahead(traffic: &Traffic, (request, response): (u64, u64)) -> i128 {
    i128::from(response) * i128::from(traffic.data_in) - i128::from(request) * i128::from(traffic.data_out)
}

/// Returns the segments of a request and of a response, if nearly all connections have exchanges of one kind.
fn exchange(connections: &[OtherConnection]) -> Option<(u64, u64)> {
    let long = |kind: (u64, u64)| {
        let traffic = connections.iter().filter_map(|c| c.traffic);
        traffic.filter(move |t| u64::from(t.data_out) >= MIN_RESPONSES * kind.1).collect::<Vec<_>>()
    };
    EXCHANGES.into_iter().find(|kind| {
        let long = long(*kind);
        let regular = |t: &&Traffic| (0..=i128::from(kind.0 * kind.1)).contains(&ahead(t, *kind));
        let fitting = long.iter().filter(regular).count();
        !long.is_empty() && fitting as f64 >= MIN_REGULAR * long.len() as f64
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(data_in: u32, data_out: u32, ms_ago: (u32, u32), receive_queue: u32) -> OtherConnection {
        let (received_ms_ago, sent_ms_ago) = ms_ago;
        let traffic = Traffic { data_in, data_out, received_ms_ago, sent_ms_ago, ..Traffic::default() };
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], 80));
        let name = sys::diag::SocketName::default();
        OtherConnection { local: address, remote: address, inode: 1, receive_queue, traffic: Some(traffic), name }
    }

    #[test]
    fn times_tell_a_request_in_progress() {
        let all = [
            connection(3, 2, (4, 8), 0),
            connection(3, 3, (8, 4), 0),
            connection(0, 0, (9, 9), 0),
            connection(1, 0, (9, 9), 0),
            connection(9, 9, (0, 1), 5),
        ];
        assert_eq!(count(&all, 2.0), [5.0, 2.0, 0.0, 1.0, 2.0]);
    }

    #[test]
    fn within_one_tick_regular_exchanges_tell() {
        // Each response has two segments. Two connections have a request in progress, one has half of a response.
        let all = [
            connection(101, 200, (0, 0), 0),
            connection(51, 100, (4, 4), 0),
            connection(80, 160, (4, 4), 0),
            connection(81, 161, (4, 4), 0),
        ];
        assert_eq!(count(&all, 0.0), [4.0, 2.0, 1.0, 0.0, 0.0]);
    }

    #[test]
    fn a_response_that_the_client_has_not_acknowledged_ends_a_request() {
        let mut answered = connection(101, 731, (4, 4), 0);
        assert_eq!(count(&[answered], 0.0), [1.0, 0.0, 1.0, 0.0, 0.0]);
        answered.traffic.iter_mut().for_each(|traffic| traffic.unacknowledged = 1);
        assert_eq!(count(&[answered], 0.0), [1.0, 0.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn irregular_exchanges_stay_uncertain() {
        let all = [connection(100, 731, (0, 0), 0), connection(70, 390, (0, 0), 0)];
        assert_eq!(count(&all, 0.0), [2.0, 0.0, 2.0, 0.0, 0.0]);
    }
}
