//! Batching of events under load, like the interrupt coalescing of network cards.
//!
//! A thread that wakes for every event or two spends much of its time on falling asleep and waking up. A short pause before
//! the next call lets several events arrive.
//!
//! Pauses are judged by their result: if they collect too few events, they stop for a long time. With few exchanges in
//! progress there are no pauses, since all clients would wait for them: with 8 to 12 clients, pauses cost a third of the
//! throughput.
//!
//! The first pause is the shortest that is worth a timer. It grows while it collects only a small part of the exchanges in
//! progress, and shrinks when it collects most of them.

use std::time::Duration;

/// Number of events from which a call is followed by no pause.
const FULL_BATCH: usize = 8;
/// Minimum mean number of events after a pause, for pauses to go on.
const MIN_EVENTS: usize = 6;
/// Minimum number of exchanges in progress at the upstream, which works on them during a pause.
const MIN_IN_PROGRESS: usize = 16;
/// A pause may grow if it collects less than 1/3 of the exchanges in progress, and shrinks if it collects more than 2/3.
const PARTS: usize = 3;
/// Maximum length of a pause, as a multiple of the shortest.
const MAX_MULTIPLE: u32 = 4;
/// Number of pauses that are judged together.
const TRIAL: usize = 16;
/// Number of turns without a pause after pauses that did not pay. At low load, one turn in 250 pauses.
const HOLD: u32 = 4000;

/// Decides when a thread pauses.
#[derive(Debug)]
pub(super) struct BatchPauses {
    shortest: Duration,
    /// Current length, as a multiple of the shortest.
    times: u32,
    rested: bool,
    /// Pauses and events of the current trial.
    rests: usize,
    events: usize,
    /// Exchanges in progress when the pauses began, summed.
    in_progress: usize,
    hold: u32,
}

impl BatchPauses {
    /// Makes pauses of at least `rest_us` microseconds; 0 for none.
    pub(super) fn new(rest_us: u64) -> Self {
        let hold = if rest_us == 0 { u32::MAX } else { 0 };
        let shortest = Duration::from_micros(rest_us);
        Self { shortest, times: 1, rested: false, rests: 0, events: 0, in_progress: 0, hold }
    }

    /// Returns the pause before the next call, after a call with room for `room` events returned `count`. A full array means
    /// that more events wait, so there is no pause.
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

    /// Counts the pauses in a number of calls. Those after a pause return `gathered` events, the others one.
    fn rests(gather: &mut BatchPauses, gathered: usize, room: usize, calls: usize) -> usize {
        let mut rested = false;
        let mut one = || {
            rested = gather.after(if rested { gathered } else { 1 }, room, MIN_IN_PROGRESS).is_some();
            rested
        };
        (0..calls).filter(|_| one()).count()
    }

    #[test]
    fn rests_go_on_where_they_gather_events_and_stop_where_they_do_not() {
        assert_eq!(rests(&mut BatchPauses::new(50), 12, 256, 1000), 500, "every other call returns many");
        let few = rests(&mut BatchPauses::new(50), 2, 256, 10 * HOLD as usize);
        assert!((TRIAL..=10 * TRIAL).contains(&few), "{few}");
        assert_eq!(rests(&mut BatchPauses::new(50), 1, 1, 1000), 0, "a full array");
        assert_eq!(rests(&mut BatchPauses::new(0), 12, 256, 1000), 0, "switched off");
    }

    #[test]
    fn nobody_rests_while_few_exchanges_are_in_progress() {
        let mut gather = BatchPauses::new(50);
        assert!((0..100).all(|_| gather.after(1, 256, MIN_IN_PROGRESS - 1).is_none()));
        assert!(gather.after(1, 256, MIN_IN_PROGRESS).is_some());
    }

    #[test]
    fn a_rest_grows_while_it_brings_a_small_part_and_shrinks_when_it_brings_most() {
        let mut gather = BatchPauses::new(50);
        // The last pause of three trials.
        let mut last = |gathered: usize, in_progress: usize| {
            let rest = |call| gather.after(if call % 2 == 0 { 1 } else { gathered }, 256, in_progress);
            (0..6 * TRIAL).filter_map(rest).last().map(|rest| rest.as_micros())
        };
        assert_eq!(last(10, 40), Some(200));
        assert_eq!(last(20, 40), Some(200), "half of it: neither");
        assert_eq!(last(35, 40), Some(50));
    }

    #[test]
    fn load_that_comes_later_is_found() {
        let mut gather = BatchPauses::new(50);
        rests(&mut gather, 1, 256, 1000);
        assert!(rests(&mut gather, 12, 256, 3 * HOLD as usize) > HOLD as usize / 2);
    }
}
