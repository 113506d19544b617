//! When a load begins: its threads have taken all their memory before anybody is told that they are ready, and the moment
//! comes after that. A thousand agents that allocate when the load is to begin would begin seconds apart.

use std::sync::OnceLock;

use sys::clock;

/// The moment at which the shards of a load begin, on the monotonic clock, nanoseconds; set once.
#[derive(Debug, Default)]
pub(crate) struct Begin(OnceLock<Option<u64>>);

impl Begin {
    /// The moment is known.
    pub(crate) fn at(&self, origin_ns: u64) {
        let _ = self.0.set(Some(origin_ns));
    }

    /// It never comes: whoever waits for it goes.
    pub(crate) fn never(&self) {
        let _ = self.0.set(None);
    }

    /// The moment, where it is known; 0 before that.
    pub(crate) fn origin_ns(&self) -> u64 {
        self.0.get().copied().flatten().unwrap_or(0)
    }

    /// Sleeps until it is known and there; none where it never comes.
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
    fn nobody_begins_before_the_moment_and_nobody_waits_for_one_that_never_comes() {
        let begin = Begin::default();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| begin.wait().map(|origin| (origin, clock::monotonic_ns())));
            let origin = clock::monotonic_ns() + 2_000_000;
            begin.at(origin);
            let (heard, woke) = waits.join().unwrap().unwrap();
            assert!(heard == origin && woke >= origin && begin.origin_ns() == origin);
        });
        let begin = Begin::default();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| begin.wait());
            begin.never();
            begin.at(7);
            assert_eq!((waits.join().unwrap(), begin.origin_ns()), (None, 0));
        });
    }
}
