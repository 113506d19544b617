//! HotSpot's own description of its structures. Each JVM contains tables with the offset of each field, the size of each
//! type, and some constants. They are meant for debuggers of the same version, so they fit this JVM. Source:
//! src/hotspot/share/runtime/vmStructs.hpp.

use std::collections::HashMap;

use crate::memory::{Memory, Remote};
use crate::space::Space;

/// Maximum number of rows that are read of a table. JVMs have up to 5000 rows.
const MAX_ROWS: usize = 20_000;
/// Maximum length of a name in a table, bytes.
const MAX_NAME_BYTES: usize = 128;

/// Names of the types whose fields are kept.
const TYPES: [&str; 19] = [
    "Abstract_VM_Version",
    "CodeBlob",
    "CodeCache",
    "CodeHeap",
    "CompiledMethod",
    "ConstMethod",
    "ConstantPool",
    "GenericGrowableArray",
    "GrowableArray<int>",
    "GrowableArrayBase",
    "JavaFrameAnchor",
    "JavaThread",
    "Klass",
    "Method",
    "OSThread",
    "Symbol",
    "ThreadsList",
    "VirtualSpace",
    "nmethod",
];
/// Beginning of the names of further types whose fields are kept.
const THREAD_LISTS: &str = "ThreadsSMR";

/// File name of the library with the tables.
const LIBRARY: &str = "libjvm.so";

/// Fields, sizes and constants of one JVM.
pub(super) struct Tables {
    fields: HashMap<(String, String), u64>,
    sizes: HashMap<String, u64>,
    constants: HashMap<String, i32>,
}

impl Tables {
    /// Reads the tables of the JVM in a process. Returns `None` if the process has no JVM.
    pub(super) fn read(memory: &mut Remote, space: &mut Space) -> Option<Self> {
        let fields = Table::find(memory, space, "gHotSpotVMStruct", "TypeName")?;
        let mut column = |name: &str| global(memory, space, &format!("gHotSpotVMStructEntry{name}Offset"));
        let (field, is_static) = (column("FieldName")?, column("IsStatic")?);
        let (offset, address) = (column("Offset")?, column("Address")?);
        let mut known = HashMap::new();
        fields.each(memory, |memory, row, of| {
            if TYPES.contains(&of.as_str()) || of.starts_with(THREAD_LISTS) {
                let at = memory.word(row.checked_add(field)?)?;
                let is_static = memory.half(row.checked_add(is_static)?)? != 0;
                let value = memory.word(row.checked_add(if is_static { address } else { offset })?)?;
                known.insert((of, text(memory, at)?), value);
            }
            Some(())
        });
        let types = Table::find(memory, space, "gHotSpotVMType", "TypeName")?;
        let size = global(memory, space, "gHotSpotVMTypeEntrySizeOffset")?;
        let mut sizes = HashMap::new();
        types.each(memory, |memory, row, of| {
            sizes.insert(of, memory.word(row.checked_add(size)?)?);
            Some(())
        });
        let numbers = Table::find(memory, space, "gHotSpotVMIntConstant", "Name")?;
        let value = global(memory, space, "gHotSpotVMIntConstantEntryValueOffset")?;
        let mut constants = HashMap::new();
        numbers.each(memory, |memory, row, name| {
            constants.insert(name, memory.half(row.checked_add(value)?)? as i32);
            Some(())
        });
        Some(Self { fields: known, sizes, constants })
    }

    /// Returns the offset of a field in its structure, or the address of a static field.
    pub(super) fn field(&self, of: &str, name: &str) -> Option<u64> {
        self.fields.get(&(of.to_owned(), name.to_owned())).copied()
    }

    /// Returns the size of a type, bytes.
    pub(super) fn size(&self, of: &str) -> Option<u64> {
        self.sizes.get(of).copied()
    }

    pub(super) fn constant(&self, name: &str) -> Option<i32> {
        self.constants.get(name).copied()
    }
}

/// One of the tables.
struct Table {
    start: u64,
    row_bytes: u64,
    /// Offset of the pointer to the name, in a row.
    name: u64,
}

impl Table {
    /// Finds the table whose global variables begin with `prefix`. `name` is the column that ends with the last row.
    fn find(memory: &mut Remote, space: &mut Space, prefix: &str, name: &str) -> Option<Self> {
        Some(Self {
            start: global(memory, space, &format!("{prefix}s"))?,
            row_bytes: global(memory, space, &format!("{prefix}EntryArrayStride"))?,
            name: global(memory, space, &format!("{prefix}Entry{name}Offset"))?,
        })
    }

    /// Passes the address and the name of each row to `each`, up to the first row for which it returns `None`.
    fn each(&self, memory: &mut Remote, mut each: impl FnMut(&mut Remote, u64, String) -> Option<()>) {
        let mut row = self.start;
        for _ in 0..MAX_ROWS {
            let name = memory.word(row.wrapping_add(self.name)).filter(|at| *at != 0);
            let Some(name) = name.and_then(|at| text(memory, at)) else { return };
            if each(memory, row, name).is_none() {
                return;
            }
            row = row.wrapping_add(self.row_bytes);
        }
    }
}

/// Returns the value of a global variable of the JVM.
fn global(memory: &mut Remote, space: &mut Space, name: &str) -> Option<u64> {
    let (at, _) = space.find_global(name, |file| file == LIBRARY)?;
    memory.word(at)
}

/// Returns the text at an address, which ends with a zero byte.
pub(super) fn text(memory: &mut Remote, at: u64) -> Option<String> {
    let mut bytes = Vec::new();
    while bytes.len() < MAX_NAME_BYTES {
        let mut byte = [0];
        if !memory.fill(at.checked_add(bytes.len() as u64)?, &mut byte) {
            return None;
        }
        if byte[0] == 0 {
            return String::from_utf8(bytes).ok();
        }
        bytes.push(byte[0]);
    }
    None
}
