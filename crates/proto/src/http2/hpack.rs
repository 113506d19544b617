//! Header blocks of HTTP/2 (RFC 7541): a bounded decoder, and an encoder for requests.
//!
//! loadline has its own code, because the available crates allocate for every decoded header or require a runtime. The
//! responses that a load generator receives mostly repeat the previous block, and only two headers matter.

use std::collections::VecDeque;

use super::huffman;
use crate::Fault;

/// Size of a decoder's table in bytes, which is the default of both sides (RFC 9113, section 6.5.2).
pub(super) const TABLE_BYTES: usize = 4096;
/// Overhead of each table entry in bytes (RFC 7541, section 4.1).
const ENTRY_OVERHEAD: usize = 32;
/// Maximum bytes of a name or value, and of all headers of one block, because small blocks may encode large headers.
const MAX_STRING_BYTES: usize = 16 * 1024;
const MAX_LIST_BYTES: usize = 256 * 1024;

pub(super) const INVALID: Fault = Fault::Malformed("a header block of HTTP/2 is wrong (HPACK)");

/// A header written before: name and value in one buffer.
#[derive(Debug, Default)]
struct Entry {
    bytes: Vec<u8>,
    name: usize,
}

impl Entry {
    fn size(&self) -> usize {
        self.bytes.len() + ENTRY_OVERHEAD
    }
}

/// The decoder of a connection.
#[derive(Debug)]
pub(super) struct Decoder {
    entries: VecDeque<Entry>,
    size: usize,
    limit: usize,
    name: Vec<u8>,
    value: Vec<u8>,
    /// True if the last block left the table unchanged, so that an equal block has equal content.
    pub(super) repeatable: bool,
}

impl Default for Decoder {
    fn default() -> Self {
        let (name, value) = (Vec::new(), Vec::new());
        Self { entries: VecDeque::new(), size: 0, limit: TABLE_BYTES, name, value, repeatable: false }
    }
}

