//! Finds the caller's frame on the stack if no register points to it. The kernel does not give the frame pointer of a
//! thread that waits. A word at the end of the function's frame, whose size follows from the function's first
//! instructions, is accepted as a return address. A word elsewhere is accepted only if it is the address after a call
//! of exactly this function.

use crate::call_site::CallSites;
use crate::memory::Memory;
use crate::space::Space;

/// Number of words of the stack that are searched: 4 KiB. Unwinding ends at a function with a larger frame.
const MAX_WORDS: u64 = 512;

/// Returns the address of the word that holds the return address of the function at `start`, above the stack pointer.
/// The thread is at `pc`.
pub(crate) fn return_slot(
    space: &Space,
    calls: &mut CallSites,
    stack: &mut dyn Memory,
    sp: u64,
    (start, pc): (u64, u64),
) -> Option<u64> {
    let is_return = |calls: &mut CallSites, word| calls.before(space, word).is_some();
    let end = frame_end(calls, sp, (start, pc));
    end.filter(|slot| stack.word(*slot).is_some_and(|word| is_return(calls, word))).or_else(|| {
        let mut slots = (0..MAX_WORDS).map_while(|i| sp.checked_add(8 * i));
        slots.find(|slot| stack.word(*slot).is_some_and(|word| calls.reaches(space, word, start)))
    })
}

/// Returns the slot at the end of the frame that the function's first instructions set up. This slot holds the return
/// address if its word is the address after a call. A call through a register also counts, although its function is
/// unknown.
fn frame_end(calls: &mut CallSites, sp: u64, (start, pc): (u64, u64)) -> Option<u64> {
    let prologue = calls.prologue(start).filter(|prologue| pc.wrapping_sub(start) >= prologue.code_bytes)?;
    sp.checked_add(prologue.frame_bytes)
}
