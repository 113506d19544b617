//! Inlined calls of Go functions. A function's row in `.gopclntab` assigns an inlined call to each code address, as an
//! index in the function's tree of calls. Each inlined call has the name of the inlined function, and the position of an
//! instruction with the line of the call. The trees of inlined calls are in the symbol `go:func.*`. Source: src/runtime/symtabinl.go, Go 1.18 and later.

use std::sync::Arc;

use crate::elf::{Elf, MAX_SECTION_BYTES, Section};
use crate::go_bytes::{half, module_trees};
use crate::symbols::Symbols;

/// Maximum depth of functions that are inlined into one another.
pub(crate) const MAX_INLINED: usize = 256;

/// Index of the table of inlined calls among the value tables of a function (`PCDATA_InlTreeIndex`).
pub(crate) const INLINED_INDEX: u32 = 2;

/// Index of the tree of inlined calls among the data of a function (`FUNCDATA_InlTree`).
const TREE_INDEX: u32 = 3;

/// Value of a field for data that a function does not have.
const NO_DATA: u32 = u32::MAX;

/// Names of the symbol of the trees, since Go 1.20 and before.
const SYMBOLS: [&[u8]; 2] = [b"go:func.*", b"go.func.*"];

/// Inlined call of a function.
pub(crate) struct InlinedCall {
    /// Offset of the inlined function's name in the table of names.
    pub(crate) name: u32,
    /// Offset of an instruction whose source line is the line of the call. The offset counts from the first instruction
    /// of the containing function.
    pub(crate) offset: u32,
}

/// Trees of the inlined calls of one program, and the layout of the tables of its version of Go.
pub(crate) struct InlinedCalls {
    /// Bytes of all trees; empty if they were not found.
    trees: Arc<[u8]>,
    /// Size of the fixed part of a function's row, bytes.
    row_bytes: usize,
    /// Size of a call in a tree, bytes.
    call_bytes: usize,
    /// Offset of the field `nameOff` (`func_` in old versions) in a call, bytes.
    name_offset: usize,
    /// Offset of the field `parentPc` in a call, bytes.
    position_offset: usize,
}

impl InlinedCalls {
    /// Returns the layout for Go 1.18 and 1.19 (`is_old`), or for later versions. No trees are read yet.
    pub(crate) fn new(is_old: bool) -> Self {
        let (row_bytes, call_bytes, name_offset, position_offset) =
            if is_old { (40, 20, 12, 16) } else { (44, 16, 4, 8) };
        Self { trees: Arc::from([]), row_bytes, call_bytes, name_offset, position_offset }
    }

    /// Reads the trees of inlined calls, if the program says where the trees are.
    pub(crate) fn read_trees(&mut self, elf: &Elf<'_>, symbols: &Symbols, module: Option<&Section>) {
        let of_symbol = SYMBOLS.iter().find_map(|name| symbols.object_range(name));
        // The module data does not contain the end of the trees, but their section ends soon after them.
        let range = of_symbol.or_else(|| Some((module.and_then(module_trees)?, MAX_SECTION_BYTES)));
        self.trees = range.and_then(|(at, bytes)| elf.bytes_at(at, bytes)).unwrap_or(Arc::from([]));
    }

    /// Returns the index of the field of a function's row that has the place of the table of inlined calls.
    pub(crate) fn values_field(&self) -> usize {
        self.row_bytes / 4 + INLINED_INDEX as usize
    }

    /// Returns the index of the field of a function's row that has the place of its tree. The row begins at `row` in
    /// `bytes`, and has `tables` value tables. Returns `None` if the function has no tree.
    pub(crate) fn tree_field(&self, bytes: &[u8], row: usize, tables: u32) -> Option<usize> {
        let count = *bytes.get(row.checked_add(self.row_bytes - 1)?)?;
        let field = (self.row_bytes / 4).checked_add(tables as usize)?.checked_add(TREE_INDEX as usize)?;
        (u32::from(count) > TREE_INDEX).then_some(field)
    }

    /// Returns the call with the number `index` in the tree at `tree`.
    pub(crate) fn call(&self, tree: u32, index: usize) -> Option<InlinedCall> {
        let at = (tree as usize).checked_add(index.checked_mul(self.call_bytes)?)?;
        let field = |offset: usize| half(&self.trees, at.checked_add(offset)?);
        let call = InlinedCall { name: field(self.name_offset)?, offset: field(self.position_offset)? };
        (tree != NO_DATA).then_some(call)
    }
}
