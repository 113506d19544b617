//! Numbers in the tables of a Go program, and addresses in its module data (`runtime.moduledata`). Source:
//! src/runtime/symtab.go. The linker writes the module data to the section `.go.module` since Go 1.26.

use crate::elf::Section;

/// Offset of the field `text` in the module data. Before the field `text` come one pointer, six slices, and the fields
/// findfunctab, minpc and maxpc.
const TEXT_OFFSET: usize = 8 + 6 * 24 + 3 * 8;

/// Offset of the field `gofunc` in the module data: 18 pointers after the field `text`.
const TREES_OFFSET: usize = TEXT_OFFSET + 18 * 8;

/// Reads the start of Go's code from the module data, as the linker wrote it. Returns `None` for a position-independent
/// program, whose file has 0 in this field.
pub(crate) fn module_text(module: &Section) -> Option<u64> {
    word(&module.bytes, TEXT_OFFSET).filter(|text| *text != 0)
}

/// Reads the address of the trees of inlined calls from the module data, as [`module_text`] does.
pub(crate) fn module_trees(module: &Section) -> Option<u64> {
    word(&module.bytes, TREES_OFFSET).filter(|trees| *trees != 0)
}

/// Returns the eight bytes at an index as a number.
pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|b| u64::from_le_bytes(*b))
}

/// Returns the four bytes at an index as a number.
pub(crate) fn half(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|b| u32::from_le_bytes(*b))
}
