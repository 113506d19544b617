//! Integers and strings in header blocks (RFC 7541, section 5).

use crate::Fault;
use crate::http2::huffman::{self, TOO_LONG};

/// Maximum total size of the decoded headers of one header block, bytes. A small header block may expand to large
/// headers.
pub(crate) const MAX_LIST_BYTES: usize = 256 * 1024;
pub(crate) const INVALID: Fault = Fault::Malformed("a header block of HTTP/2 is wrong (HPACK)");

/// Reads an integer with a prefix of `bits` bits (RFC 7541, section 5.1). Refuses integers with more than four bytes
/// after the prefix.
pub(crate) fn integer(block: &mut &[u8], bits: u32) -> Result<usize, Fault> {
    let mut bytes = block.iter();
    let mask = (1_u8 << bits) - 1;
    let mut value = usize::from(bytes.next().ok_or(INVALID)? & mask);
    if value == usize::from(mask) {
        for shift in [0, 7, 14, 21] {
            let byte = *bytes.next().ok_or(INVALID)?;
            value += usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                *block = bytes.as_slice();
                return Ok(value);
            }
        }
        return Err(INVALID);
    }
    *block = bytes.as_slice();
    Ok(value)
}

pub(super) fn string(block: &mut &[u8], to: &mut Vec<u8>) -> Result<(), Fault> {
    string_after(block, 7, to)
}

/// Reads a string whose length has a prefix of `bits` bits. The bit before the prefix marks Huffman coding.
pub(crate) fn string_after(block: &mut &[u8], bits: u32, to: &mut Vec<u8>) -> Result<(), Fault> {
    let coded = block.first().ok_or(INVALID)? >> bits & 1 == 1;
    let length = integer(block, bits)?;
    let (bytes, rest) = block.split_at_checked(length).ok_or(INVALID)?;
    *block = rest;
    to.clear();
    if coded {
        return huffman::decode(bytes, to, MAX_LIST_BYTES);
    }
    if length > MAX_LIST_BYTES {
        return Err(TOO_LONG);
    }
    to.extend_from_slice(bytes);
    Ok(())
}

/// Appends an integer with a prefix of `bits` bits. `first` contains the bits before the prefix.
pub(crate) fn write_integer(to: &mut Vec<u8>, first: u8, bits: u32, value: usize) {
    let mask = (1_usize << bits) - 1;
    if value < mask {
        return to.push(first | value as u8);
    }
    to.push(first | mask as u8);
    let mut rest = value - mask;
    while rest >= 0x80 {
        to.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    to.push(rest as u8);
}

pub(crate) fn write_string(to: &mut Vec<u8>, text: &str) {
    write_length(to, text.len());
    to.extend_from_slice(text.as_bytes());
}

/// Appends the length of a string without Huffman coding.
pub(crate) fn write_length(to: &mut Vec<u8>, length: usize) {
    write_integer(to, 0, 7, length);
}
