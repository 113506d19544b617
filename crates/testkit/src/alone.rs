//! Lock for tests that measure speeds. Tests that measure speeds disturb each other, so only one of them may run at a
//! time.

use std::sync::{Mutex, MutexGuard, PoisonError};

static ALONE: Mutex<()> = Mutex::new(());

/// Waits until no other measuring test of this binary runs. Until the returned guard is dropped, other measuring tests
/// wait.
pub fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
