//! Under load, a thread of the proxy pauses before it waits for events. Several events can arrive while a thread
//! pauses, and the thread handles them together. Similarly, a network card with interrupt coalescing handles several
//! packets together.
//!
//! A thread that wakes up for one or two events at a time spends much of its time falling asleep and waking up. During
//! a short pause before the next call of `get_next_event`, several events can arrive.
//!
//! The results of earlier pauses decide whether the thread pauses. If the pauses collect too few events, the thread
//! makes no pauses for a long time. If few exchanges are in progress, the thread makes no pauses. With few exchanges in
//! progress, all clients would wait for the end of each pause. With 8 to 12 clients, pauses would cost a third of the
//! throughput.
//!
//! At first, pauses have the minimum length. With shorter pauses, the timer would cost more CPU time than the pauses
//! save. If the pauses collect events of only a small part of the exchanges in progress, the next pauses are longer. If
//! the pauses collect events of most of the exchanges in progress, the next pauses are shorter.

use std::time::Duration;

/// If a call of `get_next_event` returns at least `FULL_BATCH` events, the thread makes no pause after this call.
const FULL_BATCH: usize = 8;
/// Minimum average number of events after a pause. If pauses collect fewer events on average, the thread stops making
/// pauses.
const MIN_EVENTS: usize = 6;
/// Minimum number of exchanges in progress; with fewer exchanges, the thread makes no pause. During a pause, the
/// upstream server works on the exchanges in progress.
const MIN_IN_PROGRESS: usize = 16;
/// Denominator of the fractions (1/3 and 2/3) at which the length of pauses changes. Pauses become longer if they
/// collect events of less than 1/3 of the exchanges in progress. Pauses become shorter if they collect events of more
/// than 2/3 of the exchanges in progress.
const PARTS: usize = 3;
/// Maximum length of a pause, as a multiple of the minimum length.
const MAX_MULTIPLE: u32 = 4;
/// Number of pauses after which the thread evaluates how many events the pauses collected.
const TRIAL: usize = 16;
/// Number of calls without a pause that follow when pauses have collected too few events. The number is so large that
/// pauses are rare at low load: about 16 pauses ([`TRIAL`]) in 4,000 calls.
const HOLD: u32 = 4000;

/// Decides when a thread pauses, and for how long.
#[derive(Debug)]
pub(super) struct BatchPauses {
    shortest: Duration,
    /// Current length of pauses, as a multiple of the minimum length.
    times: u32,
    rested: bool,
    /// Number of pauses since the length of pauses was last decided.
    rests: usize,
    /// Number of events returned by the calls after the pauses counted in `rests`.
    events: usize,
    /// Sum of the numbers of exchanges in progress at the start of each pause that `rests` counts.
    in_progress: usize,
    hold: u32,
}

impl BatchPauses {
    /// Creates the state for pauses of at least `rest_us` microseconds; with 0, there are no pauses.
    pub(super) fn new(rest_us: u64) -> Self {
        let hold = if rest_us == 0 { u32::MAX } else { 0 };
        let shortest = Duration::from_micros(rest_us);
        Self { shortest, times: 1, rested: false, rests: 0, events: 0, in_progress: 0, hold }
    }

    /// Returns the length of the pause before the next call of `get_next_event`; `None` for no pause. The last call
    /// returned `count` events, and its array had space for `room` events. If the last call returned as many events as
    /// it had space for, more events may be waiting, so the thread makes no pause.
    #[inline]
    pub(super) fn after(&mut self, count: usize, room: usize, in_progress: usize) -> Option<Duration> {
        if self.hold > 0 {
            self.hold -= u32::from(!self.shortest.is_zero());
            return None;
        }
        if std::mem::take(&mut self.rested) {
            self.judge(count);
        }
        self.rested = self.hold == 0 && count < FULL_BATCH.min(room) && in_progress >= MIN_IN_PROGRESS;
        if !self.rested {
            return None;
        }
        self.in_progress += in_progress;
        Some(self.shortest * self.times)
    }

    fn judge(&mut self, count: usize) {
        (self.rests, self.events) = (self.rests + 1, self.events + count);
        if self.rests == TRIAL {
            if self.events < TRIAL * MIN_EVENTS {
                (self.hold, self.times) = (HOLD, 1);
            } else if self.events * PARTS < self.in_progress {
                self.times = (self.times * 2).min(MAX_MULTIPLE);
            } else if self.events * PARTS > self.in_progress * (PARTS - 1) {
                self.times = (self.times / 2).max(1);
            }
            (self.rests, self.events, self.in_progress) = (0, 0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of pauses in `calls` calls. Each simulated call after a pause returns `gathered` events, and
    /// any other call returns one event.
    fn rests(gather: &mut BatchPauses, gathered: usize, room: usize, calls: usize) -> usize {
        let mut rested = false;
        let mut one = || {
            rested = gather.after(if rested { gathered } else { 1 }, room, MIN_IN_PROGRESS).is_some();
            rested
        };
        (0..calls).filter(|_| one()).count()
    }

    #[test]
    fn pauses_continue_only_while_they_collect_events() {
        assert_eq!(rests(&mut BatchPauses::new(50), 12, 256, 1000), 500, "every other call returns many");
        let few = rests(&mut BatchPauses::new(50), 2, 256, 10 * HOLD as usize);
        assert!((TRIAL..=10 * TRIAL).contains(&few), "{few}");
        assert_eq!(rests(&mut BatchPauses::new(50), 1, 1, 1000), 0, "a full array");
        assert_eq!(rests(&mut BatchPauses::new(0), 12, 256, 1000), 0, "switched off");
    }

    #[test]
    fn no_pauses_with_few_exchanges_in_progress() {
        let mut gather = BatchPauses::new(50);
        assert!((0..100).all(|_| gather.after(1, 256, MIN_IN_PROGRESS - 1).is_none()));
        assert!(gather.after(1, 256, MIN_IN_PROGRESS).is_some());
    }

    #[test]
    fn pauses_grow_while_they_collect_little_and_shrink_when_they_collect_most() {
        let mut gather = BatchPauses::new(50);
        // This closure returns the length of the last pause, after enough calls for three decisions about the length.
        let mut last = |gathered: usize, in_progress: usize| {
            let rest = |call| gather.after(if call % 2 == 0 { 1 } else { gathered }, 256, in_progress);
            (0..6 * TRIAL).filter_map(rest).last().map(|rest| rest.as_micros())
        };
        assert_eq!(last(10, 40), Some(200));
        assert_eq!(last(20, 40), Some(200), "half of it: neither");
        assert_eq!(last(35, 40), Some(50));
    }

    #[test]
    fn pauses_resume_when_load_rises_later() {
        let mut gather = BatchPauses::new(50);
        rests(&mut gather, 1, 256, 1000);
        assert!(rests(&mut gather, 12, 256, 3 * HOLD as usize) > HOLD as usize / 2);
    }
}
