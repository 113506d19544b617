//! `work_us`: CPU time added to each request, in one of two ways.
//!
//! `work_by=clock` (default) computes until the thread's CPU clock has advanced by the given time. Time in which the
//! thread does not run is not counted. Time in interrupts that the kernel charges to the thread counts as its CPU time.
//!
//! `work_by=loops` runs a fixed number of loop iterations, calibrated once at the start. As with real work, a request
//! takes longer if interrupts or other threads use the CPU.

use std::hint::black_box;
use std::sync::Arc;

use super::delay::Delay;
use crate::{Options, ServeError};

/// Number of loop iterations per calibration round.
const LOOPS: u64 = 1_000_000;
/// Number of calibration rounds. The fastest round is used, because disturbances only make rounds slower.
const ROUNDS: usize = 7;

pub(super) fn delay(options: &Options<'_>, _threads: u32) -> Result<Option<Delay>, ServeError> {
    let Some(us) = options.positive("work_us")? else { return Ok(None) };
    match options.get::<String>("work_by")?.as_deref() {
        None | Some("clock") => Ok(Some(by_clock((us * 1e3) as u64))),
        Some("loops") => Ok(Some(by_loops(us))),
        Some(other) => Err(ServeError::BadOption { name: "work_by", value: other.into(), wants: "clock or loops" }),
    }
}

fn by_clock(work_ns: u64) -> Delay {
    Arc::new(move || {
        let until = sys::clock::thread_cpu_ns() + work_ns;
        while sys::clock::thread_cpu_ns() < until {
            std::hint::spin_loop();
        }
    })
}

fn by_loops(us: f64) -> Delay {
    let timed = |_| {
        let begin = sys::clock::monotonic_ns();
        spin(LOOPS);
        sys::clock::monotonic_ns() - begin
    };
    let fastest_ns = (0..ROUNDS).map(timed).min().unwrap_or(1).max(1);
    let loops = (us * 1e3 * LOOPS as f64 / fastest_ns as f64).round() as u64;
    Arc::new(move || spin(loops))
}

#[inline(never)]
fn spin(loops: u64) {
    let mut x = 1_u64;
    for _ in 0..loops {
        x = black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
}
