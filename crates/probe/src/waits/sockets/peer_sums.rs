//! Numbers of connections to each peer.

use std::collections::BTreeMap;

use super::super::exchanges::{self, ToPeer};
use super::super::round::{PeerId, PeerSample};

/// Connections to each peer.
#[derive(Debug, Default)]
pub(super) struct PeerSums(BTreeMap<PeerId, Vec<ToPeer>>);

impl PeerSums {
    pub(super) fn add(&mut self, id: &PeerId, connection: ToPeer) {
        self.0.entry(id.clone()).or_default().push(connection);
    }

    /// Returns the numbers of connections to each peer. `scaled` extrapolates a number of these connections to all
    /// connections.
    pub(super) fn rows(self, scaled: impl Fn(f64) -> f64) -> Vec<PeerSample> {
        let row = |((process, address), connections): (PeerId, Vec<ToPeer>)| {
            let (open, busy) = (scaled(connections.len() as f64), scaled(exchanges::awaiting(&connections)));
            let received = connections.iter().map(|c| Some((c.own.inode, c.own.traffic?.data_in)));
            let received = received.collect::<Option<_>>().unwrap_or_default();
            PeerSample { process, address, open, busy, received, to: None }
        };
        self.0.into_iter().map(row).collect()
    }
}
