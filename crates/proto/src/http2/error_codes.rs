//! Error codes for faults, as sent to the peer (RFC 9113, section 7).

use super::{flow, frame, hpack, huffman};
use crate::Fault;

/// Fault for frames on a finished response. Our client ends a stream only after the server did, so no frame of the
/// stream can still be on its way.
pub(super) const ENDED: Fault = Fault::Malformed("more of a response than its end");

/// Returns the code for the end of a connection.
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

/// Names of the error codes in their order (RFC 9113, section 7).
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

/// Returns name and number of a code that the peer sent.
pub(super) fn shown(code: u32) -> String {
    NAMES.get(code as usize).map_or_else(|| format!("the code {code:#x}"), |name| format!("{name} ({code})"))
}
