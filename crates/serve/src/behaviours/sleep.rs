//! `sleep_ms`: the serving thread sleeps before each answer, like a worker that waits for a slow upstream. With the
//! model `workers`, the capacity is the number of workers divided by the sleep time, while the CPUs stay idle.

use std::sync::Arc;

use super::delay::Delay;
use crate::{Options, ServeError};

pub(super) fn delay(options: &Options<'_>, _threads: u32) -> Result<Option<Delay>, ServeError> {
    let Some(ms) = options.positive("sleep_ms")? else { return Ok(None) };
    let sleep_ns = (ms * 1e6) as u64;
    Ok(Some(Arc::new(move || sys::clock::sleep_until_ns(sys::clock::monotonic_ns() + sleep_ns))))
}
