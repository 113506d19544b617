//! `lock`: each request sleeps while it holds a lock that all requests share. The lock is taken in a named function, to
//! test tools that report functions and locks.

use std::sync::{Arc, Mutex, PoisonError};

use super::delay::Delay;
use crate::{Options, ServeError};

/// The lock that all requests share.
static PLANTED_LOCK: Mutex<()> = Mutex::new(());

pub(super) fn delay(options: &Options<'_>, _threads: u32) -> Result<Option<Delay>, ServeError> {
    let Some(ms) = options.positive("lock")? else { return Ok(None) };
    let hold_ns = (ms * 1e6) as u64;
    Ok(Some(Arc::new(move || planted_lock(hold_ns))))
}

/// Takes the lock that all requests share, and sleeps while it holds the lock.
#[inline(never)]
fn planted_lock(hold_ns: u64) {
    let _held = PLANTED_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    sys::clock::sleep_until_ns(sys::clock::monotonic_ns() + hold_ns);
}
