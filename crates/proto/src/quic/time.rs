//! Converts between two representations of time. Callers give nanoseconds of any monotonic clock, which may be a
//! virtual one; quinn-proto takes values of the type [`Instant`].

use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Instant that represents 0 ns of the callers' clocks. quinn-proto only compares and subtracts instants.
static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Converts a time of the caller's clock, nanoseconds.
pub(crate) fn instant(now_ns: u64) -> Instant {
    *ORIGIN + Duration::from_nanos(now_ns)
}

/// Converts an instant to the caller's clock, nanoseconds. Returns `u64::MAX` for an instant that is too far ahead.
pub(crate) fn monotonic_ns(at: Instant) -> u64 {
    u64::try_from(at.saturating_duration_since(*ORIGIN).as_nanos()).unwrap_or(u64::MAX)
}
