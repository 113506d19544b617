//! Header blocks of HTTP/3 (RFC 9204) without the dynamic table: a decoder with limited memory, and an encoder.
//!
//! Client and server announce a dynamic table of 0 bytes, so the peer may use only the static table and literals (RFC
//! 9204, section 3.2.3). Without a dynamic table, a header block can be decoded at once, whatever happens to other
//! streams.

mod decode;
mod encode;
mod static_table;

#[cfg(test)]
pub(super) use decode::INVALID;
pub(super) use decode::{Decoder, is_of_qpack};
pub(super) use encode::{QPACK, write_field};

#[cfg(test)]
mod tests;
