//! Finds the caller's frame on the stack when no register leads there. The kernel does not give the frame pointer of a
//! thread that waits. Two places hold the return address: the end of the frame that the function's first instructions set
//! up, and the word after a call that reaches exactly this function. Elsewhere, a word that only looks like a return
//! address is not accepted.

use crate::call_site::CallSites;
use crate::memory::Memory;
use crate::space::Space;

/// Words of the stack that are searched, 4 KiB. A larger frame ends the stack there.
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
    by_prologue(space, calls, stack, sp, (start, pc)).or_else(|| {
        let mut slots = (0..MAX_WORDS).map_while(|i| sp.checked_add(8 * i));
        slots.find(|slot| stack.word(*slot).is_some_and(|word| calls.reaches(space, word, start)))
    })
}

/// Returns the slot at the frame's end, as the function's first instructions set it up. The word there must follow a
/// call, maybe one through a register, which does not tell the function that it reaches.
fn by_prologue(
    space: &Space,
    calls: &mut CallSites,
    stack: &mut dyn Memory,
    sp: u64,
    (start, pc): (u64, u64),
) -> Option<u64> {
    let prologue = calls.prologue(start).filter(|prologue| pc.wrapping_sub(start) >= prologue.code_bytes)?;
    let slot = sp.checked_add(prologue.frame_bytes)?;
    calls.before(space, stack.word(slot)?).map(|_| slot)
}
