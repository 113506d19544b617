//! The common start of a load's threads. All threads allocate their memory before the load reports that it is ready,
//! and the start time is set only afterwards. If a thousand agents (generator processes) allocated their memory after
//! the start, they would begin seconds apart.

use std::sync::OnceLock;

use sys::clock;

/// Start time of all shards (generator threads), nanoseconds on the monotonic clock. The start time is set only once.
/// `None` means that the start is cancelled.
#[derive(Debug, Default)]
pub(crate) struct StartMoment(OnceLock<Option<u64>>);

impl StartMoment {
    /// Sets the start time of the load.
    pub(crate) fn set(&self, origin_ns: u64) {
        let _ = self.0.set(Some(origin_ns));
    }

    /// Cancels the start, so that all waiting threads end.
    pub(crate) fn never(&self) {
        let _ = self.0.set(None);
    }

    /// Returns the start time, or 0 while the start time is not known.
    pub(crate) fn origin_ns(&self) -> u64 {
        self.0.get().copied().flatten().unwrap_or(0)
    }

    /// Sleeps until the start time, and returns it. Returns `None` if the start is cancelled.
    pub(crate) fn wait(&self) -> Option<u64> {
        let origin_ns = (*self.0.wait())?;
        clock::sleep_until_ns(origin_ns);
        Some(origin_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_thread_starts_before_the_moment_or_waits_for_a_cancelled_one() {
        let begin = StartMoment::default();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| begin.wait().map(|origin| (origin, clock::monotonic_ns())));
            let origin = clock::monotonic_ns() + 2_000_000;
            begin.set(origin);
            let (heard, woke) = waits.join().unwrap().unwrap();
            assert!(heard == origin && woke >= origin && begin.origin_ns() == origin);
        });
        let begin = StartMoment::default();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| begin.wait());
            begin.never();
            begin.set(7);
            assert_eq!((waits.join().unwrap(), begin.origin_ns()), (None, 0));
        });
    }
}
