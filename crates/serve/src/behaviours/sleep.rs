//! `sleep_ms`: the thread that serves a request sleeps first, as a worker does that waits for something downstream.
//! With model `workers` the capacity is workers / sleep, and the processors stay idle.

use std::sync::Arc;

use super::delay::Delay;
use crate::{Options, ServeError};

pub(super) fn delay(options: &Options<'_>, _threads: u32) -> Result<Option<Delay>, ServeError> {
    let Some(ms) = options.positive("sleep_ms")? else { return Ok(None) };
    let sleep_ns = (ms * 1e6) as u64;
    Ok(Some(Arc::new(move || sys::clock::sleep_until_ns(sys::clock::monotonic_ns() + sleep_ns))))
}
