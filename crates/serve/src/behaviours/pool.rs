//! `pool`: each request sleeps while it holds one slot of a small pool. The slot is taken in a named function, to test
//! tools that report functions and pools.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::delay::Delay;
use crate::{Options, ServeError};

/// Default time for which a request holds a slot, milliseconds. The default is long compared with the rest of the time
/// that a request takes.
const DEFAULT_HOLD_MS: f64 = 10.0;

/// Number of slots that requests hold now.
static PLANTED_POOL: Mutex<u32> = Mutex::new(0);
static PLACE_IS_FREE: Condvar = Condvar::new();

pub(super) fn delay(options: &Options<'_>, _threads: u32) -> Result<Option<Delay>, ServeError> {
    let Some(places) = options.positive("pool")? else { return Ok(None) };
    let hold_ns = (options.positive("pool_ms")?.unwrap_or(DEFAULT_HOLD_MS) * 1e6) as u64;
    Ok(Some(Arc::new(move || planted_pool(places as u32, hold_ns))))
}

/// Takes a slot of the pool, and sleeps while it holds the slot.
#[inline(never)]
fn planted_pool(places: u32, hold_ns: u64) {
    let taken = PLANTED_POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let mut taken = PLACE_IS_FREE.wait_while(taken, |taken| *taken >= places).unwrap_or_else(PoisonError::into_inner);
    *taken += 1;
    drop(taken);
    sys::clock::sleep_until_ns(sys::clock::monotonic_ns() + hold_ns);
    *PLANTED_POOL.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
    PLACE_IS_FREE.notify_one();
}
