//! Encodes the headers of HTTP/3 messages. Strings are written without Huffman coding.

use super::static_table::STATIC_TABLE;
use crate::http2::hpack::primitives::{write_integer, write_string};
use crate::http2::hpack::{Blocks, FieldCoding};

/// Prefix of each header block: the required insert count and the base are 0, because no block uses the dynamic table
/// (RFC 9204, section 4.5.1).
const PREFIX: &[u8] = &[0, 0];

/// Functions of QPACK (HTTP/3).
pub(crate) const QPACK: FieldCoding = FieldCoding { prefix: PREFIX, write_field, write_name, blocks };

/// Appends a header. A header in the static table is written as an index; otherwise, the name is written as an index if
/// the static table contains it.
pub(crate) fn write_field(to: &mut Vec<u8>, name: &str, value: &str) {
    match STATIC_TABLE.iter().position(|known| *known == (name, value)) {
        Some(index) => write_integer(to, 0xc0, 6, index),
        None => {
            write_name(to, name);
            write_string(to, value);
        }
    }
}

/// Appends the name of a header; the caller appends the value.
fn write_name(to: &mut Vec<u8>, name: &str) {
    match STATIC_TABLE.iter().position(|known| known.0 == name) {
        Some(index) => write_integer(to, 0x50, 4, index),
        None => {
            write_integer(to, 0x20, 3, name.len());
            to.extend_from_slice(name.as_bytes());
        }
    }
}

/// Encodes the headers of a request. All repetitions of a request use the same header block.
fn blocks(headers: &[(String, String)]) -> Blocks {
    let mut plain = PREFIX.to_vec();
    headers.iter().for_each(|(name, value)| write_field(&mut plain, name, value));
    Blocks { plain, ..Blocks::default() }
}
