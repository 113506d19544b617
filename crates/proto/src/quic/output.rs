//! Datagrams of one connection that wait to be sent. Several datagrams of equal size are sent by one system call (GSO).

use std::time::Instant;

use quinn_proto::Connection;

/// A group of datagrams that wait to be sent. All datagrams have the size `datagram_bytes`; the last one may be
/// shorter.
#[derive(Debug, Default)]
pub(crate) struct Output {
    bytes: Vec<u8>,
    sent: usize,
    datagram_bytes: usize,
}

impl Output {
    /// Returns true if a datagram waits to be sent.
    pub(crate) fn is_waiting(&self) -> bool {
        self.sent < self.bytes.len()
    }

    /// Takes the next group of at most `most` datagrams from a connection, unless a group is still waiting. Returns
    /// true if a datagram waits to be sent.
    pub(crate) fn fill(&mut self, connection: &mut Connection, now: Instant, most: usize) -> bool {
        if !self.is_waiting() {
            self.clear();
            let sent = connection.poll_transmit(now, most, &mut self.bytes);
            self.datagram_bytes = sent.and_then(|sent| sent.segment_size).unwrap_or(self.bytes.len());
        }
        self.is_waiting()
    }

    /// Returns all waiting datagrams, and the size of each.
    pub(crate) fn group(&self) -> (&[u8], usize) {
        (&self.bytes[self.sent..], self.datagram_bytes)
    }

    /// Returns the waiting datagrams that one system call can send, if the call cuts its bytes into datagrams of `cut`
    /// bytes. If a datagram of the group has another size, or the group exceeds `room` bytes, returns a single
    /// datagram.
    pub(crate) fn cut(&self, cut: usize, room: usize) -> &[u8] {
        let (waiting, size) = self.group();
        let is_whole = (size == cut || waiting.len() <= size) && waiting.len() <= room;
        if is_whole { waiting } else { &waiting[..waiting.len().min(size)] }
    }

    /// Removes the first `bytes` bytes, which were sent.
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.sent = (self.sent + bytes).min(self.bytes.len());
    }

    /// Drops all waiting datagrams, without freeing the memory.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.sent = 0;
    }
}
