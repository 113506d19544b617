//! Stalls of a generator thread: the thread woke up late, or a pass of its loop took far longer than its work should
//! take. A separate thread that only sleeps (`sys::hiccups::HiccupMeter`) notices only stalls of the whole host. This
//! module also notices when a single generator thread gets no CPU.

use run::Window;

use crate::counts::Counts;

/// Minimum length of a stall that is recorded, nanoseconds. The minimum is above 0, because waking up and scheduling a
/// thread always takes some time.
const MIN_STALL_NS: u64 = 2_000_000;
/// Maximum number of stalls that are stored. The memory for the stored stalls is allocated before the load begins. If
/// more stalls are found, the minimum length is doubled, and shorter stalls are dropped. A load that lasts for hours
/// may have more stalls, but its long stalls are always kept.
const MAX_STALLS: usize = 1_000;

/// Stalls of one generator thread.
#[derive(Debug, Default)]
pub(crate) struct ThreadStalls {
    times: Vec<(u64, u64)>,
    /// Maximum time that the work in all passes of the event loop so far should have taken, nanoseconds.
    work_ns: u64,
    /// Start of the latest pass of the event loop, nanoseconds.
    began_ns: u64,
    /// Time until which the loop planned to sleep after the latest pass, nanoseconds.
    until_ns: u64,
    /// Current minimum length of a stall that is recorded, nanoseconds.
    min_ns: u64,
}

impl ThreadStalls {
    pub(crate) fn new() -> Self {
        let times = Vec::with_capacity(MAX_STALLS);
        Self { times, began_ns: u64::MAX, min_ns: MIN_STALL_NS, ..Self::default() }
    }

    /// Records that a pass of the thread's loop begins at `now_ns`. `counts` are the counts at the end of the previous
    /// pass.
    #[inline]
    pub(crate) fn pass(&mut self, now_ns: u64, counts: &Counts) {
        let (due, work_ns) = (self.began_ns.max(self.until_ns), max_work_ns(counts));
        if now_ns.saturating_sub(due) >= self.min_ns + (work_ns - self.work_ns) {
            self.keep(due, now_ns);
        }
        (self.work_ns, self.began_ns) = (work_ns, now_ns);
    }

    /// Records that the loop sleeps until `until_ns`, or until the next event.
    #[inline]
    pub(crate) fn sleeps(&mut self, until_ns: u64) {
        self.until_ns = until_ns;
    }

    fn keep(&mut self, begin_ns: u64, end_ns: u64) {
        while self.times.len() >= MAX_STALLS {
            self.min_ns = self.min_ns.saturating_mul(2);
            self.times.retain(|(begin_ns, end_ns)| end_ns - begin_ns >= self.min_ns);
        }
        if end_ns - begin_ns >= self.min_ns {
            self.times.push((begin_ns, end_ns));
        }
    }

    /// Returns all stored stalls, in seconds since the load began.
    pub(crate) fn windows(&self, origin_ns: u64) -> Vec<Window> {
        Window::of_ns(self.times.iter().copied(), origin_ns)
    }
}

/// Returns the maximum time that the counted work should take, nanoseconds. The returned time is several times the
/// usual time, so that a slow machine does not count as stalled.
fn max_work_ns(counts: &Counts) -> u64 {
    let (requests, bytes) = (counts.completed + counts.due, counts.bytes_received + counts.bytes_sent);
    50_000 * requests + 1_000_000 * counts.attempted + bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_wake_late_or_stop_in_a_pass_stalled_and_working_ones_did_not() {
        let mut held = ThreadStalls::new();
        let mut counts = Counts::default();
        let mut pass = |now_us: u64, until_us: u64, completed: u64| {
            counts.completed += completed;
            held.pass(now_us * 1000, &counts);
            held.sleeps(until_us * 1000);
        };
        pass(100, 1000, 0);
        // In the following passes, the thread wakes up early because of an answer, then on time, and then a little
        // late.
        pass(500, 600, 1);
        pass(600, 2600, 0);
        pass(3000, 3000, 1);
        // In the next pass, the thread wakes up 30 ms late. A pass of 8 ms is a stall if it handled ten answers, but
        // not if it handled four hundred.
        pass(33_000, 33_000, 0);
        pass(41_000, 41_000, 10);
        pass(49_000, 49_000, 400);
        let found = held.windows(1_000_000);
        let ms: Vec<(f64, f64)> = found.iter().map(|w| (w.begin_s * 1e3, w.end_s * 1e3)).collect();
        assert_eq!(ms, [(2.0, 32.0), (32.0, 40.0)]);
    }

    /// The test records 20,000 stalls: every hundredth stall lasts 50 ms, and all others last 3 ms.
    #[test]
    fn a_run_of_hours_keeps_its_long_stalls_until_its_end() {
        let mut held = ThreadStalls::new();
        let (mut now_ns, mut long) = (0, 0);
        for pass in 0..20_000 {
            let stall_ns = if pass % 100 == 99 { 50_000_000 } else { 3_000_000 };
            long += usize::from(stall_ns > 3_000_000);
            held.keep(now_ns, now_ns + stall_ns);
            now_ns += stall_ns;
        }
        let found = held.windows(0);
        assert!(found.len() <= MAX_STALLS && held.times.capacity() == MAX_STALLS, "{}", found.len());
        assert_eq!(found.iter().filter(|w| w.length_s() > 0.04).count(), long, "no long stall is lost");
    }

    #[test]
    fn the_first_pass_is_never_late() {
        let mut held = ThreadStalls::new();
        held.pass(1 << 50, &Counts::default());
        assert!(held.windows(0).is_empty());
    }
}
