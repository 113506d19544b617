//! The open streams of a connection, used by client and server.

use super::flow;
use crate::Fault;

/// A stream of a client or of a server.
pub(super) trait AnyStream {
    /// Returns the stream's ID.
    fn number(&self) -> u32;

    /// Returns the stream's send window.
    fn window(&mut self) -> &mut i64;

    /// Changes the stream's send window by `by` bytes. `by` is negative if the peer lowered its initial window.
    fn widen(&mut self, by: i64) -> Result<(), Fault> {
        flow::widen(self.window(), by)
    }
}

/// The open streams of a connection. A vector is fast enough, because few streams are open and most lookups are for the
/// oldest stream.
#[derive(Debug)]
pub(super) struct StreamList<T>(pub(super) Vec<T>);

impl<T> Default for StreamList<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: AnyStream> StreamList<T> {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn open(&mut self, stream: T) {
        self.0.push(stream);
    }

    pub(super) fn find(&mut self, number: u32) -> Option<&mut T> {
        self.0.iter_mut().find(|stream| stream.number() == number)
    }

    /// Changes the send window of every open stream by `by` bytes, which may be negative.
    pub(super) fn widen(&mut self, by: i64) -> Result<(), Fault> {
        self.0.iter_mut().try_for_each(|stream| stream.widen(by))
    }
}
