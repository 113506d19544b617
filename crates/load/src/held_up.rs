//! When a thread of the generator was held up: it slept until a moment and woke late, or a pass took far longer than what was
//! done in it. A meter that only sleeps sees when a host stands still; this sees the one CPU that a thread was kept off.

use run::Window;

use crate::counts::Counts;

/// Held up for so long at least: what wakes a thread and hands it to a CPU takes a part of it, always.
const LEAST_NS: u64 = 2_000_000;
/// Most that is kept; its memory is taken before the load begins. A thread that is held up more often has no CPU to measure with.
const MOST: usize = 1_000;

/// Times of one shard.
#[derive(Debug, Default)]
pub(crate) struct HeldUp {
    times: Vec<(u64, u64)>,
    /// The most that all passes so far may take for what was done in them.
    work_ns: u64,
    /// When the last pass began, and until when it meant to sleep.
    began_ns: u64,
    until_ns: u64,
}

impl HeldUp {
    pub(crate) fn new() -> Self {
        Self { times: Vec::with_capacity(MOST), began_ns: u64::MAX, ..Self::default() }
    }

    /// A pass begins with the clock at `now_ns`; the one before had come to `counts` by then.
    #[inline]
    pub(crate) fn pass(&mut self, now_ns: u64, counts: &Counts) {
        let (due, work_ns) = (self.began_ns.max(self.until_ns), most_work_ns(counts));
        if now_ns.saturating_sub(due) >= LEAST_NS + (work_ns - self.work_ns) {
            self.keep(due, now_ns);
        }
        (self.work_ns, self.began_ns) = (work_ns, now_ns);
    }

    /// The pass sleeps until there is something, at most until then.
    #[inline]
    pub(crate) fn sleeps(&mut self, until_ns: u64) {
        self.until_ns = until_ns;
    }

    fn keep(&mut self, begin_ns: u64, end_ns: u64) {
        if self.times.len() < self.times.capacity() {
            self.times.push((begin_ns, end_ns));
        }
    }

    /// All of them, seconds since the load began.
    pub(crate) fn windows(&self, origin_ns: u64) -> Vec<Window> {
        Window::of_ns(self.times.iter().copied(), origin_ns)
    }
}

/// What all that was counted may take: several times the usual, so that a slow machine is not called one that stands still.
fn most_work_ns(counts: &Counts) -> u64 {
    let (requests, bytes) = (counts.completed + counts.due, counts.bytes_received + counts.bytes_sent);
    50_000 * requests + 1_000_000 * counts.attempted + bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_wakes_late_or_stops_within_a_pass_was_held_up_and_who_works_was_not() {
        let mut held = HeldUp::new();
        let mut counts = Counts::default();
        let mut pass = |now_us: u64, until_us: u64, completed: u64| {
            counts.completed += completed;
            held.pass(now_us * 1000, &counts);
            held.sleeps(until_us * 1000);
        };
        pass(100, 1000, 0);
        // Woken by an answer, on time, and a little late.
        pass(500, 600, 1);
        pass(600, 2600, 0);
        pass(3000, 3000, 1);
        // 30 ms late; then 8 ms within a pass of ten answers; 8 ms for four hundred answers are work.
        pass(33_000, 33_000, 0);
        pass(41_000, 41_000, 10);
        pass(49_000, 49_000, 400);
        let found = held.windows(1_000_000);
        let ms: Vec<(f64, f64)> = found.iter().map(|w| (w.begin_s * 1e3, w.end_s * 1e3)).collect();
        assert_eq!(ms, [(2.0, 32.0), (32.0, 40.0)]);
    }

    #[test]
    fn the_first_pass_was_not_late_for_anything() {
        let mut held = HeldUp::new();
        held.pass(1 << 50, &Counts::default());
        assert!(held.windows(0).is_empty());
    }
}
