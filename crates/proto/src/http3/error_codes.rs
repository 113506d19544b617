//! Error codes of RFC 9114, section 8.1, and RFC 9204, section 6: the code that is sent to the peer for a fault, and
//! the names of codes.

use super::qpack;
use crate::Fault;

pub(super) const NO_ERROR: u64 = 0x100;
pub(super) const REQUEST_REJECTED: u64 = 0x10b;
pub(super) const REQUEST_CANCELLED: u64 = 0x10c;
pub(super) const MESSAGE_ERROR: u64 = 0x10e;
pub(super) const STREAM_CREATION_ERROR: u64 = 0x103;
const GENERAL_PROTOCOL_ERROR: u64 = 0x101;
const CLOSED_CRITICAL_STREAM: u64 = 0x104;
const FRAME_UNEXPECTED: u64 = 0x105;
const FRAME_ERROR: u64 = 0x106;
const EXCESSIVE_LOAD: u64 = 0x107;
const ID_ERROR: u64 = 0x108;
const SETTINGS_ERROR: u64 = 0x109;
const MISSING_SETTINGS: u64 = 0x10a;
const QPACK_DECOMPRESSION_FAILED: u64 = 0x200;
const QPACK_ENCODER_STREAM_ERROR: u64 = 0x201;
const QPACK_DECODER_STREAM_ERROR: u64 = 0x202;

/// Fault for a frame of a known kind that its stream, or the state of its stream, does not allow.
pub(super) const UNEXPECTED: Fault = Fault::Malformed("a frame of HTTP/3 is at a place where it is not allowed");
/// Fault for a frame whose length does not fit its content, or that ends with its stream.
pub(super) const INCOMPLETE: Fault = Fault::Malformed("a frame of HTTP/3 is incomplete or too long");
/// Fault for the end of the control stream.
pub(super) const CONTROL_ENDED: Fault = Fault::Malformed("the control stream of HTTP/3 ended before its connection");
/// Fault for a second stream of a kind that may exist only once.
pub(super) const SECOND_STREAM: Fault = Fault::Malformed("a second control stream or QPACK stream of HTTP/3");
/// Fault for a response that the server pushes. The client permits no pushes, because it sends no MAX_PUSH_ID.
pub(super) const PUSHED: Fault = Fault::Malformed("the server pushes a response, although the client permits none");
/// Fault for settings that HTTP/3 forbids.
pub(super) const WRONG_SETTINGS: Fault = Fault::Malformed("the SETTINGS of HTTP/3 are wrong");
/// Fault for a control stream that does not begin with SETTINGS.
pub(super) const NO_SETTINGS: Fault = Fault::Malformed("the control stream of HTTP/3 does not begin with SETTINGS");
/// Fault for instructions that need a dynamic table.
pub(super) const TABLE_USED: Fault =
    Fault::Malformed("an instruction of QPACK fills the dynamic table, although its size is 0");
/// Fault for an acknowledgement of entries of our encoder, which uses no dynamic table.
pub(super) const ENTRY_NOT_SENT: Fault =
    Fault::Malformed("an instruction of QPACK is about entries of the dynamic table that were never sent");
/// Fault for a GOAWAY that allows more than an earlier one, or that has no valid ID.
pub(super) const WRONG_GOAWAY: Fault = Fault::Malformed("a GOAWAY of HTTP/3 has a wrong ID");

/// Returns the error code to send to the peer when a fault ends the connection.
pub(super) fn code(fault: &Fault) -> u64 {
    match *fault {
        UNEXPECTED => FRAME_UNEXPECTED,
        INCOMPLETE => FRAME_ERROR,
        CONTROL_ENDED => CLOSED_CRITICAL_STREAM,
        SECOND_STREAM => STREAM_CREATION_ERROR,
        PUSHED | WRONG_GOAWAY => ID_ERROR,
        WRONG_SETTINGS => SETTINGS_ERROR,
        NO_SETTINGS => MISSING_SETTINGS,
        TABLE_USED => QPACK_ENCODER_STREAM_ERROR,
        ENTRY_NOT_SENT => QPACK_DECODER_STREAM_ERROR,
        fault if qpack::is_of_qpack(&fault) => QPACK_DECOMPRESSION_FAILED,
        Fault::Limit(_) => EXCESSIVE_LOAD,
        Fault::Malformed(_) => MESSAGE_ERROR,
        _ => GENERAL_PROTOCOL_ERROR,
    }
}

