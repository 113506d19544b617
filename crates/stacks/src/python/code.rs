//! Code objects of CPython: name, file and line table.

use std::sync::Arc;

use super::layout::Layout;
use super::line_table::{LineFormat, line_at};
use super::standard_library;
use crate::frame::Frame;
use crate::memory::{Memory, Remote};
use crate::names::printable;

/// Maximum length of a text, characters.
const MAX_TEXT_CHARS: u64 = 4096;
/// Maximum length of a line table, bytes.
const MAX_TABLE_BYTES: u64 = 1 << 18;

/// Offset of the length in Python's strings and byte strings, equal in all versions.
const LENGTH: u64 = 16;
/// Offset of the flags in Python's strings, equal in all versions.
const TEXT_STATE: u64 = 32;
/// Offset of the first byte in Python's byte strings, equal in all versions.
const BYTES_START: u64 = 32;

/// Flag of a Python string: all data follows the header.
const COMPACT: u32 = 1 << 5;
/// Flag of a Python string: all characters are ASCII.
const ASCII: u32 = 1 << 6;

/// A code object of CPython, which describes one function.
pub(super) struct Code {
    name: Arc<str>,
    file: Arc<str>,
    first_line: u32,
    lines: Vec<u8>,
}

impl Code {
    /// Returns a key of a code object. The key changes if another code object takes the same address.
    pub(super) fn key(memory: &mut Remote, layout: &Layout, at: u64) -> Option<(u64, u64, u64)> {
        let name = memory.word(at.checked_add(layout.code.name)?)?;
        Some((at, name, memory.word(at.checked_add(layout.code.lines)?)?))
    }

    /// Reads the code object at an address. The name of a function of the standard library begins with its module, such
    /// as `threading.`.
    pub(super) fn read(memory: &mut Remote, layout: &Layout, at: u64) -> Option<Self> {
        let mut text = |offset| {
            let text = memory.word(at.checked_add(offset)?)?;
            read_text(memory, layout.text, text)
        };
        let (name, file) = (text(layout.code.name)?, text(layout.code.file)?);
        let first_line = memory.half(at.checked_add(layout.code.first_line)?)?;
        let lines = memory.word(at.checked_add(layout.code.lines)?)?;
        let name = match standard_library::module_of(&file) {
            Some(module) => printable(&format!("{module}.{name}")),
            None => printable(&name),
        };
        Some(Self { name, file: printable(&file), first_line, lines: read_bytes(memory, lines)? })
    }

    /// Returns the frame of a function that executes the instruction at the byte `offset` of its code.
    pub(super) fn frame(&self, format: LineFormat, offset: u64) -> Frame {
        let line = line_at(format, &self.lines, self.first_line, offset);
        Frame {
            function: Some(self.name.clone()),
            module: "python".into(),
            file: Some(self.file.clone()),
            line: line.filter(|line| *line > 0),
        }
    }
}

fn read_text(memory: &mut Remote, (ascii, other): (u64, u64), at: u64) -> Option<String> {
    let (length, state) = (memory.word(at.checked_add(LENGTH)?)?, memory.half(at.checked_add(TEXT_STATE)?)?);
    let width = if state & ASCII != 0 { 1 } else { u64::from(state >> 2 & 7) };
    if state & COMPACT == 0 || length > MAX_TEXT_CHARS || ![1, 2, 4].contains(&width) {
        return None;
    }
    let mut bytes = vec![0; usize::try_from(length * width).ok()?];
    let start = if state & ASCII != 0 { ascii } else { other };
    if !memory.fill(at.checked_add(start)?, &mut bytes) {
        return None;
    }
    let chars = bytes.chunks_exact(width as usize).map(|chunk| {
        let value = chunk.iter().rev().fold(0_u32, |value, byte| value << 8 | u32::from(*byte));
        char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER)
    });
    Some(chars.collect())
}

fn read_bytes(memory: &mut Remote, at: u64) -> Option<Vec<u8>> {
    let length = memory.word(at.checked_add(LENGTH)?).filter(|length| *length <= MAX_TABLE_BYTES)?;
    let mut bytes = vec![0; usize::try_from(length).ok()?];
    memory.fill(at.checked_add(BYTES_START)?, &mut bytes).then_some(bytes)
}
