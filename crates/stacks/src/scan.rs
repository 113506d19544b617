//! Finds the caller's frame on the stack if no register points to it. For a waiting thread, the kernel does not report
//! the frame pointer. The first instructions of the innermost function give the size of its frame. The word at the end
//! of the innermost frame is accepted if it is any return address. Any other word on the stack is accepted only if it
//! is the return address of a call of the innermost function.

use crate::call_site::CallSites;
use crate::memory::Memory;
use crate::space::Space;

/// Maximum number of words of the stack that are searched (4 KiB). If the return address is not among the searched
/// words, unwinding ends.
const MAX_WORDS: u64 = 512;

/// Returns the stack address, at or above `sp`, of the return address of the function that starts at `start`. `pc` is
/// the address of the instruction that the thread executes.
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

/// Returns the address of the word at the end of the frame that the function's first instructions set up. The word at
/// the end of the frame counts as the return address if it follows any call instruction. Even a call through a
/// register, whose target is unknown, is accepted.
fn frame_end(calls: &mut CallSites, sp: u64, (start, pc): (u64, u64)) -> Option<u64> {
    let prologue = calls.prologue(start).filter(|prologue| pc.wrapping_sub(start) >= prologue.code_bytes)?;
    sp.checked_add(prologue.frame_bytes)
}