/// First error code of HTTP/3.
const FIRST: u64 = NO_ERROR;
/// Names of the error codes of HTTP/3, beginning with code 0x100.
const NAMES: &[&str] = &[
    "H3_NO_ERROR",
    "H3_GENERAL_PROTOCOL_ERROR",
    "H3_INTERNAL_ERROR",
    "H3_STREAM_CREATION_ERROR",
    "H3_CLOSED_CRITICAL_STREAM",
    "H3_FRAME_UNEXPECTED",
    "H3_FRAME_ERROR",
    "H3_EXCESSIVE_LOAD",
    "H3_ID_ERROR",
    "H3_SETTINGS_ERROR",
    "H3_MISSING_SETTINGS",
    "H3_REQUEST_REJECTED",
    "H3_REQUEST_CANCELLED",
    "H3_REQUEST_INCOMPLETE",
    "H3_MESSAGE_ERROR",
    "H3_CONNECT_ERROR",
    "H3_VERSION_FALLBACK",
];
/// First error code of QPACK.
const FIRST_OF_QPACK: u64 = QPACK_DECOMPRESSION_FAILED;
/// Names of the error codes of QPACK, beginning with code 0x200.
const NAMES_OF_QPACK: &[&str] =
    &["QPACK_DECOMPRESSION_FAILED", "QPACK_ENCODER_STREAM_ERROR", "QPACK_DECODER_STREAM_ERROR"];

/// Returns name and number of an error code from the peer.
pub(super) fn shown(code: u64) -> String {
    let find = |names: &'static [&'static str], first: u64| {
        names.get(usize::try_from(code.checked_sub(first)?).ok()?).copied()
    };
    match find(NAMES, FIRST).or_else(|| find(NAMES_OF_QPACK, FIRST_OF_QPACK)) {
        Some(name) => format!("{name} ({code:#x})"),
        None => format!("the code {code:#x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_shown_by_name_and_number() {
        assert_eq!(shown(0x100), "H3_NO_ERROR (0x100)");
        assert_eq!(shown(REQUEST_REJECTED), "H3_REQUEST_REJECTED (0x10b)");
        assert_eq!(shown(0x110), "H3_VERSION_FALLBACK (0x110)");
        assert_eq!(shown(0x202), "QPACK_DECODER_STREAM_ERROR (0x202)");
        for unknown in [0, 0xff, 0x111, 0x203, u64::MAX] {
            assert_eq!(shown(unknown), format!("the code {unknown:#x}"));
        }
    }

    #[test]
    fn each_fault_has_the_code_of_the_standard() {
        for (fault, name) in [
            (UNEXPECTED, "H3_FRAME_UNEXPECTED"),
            (INCOMPLETE, "H3_FRAME_ERROR"),
            (CONTROL_ENDED, "H3_CLOSED_CRITICAL_STREAM"),
            (SECOND_STREAM, "H3_STREAM_CREATION_ERROR"),
            (PUSHED, "H3_ID_ERROR"),
            (WRONG_SETTINGS, "H3_SETTINGS_ERROR"),
            (NO_SETTINGS, "H3_MISSING_SETTINGS"),
            (TABLE_USED, "QPACK_ENCODER_STREAM_ERROR"),
            (ENTRY_NOT_SENT, "QPACK_DECODER_STREAM_ERROR"),
            (Fault::Limit("x"), "H3_EXCESSIVE_LOAD"),
            (Fault::Malformed("x"), "H3_MESSAGE_ERROR"),
            (qpack::INVALID, "QPACK_DECOMPRESSION_FAILED"),
        ] {
            assert!(shown(code(&fault)).starts_with(name), "{fault}");
        }
    }
}
