//! Go's own table of functions, `.gopclntab`. A Go program needs this table to run, so even stripped programs have it.
//! For each code address, the table gives the function's name, the source line and the size of the stack frame. Source:
//! src/runtime/symtab.go, Go 1.18 and later.
//!
//! For inlined code, the table gives the line of the inlined function, but the name of the containing function.
//! [`InlinedCalls`] finds the names of the inlined functions, and the line of each inlined call.

use std::sync::Arc;

use crate::elf::Elf;
use crate::go_bytes::{half, module_text, word};
use crate::go_inlined::{INLINED_INDEX, InlinedCalls, MAX_INLINED};
use crate::names::{self, printable};
use crate::symbols::Symbols;

/// First bytes of the tables of Go 1.18 and of Go 1.20.
const MAGICS: [u32; 2] = [0xffff_fff0, 0xffff_fff1];

/// Maximum difference between the end of `.text` and the end of the last Go function, bytes. A larger difference means
/// that `.text` also contains C code. If `.text` also contains C code, the start of `.text` is not the start of the Go
/// code.
const MAX_TEXT_PADDING_BYTES: u64 = 64;

/// Maximum number of pairs that are decoded in one table (see [`GoTable::value`]).
const MAX_STEPS: usize = 100_000;

/// Function of a Go program that executes the code at an address.
pub(crate) struct GoFunction {
    pub(crate) name: Arc<str>,
    /// File and line of the code, or of the inlined call in it. The line is absent if the inlined call is unknown.
    pub(crate) place: Option<(Arc<str>, Option<u32>)>,
}

/// Table of the functions of one program.
pub(crate) struct GoTable {
    bytes: Arc<[u8]>,
    text: u64,
    functions: usize,
    step: u64,
    names: usize,
    units: usize,
    files: usize,
    values: usize,
    entries: usize,
    inlined: InlinedCalls,
}

impl GoTable {
    /// Reads the table of a program. Returns `None` if the program is not written in Go, or if the start of its code is
    /// unknown.
    pub(crate) fn read(elf: &Elf<'_>, symbols: &Symbols) -> Option<Self> {
        let section = elf.section(".gopclntab").or_else(|| elf.section(".data.rel.ro.gopclntab"))?;
        let mut table = Self::parse(section.bytes)?;
        let module = elf.section(".go.module");
        if table.text == 0 {
            table.text = module.as_ref().and_then(module_text).or_else(|| table.section_text(elf))?;
        }
        table.inlined.read_trees(elf, symbols, module.as_ref());
        Some(table)
    }

    fn parse(bytes: Arc<[u8]>) -> Option<Self> {
        let field = |i: usize| usize::try_from(word(&bytes, 8 + 8 * i)?).ok();
        let step = u64::from(*bytes.get(6)?);
        let magic = half(&bytes, 0)?;
        if !MAGICS.contains(&magic) || bytes.get(7) != Some(&8) || step == 0 {
            return None;
        }
        let inlined = InlinedCalls::new(magic == MAGICS[0]);
        let (text, [functions, names, units, files, values, entries]) =
            (word(&bytes, 24)?, [field(0)?, field(3)?, field(4)?, field(5)?, field(6)?, field(7)?]);
        let fits = functions.checked_mul(8)?.checked_add(entries)? < bytes.len();
        fits.then_some(Self { text, functions, step, names, units, files, values, entries, bytes, inlined })
    }

    /// Returns the start of `.text` if this section contains only Go functions.
    fn section_text(&self, elf: &Elf<'_>) -> Option<u64> {
        let (start, size) = elf.section_range(".text")?;
        let end = u64::from(self.entry(self.functions)?);
        (size.checked_sub(end)? <= MAX_TEXT_PADDING_BYTES).then_some(start)
    }

    fn entry(&self, i: usize) -> Option<u32> {
        half(&self.bytes, self.entries + 8 * i)
    }

