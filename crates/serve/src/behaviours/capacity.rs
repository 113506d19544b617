//! `capacity`: a server of known capacity. Requests take turns of 1/capacity seconds; what is left of a turn after the
//! real work is spent spinning (`work`) or asleep (`sleep`). Turns follow one another without a gap as long as requests
//! wait, so late wakes do not lower the rate; after a pause the next turn begins at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::delay::Delay;
use crate::{Options, ServeError};

/// Longest time that a late wake is made up for.
const CATCH_UP_NS: u64 = 10_000_000;

pub(super) fn delay(options: &Options<'_>, threads: u32) -> Result<Option<Delay>, ServeError> {
    let Some(rate) = options.positive("capacity")? else { return Ok(None) };
    let sleeps = match options.get::<String>("capacity_by")?.as_deref() {
        None | Some("work") => false,
        Some("sleep") => true,
        Some(other) => {
            return Err(ServeError::BadOption { name: "capacity_by", value: other.into(), wants: "work or sleep" });
        }
    };
    // With several threads the turns are dealt out to all of them, and each spends the time of `threads` turns.
    let span_ns = (1e9 / rate * f64::from(threads.max(1))) as u64;
    let turn_ns = (1e9 / rate) as u64;
    let late_ns = if sleeps { CATCH_UP_NS.max(turn_ns) } else { CATCH_UP_NS.min(turn_ns) };
    let next_ns = AtomicU64::new(0);
    Ok(Some(Arc::new(move || {
        let now = sys::clock::monotonic_ns();
        let begin = |next: u64| if now > next + late_ns { now } else { next };
        let took = next_ns.fetch_update(Relaxed, Relaxed, |next| Some(begin(next) + turn_ns)).unwrap_or(now);
        let until = begin(took) + span_ns;
        if sleeps {
            sys::clock::sleep_until_ns(until);
        } else {
            while sys::clock::monotonic_ns() < until {
                std::hint::spin_loop();
            }
        }
    })))
}
