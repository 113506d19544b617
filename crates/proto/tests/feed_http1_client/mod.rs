//! Feeds a server's bytes to the HTTP/1 client. A test in `tests` and a fuzz target share the function of this file.

use loadline_proto::{Client, Done, Fault, Progress, Request, Requester, http1};
use run::Protocol;

/// Number of requests that the client has in flight.
const IN_FLIGHT: usize = 4;

/// Feeds `bytes` in pieces of `piece` bytes. Returns the results of the requests that ended, the total progress, and
/// the fault that ended the connection, if any.
pub(crate) fn feed(bytes: &[u8], piece: usize) -> ((Vec<Done>, Progress), Option<Fault>) {
    let Ok(plan) = http1::ClientPlan::new(&Protocol::default()) else { unreachable!("the default protocol is http1") };
    let mut session = plan.session();
    (0..IN_FLIGHT).for_each(|_| session.begin(Request::default()));
    let mut request = [0; 1024];
    while session.transmit(&mut request) > 0 {}
    let (mut told, mut sum) = (Vec::new(), Progress::default());
    let mut done = |done| told.push(done);
    for part in bytes.chunks(piece.max(1)) {
        match session.receive(part, &mut done) {
            Ok(progress) => sum.merge(progress),
            Err(fault) => return ((told, sum), Some(fault)),
        }
        if sum.close {
            return ((told, sum), None);
        }
    }
    let fault = session.peer_closed(&mut done).map(|progress| sum.merge(progress)).err();
    ((told, sum), fault)
}
