//! Offsets of the fields in CPython's structures. All releases of a minor version have the same structures, so the
//! table has one row per minor version. The offsets were printed with `offsetof` and each version's own headers, on
//! x86_64.

use super::line_table::LineFormat;
use crate::memory::{Memory, Remote};

/// Pointers that lead from a thread to its innermost frame.
pub(super) enum FrameChain {
    Direct { frame: u64 },
    ThroughCFrame { cframe: u64, frame: u64 },
}

/// Field by which a thread is recognised.
pub(super) enum ThreadIdentity {
    /// The kernel's thread ID, which CPython stores at this offset.
    Kernel(u64),
    /// The address of glibc's `struct pthread`, which CPython stores at this offset.
    Pthread(u64),
}

/// Place where the interpreter stores which thread holds the lock.
#[derive(Clone, Copy)]
pub(super) enum LockPlace {
    /// Offset in `_PyRuntime` of the pointer to the thread that holds the lock (`gilstate.tstate_current`), on x86_64.
    Runtime(u64),
    /// Offset in an interpreter's structure of the pointer to the lock (`ceval.gil`).
    Interpreter(u64),
}

/// Representation of the instruction that a frame executes.
pub(super) enum Instruction {
    /// A pointer into the code. The code begins at the offset `code` of the code object.
    Pointer { code: u64 },
    /// A position in the code, in units of `bytes` bytes.
    Index { bytes: u64 },
}

/// Offsets of the fields of a frame.
pub(super) struct FrameFields {
    pub(super) previous: u64,
    pub(super) code: u64,
    pub(super) instruction: u64,
    pub(super) owner: Option<u64>,
}

/// Offsets of the fields of a code object.
pub(super) struct CodeFields {
    pub(super) file: u64,
    pub(super) name: u64,
    pub(super) first_line: u64,
    pub(super) lines: u64,
}

/// Offsets of fields in one version of Python.
pub(super) struct Layout {
    minor: u32,
    /// Offset of the pointer to the first interpreter, in `_PyRuntime`.
    pub(super) interpreters: u64,
    /// Offset of the pointer to the next interpreter, in an interpreter's structure.
    pub(super) next_interpreter: u64,
    /// Offset of the pointer to the first thread, in an interpreter's structure.
    pub(super) threads: u64,
    /// Offset of the pointer to the next thread, in a thread's structure.
    pub(super) next_thread: u64,
    pub(super) identity: ThreadIdentity,
    pub(super) lock: LockPlace,
    pub(super) chain: FrameChain,
    pub(super) frame: FrameFields,
    pub(super) code: CodeFields,
    instruction: Instruction,
    pub(super) lines: LineFormat,
    /// Number of bytes before the characters: of an ASCII text, and of any other text.
    pub(super) text: (u64, u64),
}

const OLD_CODE: CodeFields = CodeFields { file: 104, name: 112, first_line: 40, lines: 120 };

const fn old(minor: u32, lock: u64, instruction: u64, bytes: u64, lines: LineFormat) -> Layout {
    Layout {
        minor,
        interpreters: 32,
        next_interpreter: 0,
        threads: 8,
        next_thread: 8,
        identity: ThreadIdentity::Pthread(176),
        lock: LockPlace::Runtime(lock),
        chain: FrameChain::Direct { frame: 24 },
        frame: FrameFields { previous: 24, code: 32, instruction, owner: None },
        code: OLD_CODE,
        instruction: Instruction::Index { bytes },
        lines,
        text: (48, 72),
    }
}

const LAYOUTS: [Layout; 6] = [
    old(8, 1368, 104, 1, LineFormat::Lnotab),
    old(9, 568, 104, 1, LineFormat::Lnotab),
    old(10, 568, 96, 2, LineFormat::Ranges),
    Layout {
        minor: 11,
        interpreters: 40,
        next_interpreter: 0,
        threads: 16,
        next_thread: 8,
        identity: ThreadIdentity::Kernel(160),
        lock: LockPlace::Runtime(576),
        chain: FrameChain::ThroughCFrame { cframe: 56, frame: 8 },
        frame: FrameFields { previous: 48, code: 32, instruction: 56, owner: Some(69) },
        code: CodeFields { file: 112, name: 128, first_line: 72, lines: 136 },
        instruction: Instruction::Pointer { code: 184 },
        lines: LineFormat::Locations,
        text: (48, 72),
    },
    Layout {
        minor: 12,
        interpreters: 40,
        next_interpreter: 0,
        threads: 72,
        next_thread: 8,
        identity: ThreadIdentity::Kernel(144),
        lock: LockPlace::Interpreter(384),
        chain: FrameChain::ThroughCFrame { cframe: 56, frame: 0 },
        frame: FrameFields { previous: 8, code: 0, instruction: 56, owner: Some(70) },
        code: CodeFields { file: 112, name: 128, first_line: 68, lines: 136 },
        instruction: Instruction::Pointer { code: 192 },
        lines: LineFormat::Locations,
        text: (40, 56),
    },
    Layout {
        minor: 13,
        interpreters: 632,
        next_interpreter: 7264,
        threads: 7344,
        next_thread: 8,
        identity: ThreadIdentity::Kernel(160),
        lock: LockPlace::Interpreter(16),
        chain: FrameChain::Direct { frame: 72 },
        frame: FrameFields { previous: 8, code: 0, instruction: 56, owner: Some(70) },
        code: CodeFields { file: 112, name: 128, first_line: 68, lines: 136 },
        instruction: Instruction::Pointer { code: 200 },
        lines: LineFormat::Locations,
        text: (40, 56),
    },
];

impl Layout {
    /// Returns the layout of Python 3.`minor`.
    pub(super) fn of(minor: u32) -> Option<&'static Self> {
        LAYOUTS.iter().find(|layout| layout.minor == minor)
    }

    /// Returns the offset of a frame's instruction from the start of its code, in bytes.
    pub(super) fn instruction_offset(&self, memory: &mut Remote, frame: u64, code: u64) -> Option<u64> {
        let at = frame.checked_add(self.frame.instruction)?;
        match self.instruction {
            Instruction::Pointer { code: start } => memory.word(at)?.checked_sub(code.checked_add(start)?),
            Instruction::Index { bytes } => Some(u64::from(memory.half(at)? as i32 as u32 & 0x7fff_ffff) * bytes),
        }
    }
}
