//! A program or library file: its symbols, unwinding rules and source lines.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex};

use object::read::ReadCache;

use crate::debug_file;
use crate::elf::{Elf, Segment};
use crate::frame::Frame;
use crate::go::GoTable;
use crate::lines::Lines;
use crate::names;
use crate::reading_cost::ReadingCost;
use crate::room::is_room_for;
use crate::rules::UnwindSections;
use crate::symbols::{Kind, Symbols};

/// Maximum number of addresses whose frames are kept. Frames of further addresses are looked up each time.
const MAX_FRAMES: usize = 1 << 14;

/// A program or library file. All addresses are addresses in the file, not in the memory of a process.
pub(crate) struct Image {
    pub(crate) name: Arc<str>,
    pub(crate) segments: Vec<Segment>,
    pub(crate) unwind: Option<UnwindSections>,
    pub(crate) go: Option<GoTable>,
    symbols: Symbols,
    files: Vec<File>,
    lines: Mutex<Option<Lines>>,
    /// Frames that were looked up so far, by address.
    frames: Mutex<HashMap<u64, Arc<[Frame]>>>,
    cost: ReadingCost,
}

impl Image {
    /// Reads a program or library file. `root` is the root folder of the process, in which a separate file with debug
    /// information may be. `cost` counts the CPU time of the look-ups in the file.
    pub(crate) fn read(file: File, path: &Path, root: &Path, cost: &ReadingCost) -> Option<Self> {
        if !is_room_for(&file) {
            return None;
        }
        let mut files = vec![file.try_clone().ok()?];
        let cache = ReadCache::new(file);
        let elf = Elf::parse(&cache)?;
        let mut symbols = Symbols::default();
        elf.symbol_tables(|table, strings| symbols.add(table, strings));
        // The debug information of a program in a container is often on the host, so both root folders are searched.
        let debug_file = |id: Vec<u8>| [root, Path::new("/")].into_iter().find_map(|root| debug_file::open(root, &id));
        if let Some(separate) = elf.build_id().and_then(debug_file).filter(is_room_for) {
            files.extend(separate.try_clone().ok());
            if let Some(elf) = Elf::parse(&ReadCache::new(separate)) {
                elf.symbol_tables(|table, strings| symbols.add(table, strings));
            }
        }
        symbols.sort();
        let name = path.file_name().map_or_else(|| "program".into(), |n| names::printable(&n.to_string_lossy()));
        Some(Self {
            name,
            segments: elf.segments(),
            unwind: UnwindSections::read(&elf),
            go: GoTable::read(&elf, &symbols),
            symbols,
            files,
            lines: Mutex::new(None),
            frames: Mutex::new(HashMap::new()),
            cost: cost.clone(),
        })
    }

    /// Returns the frames for the code at `lookup`: the inlined functions of Go, the innermost first, and then the
    /// function that contains them. To get the frames of a caller, pass an address inside the caller's call instruction.
    pub(crate) fn frames(&self, lookup: u64) -> Arc<[Frame]> {
        let Ok(mut frames) = self.frames.lock() else { return self.find_frames(lookup) };
        if let Some(frames) = frames.get(&lookup) {
            return frames.clone();
        }
        if frames.len() >= MAX_FRAMES {
            return self.find_frames(lookup);
        }
        let found = self.cost.count(|| self.find_frames(lookup));
        frames.insert(lookup, found.clone());
        found
    }

    fn find_frames(&self, lookup: u64) -> Arc<[Frame]> {
        let frame = |function, place: Option<(Arc<str>, Option<u32>)>| {
            let (file, line) = place.map_or((None, None), |(file, line)| (Some(file), line));
            Frame { function, module: self.name.clone(), file, line }
        };
        let go = self.go.as_ref().map(|go| go.functions(lookup)).unwrap_or_default();
        if go.is_empty() {
            let symbol = self.symbols.covering(lookup, Kind::Function).map(|(_, name)| names::readable(name));
            return [frame(symbol, self.place(lookup))].into();
        }
        go.into_iter().map(|function| frame(Some(function.name), function.place)).collect()
    }

    /// Returns the name of the global variable that covers `address`, and the offset of the address in this variable.
    pub(crate) fn global(&self, address: u64) -> Option<(Arc<str>, u64)> {
        let (start, name) = self.symbols.covering(address, Kind::Object)?;
        Some((names::readable(name), address - start))
    }

    /// Returns the address of the global variable with exactly this name in the symbol table.
    pub(crate) fn object(&self, name: &str) -> Option<u64> {
        self.symbols.object(name.as_bytes())
    }

    /// Returns the start of the function whose symbol covers `address`.
    pub(crate) fn function_start(&self, address: u64) -> Option<u64> {
        self.symbols.covering(address, Kind::Function).map(|(start, _)| start)
    }

    fn place(&self, address: u64) -> Option<(Arc<str>, Option<u32>)> {
        let mut lines = self.lines.lock().ok()?;
        let lines = lines.get_or_insert_with(|| Lines::read(&self.files));
        lines.place(address)
    }
}