    /// Returns the entry of the function that covers `address`, and the offset of `address` in the program's code.
    fn entry_of(&self, address: u64) -> Option<(Function<'_>, u32)> {
        let offset = u32::try_from(address.checked_sub(self.text)?).ok()?;
        let (mut low, mut high) = (0, self.functions);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.entry(middle)? <= offset { low = middle + 1 } else { high = middle }
        }
        if low == 0 || (low == self.functions && offset >= self.entry(self.functions)?) {
            return None;
        }
        let at = self.entries.checked_add(half(&self.bytes, self.entries + 8 * (low - 1) + 4)? as usize)?;
        Some((Function { table: self, at, entry: self.entry(low - 1)? }, offset))
    }

    /// Returns how far above the stack pointer the return address is stored, in bytes, while the code at `address`
    /// runs.
    pub(crate) fn frame_bytes(&self, address: u64) -> Option<u64> {
        let (function, offset) = self.entry_of(address)?;
        function.value(4, offset).and_then(|bytes| u64::try_from(bytes).ok())
    }

    /// Returns the functions that execute the code at `address`: the inlined functions, the innermost first, and then the
    /// function that contains them. If an inlined call is unknown, returns only the containing function.
    pub(crate) fn functions(&self, address: u64) -> Vec<GoFunction> {
        let Some((function, offset)) = self.entry_of(address) else { return Vec::new() };
        let Some(name) = function.name() else { return Vec::new() };
        function.inlined(offset, &name).unwrap_or_else(|| {
            // The first instruction of a function usually is not part of an inlined function.
            let own = function.inlined(function.entry, &name).and_then(|mut calls| calls.pop()?.place);
            vec![GoFunction { name, place: own.map(|(file, _)| (file, None)) }]
        })
    }

    /// Returns the name at an offset in the table of the functions' names.
    fn function_name(&self, offset: u32) -> Option<Arc<str>> {
        Some(names::readable(self.text_at(self.names.checked_add(offset as usize)?)?))
    }

    fn file(&self, unit: u32, file: i32) -> Option<Arc<str>> {
        let index = (unit as usize).checked_add(usize::try_from(file).ok()?)?;
        let name = half(&self.bytes, self.units.checked_add(index.checked_mul(4)?)?)?;
        let text = self.text_at(self.files.checked_add(name as usize)?)?;
        Some(printable(&String::from_utf8_lossy(text)))
    }

    fn text_at(&self, at: usize) -> Option<&[u8]> {
        let from = self.bytes.get(at..)?;
        Some(&from[..from.iter().take(2048).position(|b| *b == 0)?])
    }

    /// Returns the value that one of Go's tables, such as the table of lines, has at the address `target`. A table of
    /// Go's runtime is a sequence of pairs: the change of the value, and the distance to the next address.
    fn value(&self, table: u32, entry: u64, target: u64) -> Option<i32> {
        let mut rest = self.bytes.get(self.values.checked_add(table as usize)?..)?;
        let (mut value, mut address) = (-1_i32, entry);
        for step in 0..MAX_STEPS {
            let change = varint(&mut rest)?;
            if table == 0 || (change == 0 && step > 0) {
                return None;
            }
            value = value.wrapping_add((change >> 1) as i32 ^ -((change & 1) as i32));
            address = address.checked_add(u64::from(varint(&mut rest)?) * self.step)?;
            if target < address {
                return Some(value);
            }
        }
        None
    }
}

/// Row of a function in the table.
struct Function<'a> {
    table: &'a GoTable,
    /// Index of the row's first byte in the table.
    at: usize,
    /// Offset of the function's first instruction from the start of Go's code.
    entry: u32,
}

impl Function<'_> {
    /// Returns a field of four bytes.
    fn field(&self, i: usize) -> Option<u32> {
        half(&self.table.bytes, self.at.checked_add(4 * i)?)
    }

    /// Returns the value that the table in field `i` has at an offset from the start of Go's code.
    fn value(&self, i: usize, offset: u32) -> Option<i32> {
        self.table.value(self.field(i)?, self.entry.into(), offset.into())
    }

    fn file(&self, offset: u32) -> Option<Arc<str>> {
        self.table.file(self.field(8)?, self.value(5, offset)?)
    }

    fn line(&self, offset: u32) -> Option<u32> {
        u32::try_from(self.value(6, offset)?).ok().filter(|line| *line > 0)
    }

    fn name(&self) -> Option<Arc<str>> {
        self.table.function_name(self.field(1)?)
    }

    /// Returns the functions that execute the code at an offset, as [`GoTable::functions`] does. `own` is the name of
    /// this function. Returns `None` if an inlined call is unknown.
    fn inlined(&self, mut offset: u32, own: &Arc<str>) -> Option<Vec<GoFunction>> {
        let inlined = &self.table.inlined;
        let mut found = Vec::new();
        for _ in 0..MAX_INLINED {
            let values = self.field(inlined.values_field()).filter(|_| self.field(7) > Some(INLINED_INDEX));
            let index = values.and_then(|table| self.table.value(table, self.entry.into(), offset.into()));
            let index = index.and_then(|index| usize::try_from(index).ok());
            let place = self.file(offset).map(|file| (file, self.line(offset)));
            let Some(index) = index else {
                found.push(GoFunction { name: own.clone(), place });
                return Some(found);
            };
            let tree = inlined.tree_field(&self.table.bytes, self.at, self.field(7)?)?;
            let call = inlined.call(self.field(tree)?, index)?;
            found.push(GoFunction { name: self.table.function_name(call.name)?, place });
            offset = self.entry.checked_add(call.offset)?;
        }
        None
    }
}

fn varint(bytes: &mut &[u8]) -> Option<u32> {
    let mut value = 0;
    for shift in [0, 7, 14, 21, 28] {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u32::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}
