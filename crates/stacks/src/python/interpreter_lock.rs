//! The interpreter lock of CPython (GIL): the thread that holds it.

use super::layout::{Layout, LockPlace};
use crate::memory::{Memory, Remote};

/// Additional bytes before `gilstate` in `_PyRuntime`. On most machines, each of the two mutexes of glibc before
/// `gilstate` has 48 bytes. On x86_64, each mutex has 40 bytes.
const MUTEX_BYTES: u64 = if cfg!(target_arch = "x86_64") { 0 } else { 16 };

/// Offset of the last holder in CPython's `struct _gil_runtime_state`.
const LAST_HOLDER: u64 = 8;
/// Offset of the state in CPython's `struct _gil_runtime_state`: 1 while a thread holds the lock.
const LOCKED: u64 = 16;

/// Returns the address of the structure of the thread that holds the interpreter lock. Returns `None` if no thread
/// holds the lock. `runtime` is the address of `_PyRuntime`.
pub(super) fn holder(memory: &mut Remote, layout: &Layout, runtime: u64) -> Option<u64> {
    memory.forget();
    let thread = match layout.lock {
        LockPlace::Runtime(offset) => memory.word(runtime.checked_add(offset + MUTEX_BYTES)?)?,
        LockPlace::Interpreter(offset) => {
            let interpreter = memory.word(runtime.checked_add(layout.interpreters)?)?;
            let lock = memory.word(interpreter.checked_add(offset)?).filter(|lock| *lock != 0)?;
            let is_held = memory.half(lock.checked_add(LOCKED)?)? == 1;
            if is_held { memory.word(lock.checked_add(LAST_HOLDER)?)? } else { 0 }
        }
    };
    (thread != 0).then_some(thread)
}
