//! Counts the requests in progress on a server's connections, from the kernel's times and counts of segments.
//!
//! A connection whose last data came from the client has a request in progress. The kernel keeps the time of the last
//! data in each direction, in ticks of up to 10 ms. If the last request and the last response came in one tick, an
//! unacknowledged response shows that no request is in progress. A later request would have acknowledged the response.
//! If the last request and the last response came in one tick and all responses are acknowledged, the numbers of
//! segments decide. The numbers of segments are used only if nearly all connections fit one number of segments per
//! request and one number per response.

use sys::diag::{OtherConnection, Traffic};

use crate::awaits_reply::awaits_reply;

/// Numbers of segments per request and per response, in the order in which they are tried.
const EXCHANGES: [(u64, u64); 7] = [(1, 1), (1, 2), (2, 1), (1, 3), (3, 1), (1, 4), (2, 3)];
/// Minimum number of responses on a connection whose counts of segments are used.
const MIN_RESPONSES: u64 = 4;
/// Minimum share of the connections with [`MIN_RESPONSES`] responses that must fit the numbers of segments.
const MIN_REGULAR: f64 = 0.9;

/// Returns five numbers of connections: open, with a request in progress, with a possible request in progress, with
/// unread data, and in the accept queue (`queued`).
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

/// Returns true if a request is in progress on a connection, or `None` if this is unknown.
fn in_progress(traffic: &Traffic, exchange: Option<(u64, u64)>) -> Option<bool> {
    match (traffic.data_in, traffic.data_out) {
        (0, _) => Some(false),
        (_, 0) => Some(true),
        _ if traffic.received_ms_ago != traffic.sent_ms_ago => Some(traffic.received_ms_ago < traffic.sent_ms_ago),
        // The server's last response is not yet acknowledged. A new request of the client would have acknowledged the
        // response.
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

/// Connection from a process to a peer.
#[derive(Clone, Copy, Debug)]
pub(super) struct ToPeer {
    /// State of the connection at the process's end.
    pub(super) own: OtherConnection,
    /// True if the other end of the connection has received data that the peer has not read yet.
    pub(super) is_unread: bool,
}

/// Counts the connections from a process to one peer on which the process awaits a reply. A request that the peer has
/// not read yet awaits a reply, although the peer's kernel may have acknowledged it. For other connections, times and
/// acknowledgements show whether the process awaits a reply. If times and acknowledgements do not show it, the counts
/// of segments on the connection are used. The counts of segments are used only if they agree with the times on all
/// connections whose times are conclusive. At least one connection must have conclusive times.
pub(super) fn awaiting(connections: &[ToPeer]) -> f64 {
    let own: Vec<OtherConnection> = connections.iter().map(|connection| connection.own).collect();
    let turned: Vec<OtherConnection> = own.iter().map(turned).collect();
    let exchange = exchange(&turned).filter(|kind| agrees_with_times(&turned, &own, *kind));
    let awaits = |(turned, to_peer): &(&OtherConnection, &ToPeer)| {
        let by_counts = exchange.is_some_and(|kind| by_counts(turned, kind) == Some(true));
        let by_times = || to_peer.own.traffic.is_some_and(|traffic| awaits_reply(&traffic).unwrap_or(by_counts));
        // A connection does not await a reply that has arrived, even if the process has not read it yet.
        to_peer.own.receive_queue == 0 && (to_peer.is_unread || by_times())
    };
    turned.iter().zip(connections).filter(awaits).count() as f64
}

/// Returns true if the peer may have an unread request on this connection, so the other end must be read, too. Returns
/// false if the process's end has an unread reply, or already shows that the process awaits a reply.
pub(super) fn may_be_unread(own: &OtherConnection) -> bool {
    own.receive_queue == 0 && own.traffic.is_none_or(|traffic| awaits_reply(&traffic) != Some(true))
}

/// Returns the connection as its other end counts it: with the counts of sent and received data exchanged.
fn turned(connection: &OtherConnection) -> OtherConnection {
    let turn = |t: Traffic| Traffic { data_in: t.data_out, data_out: t.data_in, ..t };
    OtherConnection { traffic: connection.traffic.map(turn), ..*connection }
}

/// Returns true if the counts of segments show that a request is in progress, and false if they show that none is.
/// Returns `None` if the counts do not show whether a request is in progress.
fn by_counts(turned: &OtherConnection, kind: (u64, u64)) -> Option<bool> {
    match ahead(turned.traffic.as_ref()?, kind) {
        0 => Some(false),
        n => (n == i128::from(kind.0 * kind.1)).then_some(true),
    }
}

/// Returns true if times and counts of segments both decide about some connections, and agree on all of these
/// connections.
fn agrees_with_times(turned: &[OtherConnection], connections: &[OtherConnection], kind: (u64, u64)) -> bool {
    let pairs = turned.iter().zip(connections);
    let decided: Vec<bool> = pairs
        .filter_map(|(turned, own)| Some(by_counts(turned, kind)? == awaits_reply(own.traffic.as_ref()?)?))
        .collect();
    !decided.is_empty() && decided.iter().all(|agrees| *agrees)
}

/// Returns 0 if each request has got its response, and `request * response` if one request has no response yet. Any
/// other result means that the traffic does not fit `request` and `response`. `request` and `response` are the numbers
/// of segments per request and per response.
fn ahead(traffic: &Traffic, (request, response): (u64, u64)) -> i128 {
    i128::from(response) * i128::from(traffic.data_in) - i128::from(request) * i128::from(traffic.data_out)
}

/// Returns the numbers of segments per request and per response, if one pair of [`EXCHANGES`] fits nearly all
/// connections.
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
        let acknowledged_ms_ago = received_ms_ago;
        let traffic =
            Traffic { data_in, data_out, received_ms_ago, sent_ms_ago, acknowledged_ms_ago, ..Traffic::default() };
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], 80));
        let name = sys::diag::SocketName::default();
        let (local, remote, is_connecting) = (address, address, false);
        OtherConnection { local, remote, inode: 1, receive_queue, is_connecting, traffic: Some(traffic), name }
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
    fn counts_tell_which_connections_await_a_reply_if_they_agree_with_times() {
        // The last two connections await a reply. The last connection has the times of both directions in one tick.
        let awaiting = |all: &[OtherConnection]| {
            super::awaiting(&all.iter().map(|own| ToPeer { own: *own, is_unread: false }).collect::<Vec<_>>())
        };
        let idle = |ms_ago| connection(50, 50, ms_ago, 0);
        let waits = |ms_ago| connection(50, 51, ms_ago, 0);
        assert_eq!(awaiting(&[idle((4, 8)), idle((4, 4)), waits((8, 4)), waits((4, 4))]), 2.0);
        assert_eq!(awaiting(&[idle((4, 4)), waits((4, 4))]), 0.0, "no time decides");
        // During the login, the process sent one segment more than it received, so the idle connection looks like one
        // with a request.
        assert_eq!(awaiting(&[waits((4, 8)), waits((4, 4)), waits((4, 4))]), 0.0);
        assert_eq!(awaiting(&[OtherConnection { receive_queue: 9, ..waits((8, 4)) }]), 0.0);
    }

    /// The kernel of a saturated peer acknowledged requests that the peer had not read yet. An earlier version of
    /// loadline treated these requests as answered.
    #[test]
    fn a_request_that_the_peer_has_not_read_awaits_a_reply() {
        let own = connection(50, 50, (4, 4), 0);
        let busy = |is_unread: bool| {
            awaiting(&[ToPeer { own, is_unread }, ToPeer { own: connection(70, 390, (4, 4), 0), is_unread: false }])
        };
        assert!(may_be_unread(&own));
        assert_eq!((busy(false), busy(true)), (0.0, 1.0));
        assert_eq!(awaiting(&[ToPeer { own: OtherConnection { receive_queue: 9, ..own }, is_unread: true }]), 0.0);
    }

    #[test]
    fn within_one_tick_regular_exchanges_tell() {
        // Each response has two segments. Two connections have a request in progress, and one connection has half of a
        // response.
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
