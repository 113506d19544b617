//! Error codes of RFC 9113, section 7: their names, and the choice of the code that is sent to the peer for a fault.

use super::{flow, frame, hpack, huffman};
use crate::Fault;

/// Fault for a frame on a stream whose response has ended. Our client ends a stream only after the server has ended it,
/// so no valid frame of this stream can still arrive.
pub(super) const ENDED: Fault = Fault::Malformed("more of a response than its end");

/// Returns the error code to send to the peer when a fault ends the connection.
pub(super) fn code(fault: &Fault) -> u32 {
    match fault {
        Fault::Limit(_) => frame::ENHANCE_YOUR_CALM,
        fault if flow::is_of_windows(fault) => frame::FLOW_CONTROL_ERROR,
        fault if frame::is_of_lengths(fault) => frame::FRAME_SIZE_ERROR,
        fault if [hpack::INVALID, huffman::INVALID].contains(fault) => frame::COMPRESSION_ERROR,
        fault if *fault == ENDED => frame::STREAM_CLOSED,
        _ => frame::PROTOCOL_ERROR,
    }
}

/// Names of the error codes (RFC 9113, section 7), indexed by code.
const NAMES: &[&str] = &[
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
];

/// Returns name and number of an error code from the peer.
pub(super) fn shown(code: u32) -> String {
    NAMES.get(code as usize).map_or_else(|| format!("the code {code:#x}"), |name| format!("{name} ({code})"))
}