impl Decoder {
    /// Reads a whole block and calls `each` with its headers.
    pub(super) fn decode(&mut self, mut block: &[u8], mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Fault> {
        self.repeatable = true;
        let (mut list, mut begun) = (0, false);
        while let Some(&first) = block.first() {
            if first & 0xe0 == 0x20 {
                // A new table size, allowed only before the first header.
                let size = integer(&mut block, 5)?;
                if begun || size > TABLE_BYTES {
                    return Err(INVALID);
                }
                self.resize(size);
                continue;
            }
            begun = true;
            let (bits, indexed, kept) = match first {
                0x80.. => (7, true, false),
                0x40..=0x7f => (6, false, true),
                _ => (4, false, false),
            };
            let index = integer(&mut block, bits)?;
            self.named(index, indexed)?;
            if !indexed {
                if index == 0 {
                    string(&mut block, &mut self.name)?;
                }
                string(&mut block, &mut self.value)?;
            }
            list += self.name.len() + self.value.len() + ENTRY_OVERHEAD;
            if list > MAX_LIST_BYTES {
                return Err(Fault::Limit("headers of HTTP/2 of more than 256 KiB"));
            }
            if kept {
                self.keep();
            }
            each(&self.name, &self.value);
        }
        Ok(())
    }

    /// Takes the name, and for an indexed header the value, from the tables.
    fn named(&mut self, index: usize, whole: bool) -> Result<(), Fault> {
        self.name.clear();
        self.value.clear();
        let (name, value) = match index {
            0 if whole => return Err(INVALID),
            0 => return Ok(()),
            1..=61 => (STATIC_TABLE[index - 1].0.as_bytes(), STATIC_TABLE[index - 1].1.as_bytes()),
            _ => {
                let entry = self.entries.get(index - STATIC_TABLE.len() - 1).ok_or(INVALID)?;
                entry.bytes.split_at(entry.name)
            }
        };
        self.name.extend_from_slice(name);
        if whole {
            self.value.extend_from_slice(value);
        }
        Ok(())
    }

    fn keep(&mut self) {
        self.repeatable = false;
        let size = self.name.len() + self.value.len() + ENTRY_OVERHEAD;
        let mut entry = self.evict(self.limit.saturating_sub(size)).unwrap_or_default();
        if size > self.limit {
            return;
        }
        entry.bytes.clear();
        entry.bytes.extend_from_slice(&self.name);
        entry.bytes.extend_from_slice(&self.value);
        entry.name = self.name.len();
        self.size += size;
        self.entries.push_front(entry);
    }

    fn resize(&mut self, limit: usize) {
        self.repeatable = false;
        self.limit = limit;
        self.evict(limit);
    }

    /// Drops the oldest entries until `room` bytes are free. Returns the last dropped entry, to reuse its memory.
    fn evict(&mut self, room: usize) -> Option<Entry> {
        let mut last = None;
        while self.size > room {
            let Some(entry) = self.entries.pop_back() else { break };
            self.size -= entry.size();
            last = Some(entry);
        }
        last
    }

    /// Forgets the connection.
    pub(super) fn reset(&mut self) {
        self.entries.clear();
        (self.size, self.limit, self.repeatable) = (0, TABLE_BYTES, false);
    }
}

/// Reads an integer with a prefix of `bits` bits (RFC 7541, section 5.1), limited to a few million.
fn integer(block: &mut &[u8], bits: u32) -> Result<usize, Fault> {
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

fn string(block: &mut &[u8], to: &mut Vec<u8>) -> Result<(), Fault> {
    let coded = block.first().ok_or(INVALID)? & 0x80 != 0;
    let length = integer(block, 7)?;
    let (bytes, rest) = block.split_at_checked(length).ok_or(INVALID)?;
    *block = rest;
    to.clear();
    if coded {
        return huffman::decode(bytes, to, MAX_STRING_BYTES);
    }
    if length > MAX_STRING_BYTES {
        return Err(Fault::Limit("a header of HTTP/2"));
    }
    to.extend_from_slice(bytes);
    Ok(())
}

/// Writes an integer after the high bits of `first`.
fn write_integer(to: &mut Vec<u8>, first: u8, bits: u32, value: usize) {
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

/// Appends the length of a string without Huffman coding.
pub(super) fn write_length(to: &mut Vec<u8>, length: usize) {
    write_integer(to, 0, 7, length);
}

fn write_string(to: &mut Vec<u8>, text: &str) {
    write_length(to, text.len());
    to.extend_from_slice(text.as_bytes());
}

/// Appends a header as a literal that no table keeps. Its name uses the static table if possible.
pub(super) fn write_field(to: &mut Vec<u8>, name: &str, value: &str) {
    if let Some(at) = STATIC_TABLE.iter().position(|known| *known == (name, value)) {
        return write_integer(to, 0x80, 7, at + 1);
    }
    write_name(to, name);
    write_string(to, value);
}

/// Appends the name of a header as a literal that no table keeps; its value follows.
pub(super) fn write_name(to: &mut Vec<u8>, name: &str) {
    let index = STATIC_TABLE.iter().position(|known| known.0 == name).map_or(0, |at| at + 1);
    write_integer(to, 0, 4, index);
    if index == 0 {
        write_string(to, name);
    }
}

/// Encodes these headers into a block that leaves the peer's table unchanged.
pub(super) fn write_fields<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<u8> {
    let mut block = Vec::new();
    fields.for_each(|(name, value)| write_field(&mut block, name, value));
    block
}

/// Header blocks of a repeated request: the first block is complete, and later blocks refer to its headers.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// Block for a peer that keeps no table.
    pub(super) plain: Vec<u8>,
    /// First header block on a connection, which fills the peer's table.
    pub(super) first: Vec<u8>,
    /// Header block for all later requests.
    pub(super) later: Vec<u8>,
    /// Table size, bytes, that `first` and the later block need.
    pub(super) table: usize,
}

impl Blocks {
    /// Encodes these headers, pseudo-headers first, names in lower case.
    pub(super) fn new(headers: &[(String, String)]) -> Self {
        let mut blocks = Self::default();
        // Table size 0: needed once per connection, and allowed before every block.
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
            // Once all headers are stored, the one written last has the first index.
            to_keep -= 1;
            write_integer(&mut blocks.later, 0x80, 7, STATIC_TABLE.len() + 1 + to_keep);
            blocks.table += name.len() + value.len() + ENTRY_OVERHEAD;
        }
        blocks
    }
}

/// RFC 7541, appendix A.
#[rustfmt::skip]
const STATIC_TABLE: [(&str, &str); 61] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(decoder: &mut Decoder, block: &[u8]) -> Result<Vec<(String, String)>, Fault> {
        let mut all = Vec::new();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        decoder.decode(block, |name, value| all.push((text(name), text(value))))?;
        Ok(all)
    }

    fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
        all.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn all_three_blocks_of_a_request_say_the_same() {
        let headers = pairs(&[
            (":method", "GET"),
            (":path", "/a"),
            ("x-long", &"v".repeat(300)),
            ("accept", "x"),
            (":scheme", "https"),
        ]);
        let blocks = Blocks::new(&headers);
        let mut decoder = Decoder::default();
        assert_eq!(read(&mut decoder, &blocks.first).unwrap(), headers);
        assert_eq!(decoder.size, blocks.table);
        for _ in 0..3 {
            assert_eq!(read(&mut decoder, &blocks.later).unwrap(), headers);
            assert!(decoder.repeatable);
        }
        assert!(blocks.later.len() < 8);
        assert_eq!(read(&mut Decoder::default(), &blocks.plain).unwrap(), headers);
    }

    #[test]
    fn the_examples_of_the_standard_are_read() {
        // Appendix C.6: three responses with Huffman coding, over a table of 256 bytes, which evicts.
        let first = b"\x48\x82\x64\x02\x58\x85\xae\xc3\x77\x1a\x4b\x61\x96\xd0\x7a\xbe\x94\x10\x54\xd4\x44\xa8\x20\x05\x95\x04\x0b\x81\x66\xe0\x82\xa6\x2d\x1b\xff\x6e\x91\x9d\x29\xad\x17\x18\x63\xc7\x8f\x0b\x97\xc8\xe9\xae\x82\xae\x43\xd3";
        let mut decoder = Decoder::default();
        decoder.resize(256);
        let date = "Mon, 21 Oct 2013 20:13:21 GMT";
        let expected = |status| {
            pairs(&[
                (":status", status),
                ("cache-control", "private"),
                ("date", date),
                ("location", "https://www.example.com"),
            ])
        };
        assert_eq!(read(&mut decoder, first).unwrap(), expected("302"));
        assert_eq!(decoder.size, 222);
        assert_eq!(read(&mut decoder, b"\x48\x83\x64\x0e\xff\xc1\xc0\xbf").unwrap(), expected("307"));
        assert_eq!((decoder.size, decoder.entries.len()), (222, 4));
    }

    #[test]
    fn a_table_is_never_larger_than_allowed_and_a_bomb_is_refused() {
        let mut decoder = Decoder::default();
        let mut block = vec![];
        for i in 0..400 {
            write_integer(&mut block, 0x40, 6, 0);
            write_string(&mut block, &format!("name-{i}"));
            write_string(&mut block, &"v".repeat(200));
            assert!(decoder.size <= TABLE_BYTES);
        }
        decoder.decode(&block, |_, _| ()).unwrap();
        assert!(decoder.size <= TABLE_BYTES);
        let bomb = vec![0xbe; 4000];
        assert!(matches!(decoder.decode(&bomb, |_, _| ()), Err(Fault::Limit(_))));
        let mut large = Vec::new();
        write_integer(&mut large, 0x20, 5, TABLE_BYTES + 1);
        assert!(decoder.decode(&large, |_, _| ()).is_err());
    }

    proptest! {
        #[test]
        fn whatever_comes_is_read_or_refused(block in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut decoder = Decoder::default();
            let _ = decoder.decode(&block, |_, _| ());
            prop_assert!(decoder.size <= TABLE_BYTES);
            prop_assert_eq!(decoder.size, decoder.entries.iter().map(Entry::size).sum::<usize>());
        }
    }
}
