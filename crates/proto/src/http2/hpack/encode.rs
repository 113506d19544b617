//! Encoding of the headers of requests and answers.

use super::ENTRY_OVERHEAD;
use super::primitives::{write_integer, write_string};
use super::static_table::STATIC_TABLE;

/// Appends a header as a literal that is not stored in any table. If possible, its name is written as an index into the
/// static table.
pub(crate) fn write_field(to: &mut Vec<u8>, name: &str, value: &str) {
    if let Some(at) = STATIC_TABLE.iter().position(|known| *known == (name, value)) {
        return write_integer(to, 0x80, 7, at + 1);
    }
    write_name(to, name);
    write_string(to, value);
}

/// Appends the name of a header as a literal that is not stored in any table; its value must follow.
pub(crate) fn write_name(to: &mut Vec<u8>, name: &str) {
    let index = STATIC_TABLE.iter().position(|known| known.0 == name).map_or(0, |at| at + 1);
    write_integer(to, 0, 4, index);
    if index == 0 {
        write_string(to, name);
    }
}

/// Encodes headers as a block that does not change the peer's table.
pub(crate) fn write_fields<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<u8> {
    let mut block = Vec::new();
    fields.for_each(|(name, value)| write_field(&mut block, name, value));
    block
}

/// Header blocks of a request that is sent many times: the first block contains the headers, and later blocks refer to
/// them.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// Block for a peer that has no table.
    pub(crate) plain: Vec<u8>,
    /// First header block on a connection, which puts the headers into the peer's table.
    pub(crate) first: Vec<u8>,
    /// Header block for all later requests.
    pub(crate) later: Vec<u8>,
    /// Size of the table that these two blocks need, bytes.
    pub(crate) table: usize,
}

impl Blocks {
    /// Encodes these headers; pseudo-headers come first, and names are in lower case.
    pub(crate) fn new(headers: &[(String, String)]) -> Self {
        let mut blocks = Self::default();
        // The table size is set to 0, which is necessary once per connection and allowed before every block.
        write_integer(&mut blocks.plain, 0x20, 5, 0);
        let whole = |(name, value): &(String, String)| STATIC_TABLE.iter().position(|s| (s.0, s.1) == (name, value));
        let mut to_keep = headers.iter().filter(|header| whole(header).is_none()).count();
        for header in headers {
            let (name, value) = header;
            if let Some(at) = whole(header) {
                for to in [&mut blocks.plain, &mut blocks.first, &mut blocks.later] {
                    write_integer(to, 0x80, 7, at + 1);
                }
                continue;
            }
            let index = STATIC_TABLE.iter().position(|s| s.0 == name).map_or(0, |at| at + 1);
            for (to, first, bits) in [(&mut blocks.plain, 0, 4), (&mut blocks.first, 0x40, 6)] {
                write_integer(to, first, bits, index);
                if index == 0 {
                    write_string(to, name);
                }
                write_string(to, value);
            }
            // When all headers are stored, the one written last has the lowest index.
            to_keep -= 1;
            write_integer(&mut blocks.later, 0x80, 7, STATIC_TABLE.len() + 1 + to_keep);
            blocks.table += name.len() + value.len() + ENTRY_OVERHEAD;
        }
        blocks
    }
}
