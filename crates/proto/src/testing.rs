//! Shared helpers of protocol tests.

use crate::{Progress, Requester, Session};

/// Lets a client and a server exchange bytes in pieces of `cut` bytes until neither has more to send. Returns the
/// number of completed requests, the number of bytes that the client sent, and the number that it received.
pub(crate) fn exchange(client: &mut impl Requester, server: &mut impl Session, cut: usize) -> (u32, usize, usize) {
    let (mut piece, mut completed, mut up, mut down) = (vec![0; cut], 0, 0, 0);
    loop {
        let n = client.transmit(&mut piece);
        if n > 0 {
            server.receive(&piece[..n]).unwrap();
        }
        let m = server.transmit(&mut piece);
        if n + m == 0 {
            return (completed, up, down);
        }
        completed += client.receive(&piece[..m], &mut drop).unwrap().completed;
        (up, down) = (up + n, down + m);
    }
}

/// Returns a server's answer to bytes that arrive in pieces of `cut` bytes, and the total progress. The function reads
/// the server's answer seven bytes at a time.
pub(crate) fn answer_to(mut server: impl Session, bytes: &[u8], cut: usize) -> (String, Progress) {
    let (mut sum, mut all, mut piece) = (Progress::default(), Vec::new(), [0; 7]);
    for part in bytes.chunks(cut) {
        sum.merge(server.receive(part).unwrap());
        while let n @ 1.. = server.transmit(&mut piece) {
            all.extend_from_slice(&piece[..n]);
        }
    }
    (String::from_utf8_lossy(&all).into_owned(), sum)
}
