//! Encoding of the headers of requests and answers.

use super::primitives::{write_integer, write_string};
use super::static_table::STATIC_TABLE;
use super::{ENTRY_OVERHEAD, TABLE_BYTES};

/// Functions that encode the headers of requests in one of the two forms: HPACK of HTTP/2, or QPACK of HTTP/3. HPACK
/// and QPACK both encode a value as its length and its bytes, so this struct has no function for values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldCoding {
    /// Bytes at the beginning of each header block.
    pub(crate) prefix: &'static [u8],
    /// Appends an encoded header.
    pub(crate) write_field: fn(&mut Vec<u8>, &str, &str),
    /// Appends the name of a header; the caller appends the value.
    pub(crate) write_name: fn(&mut Vec<u8>, &str),
    /// Encodes the headers of a request that is sent many times.
    pub(crate) blocks: fn(&[(String, String)]) -> Blocks,
}

/// Functions of HPACK (HTTP/2). The prefix of a block sets the size of the peer's dynamic table to 0, because the table
/// is not used. A peer with a smaller table than the default expects this prefix (RFC 9113, section 4.3.1).
pub(crate) const HPACK: FieldCoding = FieldCoding { prefix: &[0x20], write_field, write_name, blocks: Blocks::new };

/// Appends a header without storing it in the peer's table. A header in the static table is written as an index;
/// otherwise, the name is written as an index if the static table contains it.
pub(crate) fn write_field(to: &mut Vec<u8>, name: &str, value: &str) {
    if let Some(at) = STATIC_TABLE.iter().position(|known| *known == (name, value)) {
        return write_integer(to, 0x80, 7, at + 1);
    }
    write_name(to, name);
    write_string(to, value);
}

/// Appends the name of a header that is not stored in the peer's table. The caller appends the value of the header.
pub(crate) fn write_name(to: &mut Vec<u8>, name: &str) {
    let index = STATIC_TABLE.iter().position(|known| known.0 == name).map_or(0, |at| at + 1);
    write_integer(to, 0, 4, index);
    if index == 0 {
        write_string(to, name);
    }
}

/// Encodes headers as a header block that does not change the peer's dynamic table.
pub(crate) fn write_fields<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<u8> {
    let mut block = Vec::new();
    fields.for_each(|(name, value)| write_field(&mut block, name, value));
    block
}

/// Header blocks of a request that is sent many times. The first block contains the headers, and the blocks of later
/// requests contain only references to the peer's table. If the headers do not fit into a table of the default size,
/// all three blocks are the same, and do not use the table.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// Encoded headers of a request (header block) to a peer whose dynamic table cannot be used.
    pub(crate) plain: Vec<u8>,
    /// Encoded headers of the first request on a connection, which put the headers into the peer's table.
    pub(crate) first: Vec<u8>,
    /// Encoded headers of each later request on the connection, which refer to the peer's table.
    pub(crate) later: Vec<u8>,
    /// Size of the peer's table that `first` and `later` need, bytes.
    pub(crate) table: usize,
}

impl Blocks {
    /// Encodes the headers of a request as the three header blocks of [`Blocks`]. In `headers`, pseudo-headers must
    /// come first, and names must be in lower case.
    pub(crate) fn new(headers: &[(String, String)]) -> Self {
        let mut blocks = Self::default();
        // The header block begins by setting the size of the peer's table to 0, because the block does not use the
        // table. Setting the size is necessary only once per connection, but is allowed at the beginning of every
        // block.
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
            // After the peer has stored all headers, the header that was written last has the lowest index.
            to_keep -= 1;
            write_integer(&mut blocks.later, 0x80, 7, STATIC_TABLE.len() + 1 + to_keep);
            blocks.table += name.len() + value.len() + ENTRY_OVERHEAD;
        }
        // The peer's table has the default size. If the headers do not fit into the table, the peer evicts some of
        // them, so no block may refer to an evicted header.
        if blocks.table > TABLE_BYTES {
            (blocks.first, blocks.later) = (blocks.plain.clone(), blocks.plain.clone());
        }
        blocks
    }
}
