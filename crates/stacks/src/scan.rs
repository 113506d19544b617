//! Finds the caller's frame on the stack when no register leads there. The kernel does not give the frame pointer of a
//! thread that waits, and functions that use it are found by their return address: the word after a call that reaches
//! exactly this function. A word that only looks like a return address is not accepted.

use crate::call_site::CallSites;
use crate::memory::Memory;
use crate::space::Space;

/// Words of the stack that are searched, 4 KiB. A larger frame ends the stack there.
const MAX_WORDS: u64 = 512;

/// Returns the address of the word that holds the return address of the function at `start`, above the stack pointer.
pub(crate) fn return_slot(
    space: &Space,
    calls: &mut CallSites,
    stack: &mut dyn Memory,
    sp: u64,
    start: u64,
) -> Option<u64> {
    let slots = (0..MAX_WORDS).map_while(|i| sp.checked_add(8 * i));
    for slot in slots {
        let word = stack.word(slot)?;
        if calls.reaches(space, word, start) {
            return Some(slot);
        }
    }
    None
}
