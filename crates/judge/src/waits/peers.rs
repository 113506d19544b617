//! Connections of a process to its peers: which get answers, and how many are busy.

use run::{PeerConnections, WaitProfile};

use super::titles;
use crate::thresholds::{WAIT_FEW, WAIT_MOSTLY};

/// Returns false if most connections got no data from the peer while they were sampled. No request waits for a
/// connection that only sends, such as that of a log, or on which the process waits for news.
pub(super) fn gets_answers(peer: &PeerConnections) -> bool {
    peer.answers.is_none_or(|answers| answers >= WAIT_MOSTLY)
}

/// Returns the connections to a peer, with the number of busy connections filled in.
///
/// For Unix sockets, the kernel does not tell the number of busy connections, but the titles of PostgreSQL's processes
/// do. Returns `None` if the number of the peer's processes is unknown, or differs from the number of connections.
pub(super) fn with_busy(profile: &WaitProfile, peer: &PeerConnections) -> Option<PeerConnections> {
    if peer.busy.is_finite() {
        return Some(peer.clone());
    }
    let (busy, all) = titles::busy_backends(profile, &peer.to)?;
    ((all - peer.open).abs() <= WAIT_FEW).then(|| PeerConnections { busy, ..peer.clone() })
}
