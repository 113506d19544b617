//! `spin`: each request computes in one named function, to test tools that report functions.

use std::hint::black_box;
use std::sync::Arc;

use super::delay::Delay;
use crate::{Options, ServeError};

pub(super) fn delay(options: &Options<'_>, _threads: u32) -> Result<Option<Delay>, ServeError> {
    let Some(us) = options.positive("spin")? else { return Ok(None) };
    let spin_ns = (us * 1e3) as u64;
    Ok(Some(Arc::new(move || planted_spin(spin_ns))))
}

/// Computes until the thread's CPU clock has advanced by a given time. The clock is read rarely, so a profiler finds
/// nearly all of its samples in this function itself.
#[inline(never)]
fn planted_spin(spin_ns: u64) {
    const LOOPS_PER_READING: u64 = 10_000;
    let until = sys::clock::thread_cpu_ns() + spin_ns;
    let mut x = 1_u64;
    while sys::clock::thread_cpu_ns() < until {
        for _ in 0..LOOPS_PER_READING {
            x = black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
    }
}
