//! Code of a JVM: compiled methods, the interpreter, and code that connects both with the JVM.

use super::layout::{CodeFields, Layout};
use super::tables::text;
use crate::memory::{Memory, Remote};

/// Maximum number of code heaps.
const MAX_HEAPS: u64 = 16;
/// Mark of a segment without code. Source: HotSpot's share/memory/heap.hpp.
const FREE_SEGMENT: u8 = 0xff;
/// Maximum number of segments between an address and the beginning of its code, each a step of at most 254 segments.
const MAX_STEPS: usize = 4096;

/// Kind of code at an address.
pub(super) enum Kind {
    /// A compiled method. The value is the address of the method's structure.
    Compiled(u64),
    /// Code that calls a native function. The value is the address of the structure of its method.
    Native(u64),
    /// The interpreter.
    Interpreter,
    /// Other code, such as a call of the JVM by compiled code.
    Other,
}

/// A piece of code.
pub(super) struct Blob {
    pub(super) at: u64,
    pub(super) kind: Kind,
    /// Size of its stack frames, in bytes.
    pub(super) frame_bytes: u64,
}

/// Returns the code at an address. Returns `None` if the address is not inside the code of Java.
pub(super) fn blob(memory: &mut Remote, layout: &Layout, address: u64) -> Option<Blob> {
    let code = &layout.code;
    let at = start(memory, code, address)?;
    let name = memory.word(at.checked_add(code.name)?)?;
    let kind = match text(memory, name)?.as_str() {
        "nmethod" => Kind::Compiled(memory.word(at.checked_add(code.method)?)?),
        "native nmethod" => Kind::Native(memory.word(at.checked_add(code.method)?)?),
        "Interpreter" => Kind::Interpreter,
        _ => Kind::Other,
    };
    let words = memory.half(at.checked_add(code.frame_words)?)?;
    Some(Blob { at, kind, frame_bytes: 8 * u64::from(words) })
}

/// Returns the beginning of the code that covers an address.
fn start(memory: &mut Remote, code: &CodeFields, address: u64) -> Option<u64> {
    let heaps = memory.word(code.heaps)?;
    let count = memory.half(heaps.checked_add(code.heaps_length)?)?;
    let first = memory.word(heaps.checked_add(code.heaps_data)?)?;
    for i in 0..u64::from(count).min(MAX_HEAPS) {
        let heap = memory.word(first.checked_add(8 * i)?)?;
        let space = heap.checked_add(code.memory)?;
        let (low, high) = (memory.word(space.checked_add(code.low)?)?, memory.word(space.checked_add(code.high)?)?);
        if (low..high).contains(&address) {
            let map = memory.word(heap.checked_add(code.segments)?.checked_add(code.low)?)?;
            let shift = memory.half(heap.checked_add(code.segment_shift)?)?;
            let segment = first_segment(memory, map, (address - low).checked_shr(shift)?)?;
            return low.checked_add(segment.checked_shl(shift)?)?.checked_add(code.block_bytes);
        }
    }
    None
}

/// Returns the first segment of the code that a segment belongs to. The map of segments has one byte for each segment:
/// the number of segments back to an earlier segment of the same code, and 0 for the first segment.
fn first_segment(memory: &mut Remote, map: u64, mut segment: u64) -> Option<u64> {
    for _ in 0..MAX_STEPS {
        let mut back = [0];
        if !memory.fill(map.checked_add(segment)?, &mut back) || back[0] == FREE_SEGMENT {
            return None;
        }
        if back[0] == 0 {
            return Some(segment);
        }
        segment = segment.checked_sub(u64::from(back[0]))?;
    }
    None
}
