//! Connections of a server to an upstream that await a reply.

use sys::diag::Traffic;

/// Longest delay of an acknowledgement (RFC 1122, 4.2.3.2). A later one answers a keep-alive probe.
const MAX_DELAYED_ACK_MS: u32 = 500;

/// Returns true if the last data of a client's connection was a request.
///
/// The kernel keeps times in ticks of up to 10 ms. A busy pool sends the next request in the tick of the last reply, so
/// both times are often equal. Acknowledgements then decide, since a reply acknowledges its request: a request that is
/// not acknowledged, or was acknowledged after the last reply, has no reply yet. Otherwise the connection counts as free.
pub(crate) fn awaits_reply(traffic: &Traffic) -> bool {
    match (traffic.data_out, traffic.data_in) {
        (0, _) => false,
        (_, 0) => true,
        _ if traffic.sent_ms_ago != traffic.received_ms_ago => traffic.sent_ms_ago < traffic.received_ms_ago,
        _ => traffic.unacknowledged > 0 || has_late_acknowledgement(traffic),
    }
}

/// Returns true if the peer acknowledged data after its last own data, within the time that it may wait with that.
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
        assert!(awaits_reply(&traffic(4, 8)) && !awaits_reply(&traffic(8, 4)));
        assert!(!awaits_reply(&Traffic { data_out: 0, ..traffic(4, 8) }));
        assert!(awaits_reply(&Traffic { data_in: 0, ..traffic(8, 4) }));
    }

    #[test]
    fn acknowledgements_decide_within_one_tick() {
        let free = traffic(4, 4);
        assert!(!awaits_reply(&free));
        assert!(awaits_reply(&Traffic { unacknowledged: 1, ..free }));
        assert!(awaits_reply(&Traffic { acknowledged_ms_ago: 0, ..traffic(44, 44) }));
        assert!(!awaits_reply(&Traffic { acknowledged_ms_ago: 0, ..traffic(9000, 9000) }), "a keep-alive probe");
    }
}
