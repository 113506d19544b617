//! `capacity`: a server with a known capacity. With one thread, requests are served one after another, and each has a
//! time slice ("turn") of 1/capacity seconds. With n threads, n requests are served in parallel, with time slices of
//! n/capacity seconds. After the real work of a request, the rest of its time slice is spent computing (`work`) or
//! sleeping (`sleep`).
//!
//! While requests wait, time slices follow one another without a gap, so that a late wake-up does not lower the rate.
//! If no request was waiting, the next time slice starts as soon as a request arrives.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::delay::Delay;
use crate::{Options, ServeError};

/// Maximum lateness of a thread's wake-up, in nanoseconds, that the later time slices make up for.
const MAX_CATCH_UP_NS: u64 = 10_000_000;

pub(super) fn delay(options: &Options<'_>, threads: u32) -> Result<Option<Delay>, ServeError> {
    let Some(rate) = options.positive("capacity")? else { return Ok(None) };
    let sleeps = match options.get::<String>("capacity_by")?.as_deref() {
        None | Some("work") => false,
        Some("sleep") => true,
        Some(other) => {
            return Err(ServeError::BadOption { name: "capacity_by", value: other.into(), wants: "work or sleep" });
        }
    };
    let turns = Turns::new(rate, threads, sleeps);
    Ok(Some(Arc::new(move || {
        let until_ns = turns.take(sys::clock::monotonic_ns());
        if sleeps {
            sys::clock::sleep_until_ns(until_ns);
        } else {
            while sys::clock::monotonic_ns() < until_ns {
                std::hint::spin_loop();
            }
        }
    })))
}

/// Time slices of a server with a known capacity. All threads take their time slices from one sequence, in which a new
/// slice begins every `turn_ns`. A slice lasts `span_ns`, which is `threads` times `turn_ns`, because the threads work
/// in parallel.
struct Turns {
    turn_ns: u64,
    span_ns: u64,
    catch_up_ns: u64,
    next_ns: AtomicU64,
}

impl Turns {
    fn new(rate: f64, threads: u32, sleeps: bool) -> Self {
        let turn_ns = (1e9 / rate) as u64;
        let span_ns = (1e9 / rate * f64::from(threads.max(1))) as u64;
        let catch_up_ns = if sleeps { MAX_CATCH_UP_NS.max(turn_ns) } else { MAX_CATCH_UP_NS.min(turn_ns) };
        Self { turn_ns, span_ns, catch_up_ns, next_ns: AtomicU64::new(0) }
    }

    /// Takes the next time slice, and returns the time at which this time slice ends.
    fn take(&self, now_ns: u64) -> u64 {
        let begin = |next_ns: u64| if now_ns > next_ns + self.catch_up_ns { now_ns } else { next_ns };
        let taken = self.next_ns.fetch_update(Relaxed, Relaxed, |next_ns| Some(begin(next_ns) + self.turn_ns));
        begin(taken.unwrap_or(now_ns)) + self.span_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN_NS: u64 = 1_000_000_000;
    const MS: u64 = 1_000_000;

    #[test]
    fn waiting_requests_are_served_at_the_capacity() {
        for sleeps in [false, true] {
            let turns = Turns::new(500.0, 1, sleeps);
            let mut now_ns = BEGIN_NS;
            for _ in 0..100 {
                now_ns = turns.take(now_ns);
            }
            assert_eq!(now_ns, BEGIN_NS + 200 * MS, "sleeps: {sleeps}");
        }
    }

    #[test]
    fn the_next_turns_compensate_a_late_wake_up() {
        let turns = Turns::new(500.0, 1, true);
        assert_eq!(turns.take(BEGIN_NS), BEGIN_NS + 2 * MS);
        // The thread wakes up 5 ms late here, but the next time slices end as if it had woken up on time.
        assert_eq!(turns.take(BEGIN_NS + 7 * MS), BEGIN_NS + 4 * MS);
        assert_eq!(turns.take(BEGIN_NS + 7 * MS), BEGIN_NS + 6 * MS);
    }

    #[test]
    fn after_a_pause_a_turn_starts_at_once_without_compensation() {
        for sleeps in [false, true] {
            let turns = Turns::new(500.0, 1, sleeps);
            turns.take(BEGIN_NS);
            let later_ns = BEGIN_NS + 100 * MS;
            assert_eq!(turns.take(later_ns), later_ns + 2 * MS);
            assert_eq!(turns.take(later_ns), later_ns + 4 * MS);
        }
    }

    #[test]
    fn threads_share_the_capacity() {
        let turns = Turns::new(500.0, 4, true);
        let ends: Vec<u64> = (0..8).map(|_| turns.take(BEGIN_NS) - BEGIN_NS).collect();
        // Each request occupies its thread for 4 × 2 ms. With 4 threads, a thread becomes free every 2 ms.
        assert_eq!(ends, [8, 10, 12, 14, 16, 18, 20, 22].map(|ms| ms * MS));
    }
}
