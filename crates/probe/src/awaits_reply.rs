//! Finds out whether a server's connection to an upstream awaits a reply.

use sys::diag::Traffic;

/// Maximum delay of an acknowledgement (RFC 1122, 4.2.3.2), milliseconds. An acknowledgement whose delay exceeds this
/// maximum is the answer to a keep-alive probe, not to the data.
const MAX_DELAYED_ACK_MS: u32 = 500;

/// Returns true if the last data on a client's connection was a request, and false if the last data was a reply.
/// Returns `None` if the kernel's counters do not show whether a request or a reply came last.
///
/// The kernel keeps two times, in ticks of up to 10 ms: that of the last sent data, and that of the last received data.
/// A busy connection pool sends the next request within the tick of the last reply, so both times are often equal. If
/// the times of sent and received data are equal, acknowledgements decide, because a reply acknowledges its request. A
/// request that is not acknowledged, or was acknowledged after the last reply, has no reply yet. On a young connection,
/// the peer acknowledges a request at once, so the acknowledgement and the reply may come within one tick. If
/// acknowledgement and reply came within one tick of the kernel's clock, the function returns `None`.
pub(crate) fn awaits_reply(traffic: &Traffic) -> Option<bool> {
    match (traffic.data_out, traffic.data_in) {
        (0, _) => Some(false),
        (_, 0) => Some(true),
        _ if traffic.sent_ms_ago != traffic.received_ms_ago => Some(traffic.sent_ms_ago < traffic.received_ms_ago),
        _ => (traffic.unacknowledged > 0 || has_late_acknowledgement(traffic)).then_some(true),
    }
}

/// Returns true if the peer's last acknowledgement came after the peer's last data, by at most [`MAX_DELAYED_ACK_MS`].
fn has_late_acknowledgement(traffic: &Traffic) -> bool {
    let later_ms = traffic.received_ms_ago.saturating_sub(traffic.acknowledged_ms_ago);
    later_ms > 0 && later_ms <= MAX_DELAYED_ACK_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traffic(sent_ms_ago: u32, received_ms_ago: u32) -> Traffic {
        let acknowledged_ms_ago = received_ms_ago;
        Traffic { data_out: 9, data_in: 9, sent_ms_ago, received_ms_ago, acknowledged_ms_ago, unacknowledged: 0 }
    }

    #[test]
    fn times_decide_if_they_differ() {
        assert_eq!((awaits_reply(&traffic(4, 8)), awaits_reply(&traffic(8, 4))), (Some(true), Some(false)));
        assert_eq!(awaits_reply(&Traffic { data_out: 0, ..traffic(4, 8) }), Some(false));
        assert_eq!(awaits_reply(&Traffic { data_in: 0, ..traffic(8, 4) }), Some(true));
    }

    #[test]
    fn acknowledgements_decide_within_one_tick() {
        let equal = traffic(4, 4);
        assert_eq!(awaits_reply(&equal), None);
        assert_eq!(awaits_reply(&Traffic { unacknowledged: 1, ..equal }), Some(true));
        assert_eq!(awaits_reply(&Traffic { acknowledged_ms_ago: 0, ..traffic(44, 44) }), Some(true));
        let probe = Traffic { acknowledged_ms_ago: 0, ..traffic(9000, 9000) };
        assert_eq!(awaits_reply(&probe), None, "a keep-alive probe");
    }
}
