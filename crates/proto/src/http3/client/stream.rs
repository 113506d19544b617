//! A request in flight and its response.

use quinn_proto::StreamId;

use crate::http3::frame::FrameReader;

/// One request and its response, on one stream.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) id: StreamId,
    /// ID of the request.
    pub(super) request: u16,
    /// Index of the request in the set.
    pub(super) item: u16,
    /// Status of the response; 0 before it arrives.
    pub(super) status: u16,
    /// True once the trailers of the response have arrived.
    pub(super) has_trailers: bool,
    /// Length of the response's body according to its headers, bytes.
    pub(super) length: Option<u64>,
    /// Number of bytes of the response's body so far.
    pub(super) body: u64,
    /// Number of events of the response that were found since the last report to the caller.
    pub(super) new_events: u32,
    pub(super) reader: FrameReader,
    /// Beginning of a header block that arrived in several pieces.
    pub(super) block: Vec<u8>,
    /// Frames before the request's body that were not passed to QUIC yet.
    pub(super) unsent_head: Vec<u8>,
    /// Number of bytes of the request's body that were not passed to QUIC yet.
    pub(super) unsent: usize,
    /// True once QUIC was told that the request is complete.
    pub(super) finished: bool,
}

impl Stream {
    pub(super) fn new(id: StreamId, request: u16, item: u16, unsent: usize) -> Self {
        Self {
            id,
            request,
            item,
            status: 0,
            has_trailers: false,
            length: None,
            body: 0,
            new_events: 0,
            reader: FrameReader::default(),
            block: Vec::new(),
            unsent_head: Vec::new(),
            unsent,
            finished: false,
        }
    }
}

/// Returns the number of a stream: 1 for the first request of a connection, 2 for the second one, and so on. Only the
/// lowest 32 bits of the number are returned.
pub(super) fn number(id: StreamId) -> u32 {
    (id.index() as u32).wrapping_add(1)
}
