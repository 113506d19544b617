//! Decodes the headers of HTTP/3 messages. Header blocks that refer to the dynamic table are refused.

use super::static_table::STATIC_TABLE;
use crate::Fault;
use crate::http2::hpack::primitives::{integer, string_after};
use crate::http2::hpack::{ENTRY_OVERHEAD, MAX_LIST_BYTES};

/// Fault for a header block that cannot be decoded.
pub(crate) const INVALID: Fault = Fault::Malformed("a header block of HTTP/3 is wrong (QPACK)");

/// Fault for a header block that uses the dynamic table.
const DYNAMIC: Fault =
    Fault::Malformed("a header block of HTTP/3 uses the dynamic table of QPACK, although its size is 0");

/// Decoder of header blocks. The decoder uses its buffers again for each header.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    name: Vec<u8>,
    value: Vec<u8>,
}

impl Decoder {
    /// Decodes a complete header block, and calls `each` with its headers. Header blocks with equal bytes always have
    /// equal content.
    pub(crate) fn decode(&mut self, mut block: &[u8], mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Fault> {
        skip_prefix(&mut block)?;
        let mut list = 0;
        while let Some(&first) = block.first() {
            self.line(first, &mut block).map_err(of_http3)?;
            list += self.name.len() + self.value.len() + ENTRY_OVERHEAD;
            if list > MAX_LIST_BYTES {
                return Err(Fault::Limit("headers of HTTP/3 of more than 256 KiB"));
            }
            each(&self.name, &self.value);
        }
        Ok(())
    }

    /// Reads one header (RFC 9204, sections 4.5.2 to 4.5.6).
    fn line(&mut self, first: u8, block: &mut &[u8]) -> Result<(), Fault> {
        match first {
            0xc0.. => {
                let (name, value) = entry(integer(block, 6)?)?;
                self.set(name, value);
                Ok(())
            }
            0x50..=0x5f | 0x70..=0x7f => {
                let (name, _) = entry(integer(block, 4)?)?;
                self.set(name, "");
                string_after(block, 7, &mut self.value)
            }
            0x20..=0x3f => {
                string_after(block, 3, &mut self.name)?;
                string_after(block, 7, &mut self.value)
            }
            _ => Err(DYNAMIC),
        }
    }

    fn set(&mut self, name: &str, value: &str) {
        self.name.clear();
        self.name.extend_from_slice(name.as_bytes());
        self.value.clear();
        self.value.extend_from_slice(value.as_bytes());
    }
}

/// Skips the prefix of a header block. The required insert count must be 0. The base has no meaning without a dynamic
/// table.
fn skip_prefix(block: &mut &[u8]) -> Result<(), Fault> {
    match block.split_first() {
        Some((0, rest)) => *block = rest,
        Some(_) => return Err(DYNAMIC),
        None => return Err(INVALID),
    }
    integer(block, 7).map(drop).map_err(of_http3)
}

fn entry(index: usize) -> Result<(&'static str, &'static str), Fault> {
    STATIC_TABLE.get(index).copied().ok_or(INVALID)
}

/// Replaces the fault of a part that QPACK shares with HPACK by the fault of HTTP/3.
fn of_http3(fault: Fault) -> Fault {
    match fault {
        DYNAMIC => DYNAMIC,
        Fault::Limit(_) => Fault::Limit("a header of HTTP/3 of more than 256 KiB"),
        _ => INVALID,
    }
}

/// Returns true if the fault is one that the decoder reports.
pub(crate) fn is_of_qpack(fault: &Fault) -> bool {
    [INVALID, DYNAMIC].contains(fault)
}
