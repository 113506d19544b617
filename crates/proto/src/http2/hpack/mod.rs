//! Header blocks of HTTP/2 (RFC 7541): a decoder with limited memory, and an encoder for requests.
//!
//! loadline has its own implementation, because the existing crates allocate memory for every decoded header or require
//! an async runtime. A load generator needs only a few headers of most responses. The header block of most responses
//! equals the block of the previous response.

mod encode;
pub(crate) mod primitives;
mod static_table;

use std::collections::VecDeque;

use crate::Fault;
pub(crate) use encode::{Blocks, FieldCoding, HPACK};
pub(super) use encode::{write_field, write_fields, write_name};
pub(super) use primitives::INVALID;
pub(crate) use primitives::{MAX_LIST_BYTES, write_length};
use primitives::{integer, string};
use static_table::STATIC_TABLE;

/// Size of a decoder's dynamic table, bytes: the default of the standard (RFC 9113, section 6.5.2).
pub(super) const TABLE_BYTES: usize = 4096;
/// Additional size of each table entry, bytes (RFC 7541, section 4.1).
pub(crate) const ENTRY_OVERHEAD: usize = 32;

/// A header in the dynamic table: name and value in one buffer.
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

/// The decoder of one connection.
#[derive(Debug)]
pub(super) struct Decoder {
    entries: VecDeque<Entry>,
    size: usize,
    limit: usize,
    name: Vec<u8>,
    value: Vec<u8>,
    /// True if the last header block did not change the dynamic table. As long as the table does not change, another
    /// header block with the same bytes has the same content.
    pub(super) repeatable: bool,
}

impl Default for Decoder {
    fn default() -> Self {
        let (name, value) = (Vec::new(), Vec::new());
        Self { entries: VecDeque::new(), size: 0, limit: TABLE_BYTES, name, value, repeatable: false }
    }
}

impl Decoder {
    /// Decodes a complete header block, and calls `each` with its headers.
    pub(super) fn decode(&mut self, mut block: &[u8], mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Fault> {
        self.repeatable = true;
        let (mut list, mut begun) = (0, false);
        while let Some(&first) = block.first() {
            if first & 0xe0 == 0x20 {
                // The peer changes the size of the dynamic table, which is allowed only before the first header of a
                // block.
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

    /// Looks up the name at `index` in the static and the dynamic table. If `whole` is true, also looks up the value.
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

    /// Drops the oldest entries until the table has at most `room` bytes. Returns the entry that was dropped last, so
    /// that its memory can be reused.
    fn evict(&mut self, room: usize) -> Option<Entry> {
        let mut last = None;
        while self.size > room {
            let Some(entry) = self.entries.pop_back() else { break };
            self.size -= entry.size();
            last = Some(entry);
        }
        last
    }

    /// Empties the dynamic table for a new connection.
    pub(super) fn reset(&mut self) {
        self.entries.clear();
        (self.size, self.limit, self.repeatable) = (0, TABLE_BYTES, false);
    }
}

#[cfg(test)]
mod tests;
