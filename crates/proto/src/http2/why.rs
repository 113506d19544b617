//! What the other side is told of a fault: an error code (RFC 9113, section 7).

use super::{flow, frame, hpack, huffman};
use crate::Fault;

/// A stream ends at our client only when the server has ended it, so nothing of it can still be on its way.
pub(super) const ENDED: Fault = Fault::Malformed("more of a response than its end");

/// The code that says why a connection ends.
pub(super) fn code(fault: &Fault) -> u32 {
    match fault {
        Fault::Limit(_) => frame::ENHANCE_YOUR_CALM,
        fault if flow::is_of_windows(fault) => frame::FLOW_CONTROL_ERROR,
        fault if frame::is_of_lengths(fault) => frame::FRAME_SIZE_ERROR,
        fault if [hpack::WRONG, huffman::WRONG].contains(fault) => frame::COMPRESSION_ERROR,
        fault if *fault == ENDED => frame::STREAM_CLOSED,
        _ => frame::PROTOCOL_ERROR,
    }
}
