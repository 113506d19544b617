//! What a client makes of a server's bytes; shared by the test here and the fuzz target.

use loadline_proto::{Client, ClientKind, Fault, Progress, Session, client};
use run::Protocol;

/// Requests that the client has in flight.
const IN_FLIGHT: usize = 4;

/// Feeds `bytes` in pieces of `piece` bytes and returns the sum of what was completed, with the fault that ended it.
pub(crate) fn outcome(bytes: &[u8], piece: usize) -> (Progress, Option<Fault>) {
    let Ok(ClientKind::Http1(plan)) = client(&Protocol::default()) else {
        unreachable!("the default protocol is http1")
    };
    let mut session = plan.session();
    (0..IN_FLIGHT).for_each(|_| session.begin());
    let mut request = [0; 1024];
    while session.transmit(&mut request) > 0 {}
    let mut sum = Progress::default();
    for part in bytes.chunks(piece.max(1)) {
        match session.receive(part) {
            Ok(progress) => sum.merge(progress),
            Err(fault) => return (sum, Some(fault)),
        }
        if sum.close {
            return (sum, None);
        }
    }
    match session.peer_closed() {
        Ok(progress) => {
            sum.merge(progress);
            (sum, None)
        }
        Err(fault) => (sum, Some(fault)),
    }
}
