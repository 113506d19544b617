//! Source files and lines, from DWARF.

use std::fs::File;
use std::sync::Arc;

use addr2line::Context;
use gimli::{Dwarf, EndianArcSlice, LittleEndian, SectionId};
use object::read::ReadCache;

use crate::elf::{Elf, MAX_SECTION_BYTES};
use crate::names::printable;
use crate::room::is_room_for;

/// Maximum size of all debug information of one file. If a program has more debug information, its frames have function
/// names but no lines.
const MAX_DEBUG_BYTES: u64 = 2 * MAX_SECTION_BYTES;

/// Maximum depth of functions that are inlined into one another.
const MAX_INLINED: usize = 256;

type Reader = EndianArcSlice<LittleEndian>;

/// Table of the source files and lines of a program's code, from DWARF; empty if no file has usable debug information.
pub(crate) struct Lines(Option<Context<Reader>>);

impl Lines {
    /// Reads the debug information of the first file that has usable debug information.
    pub(crate) fn read(files: &[File]) -> Self {
        Self(files.iter().filter(|file| is_room_for(file)).find_map(read_one))
    }

    /// Returns the source file and the line of the code at `address`. For code of an inlined function, returns the line
    /// of the call in the outermost function, because only that function has a symbol.
    pub(crate) fn place(&self, address: u64) -> Option<(Arc<str>, Option<u32>)> {
        let mut frames = self.0.as_ref()?.find_frames(address).skip_all_loads().ok()?;
        let mut location = None;
        for _ in 0..MAX_INLINED {
            let Ok(Some(frame)) = frames.next() else { break };
            location = frame.location.or(location);
        }
        let location = location?;
        Some((printable(location.file?), location.line.filter(|line| *line > 0)))
    }
}

fn read_one(file: &File) -> Option<Context<Reader>> {
    let cache = ReadCache::new(file.try_clone().ok()?);
    let elf = Elf::parse(&cache)?;
    elf.section_range(".debug_line")?;
    let mut left = MAX_DEBUG_BYTES;
    let mut load = |id: SectionId| {
        let size = elf.section_range(id.name()).map_or(0, |(_, size)| size);
        left = left.checked_sub(size).ok_or(())?;
        let bytes = elf.read_section(file, id.name()).unwrap_or_else(|| Arc::from([]));
        Ok(Reader::new(bytes, LittleEndian))
    };
    let dwarf = Dwarf::load(|id| load(id) as Result<Reader, ()>).ok()?;
    Context::from_dwarf(dwarf).ok()
}
