//! Figures of the network paths of QUIC connections. The kernel has no counters of QUIC connections, so the generator
//! itself computes these figures.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// Figures of the paths of all QUIC connections of a load, each taken when the connection ended, or at the end of the
/// load. Times and windows are means over the connections. All figures come from the generator's side of the
/// connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct QuicPaths {
    /// Number of connections.
    pub connections: u64,
    /// Smoothed round-trip time (RFC 9002, section 5.3), microseconds.
    #[serde(with = "Figure")]
    pub rtt_us: f64,
    /// Smallest round-trip time of a connection, microseconds.
    #[serde(with = "Figure")]
    pub min_rtt_us: f64,
    /// Congestion window, bytes.
    #[serde(with = "Figure")]
    pub congestion_window_bytes: f64,
    /// Number of packets that the generator sent.
    pub sent_packets: u64,
    /// Number of sent packets that were lost, and whose content was sent again.
    pub lost_packets: u64,
    /// Number of bytes of the lost packets.
    pub lost_bytes: u64,
}

impl QuicPaths {
    /// Adds the figures of other QUIC connections to these figures.
    pub fn merge(&mut self, other: Self) {
        let (own, others) = (self.connections as f64, other.connections as f64);
        let all = own + others;
        if all <= 0.0 {
            return;
        }
        for (a, b) in [
            (&mut self.rtt_us, other.rtt_us),
            (&mut self.min_rtt_us, other.min_rtt_us),
            (&mut self.congestion_window_bytes, other.congestion_window_bytes),
        ] {
            *a = (*a * own + b * others) / all;
        }
        for (a, b) in [
            (&mut self.connections, other.connections),
            (&mut self.sent_packets, other.sent_packets),
            (&mut self.lost_packets, other.lost_packets),
            (&mut self.lost_bytes, other.lost_bytes),
        ] {
            *a = a.saturating_add(b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_weighted_by_connections_and_counts_are_added() {
        let one = QuicPaths { connections: 1, rtt_us: 100.0, sent_packets: 5, lost_packets: 1, ..QuicPaths::default() };
        let three = QuicPaths { connections: 3, rtt_us: 20.0, sent_packets: 7, ..QuicPaths::default() };
        let mut all = QuicPaths::default();
        all.merge(QuicPaths::default());
        assert_eq!(all, QuicPaths::default());
        [one, three].into_iter().for_each(|part| all.merge(part));
        assert_eq!((all.connections, all.rtt_us, all.sent_packets, all.lost_packets), (4, 40.0, 12, 1));
    }
}
