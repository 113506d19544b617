//! What tests of servers share.

use crate::{Progress, Session};

/// What a server says to bytes that come in pieces of `cut`, read a few at a time, and what became of the connection.
pub(crate) fn said(mut server: impl Session, bytes: &[u8], cut: usize) -> (String, Progress) {
    let (mut sum, mut all, mut piece) = (Progress::default(), Vec::new(), [0; 7]);
    for part in bytes.chunks(cut) {
        sum.merge(server.receive(part).unwrap());
        while let n @ 1.. = server.transmit(&mut piece) {
            all.extend_from_slice(&piece[..n]);
        }
    }
    (String::from_utf8_lossy(&all).into_owned(), sum)
}
