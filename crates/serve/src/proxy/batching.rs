//! Collecting several events under load before they are handled, similar to the interrupt coalescing of network cards.
//!
//! If a thread wakes up for every one or two events, it spends much of its time falling asleep and waking up. A short
//! pause before the next call lets several events arrive.
//!
//! Pauses are judged by their results: if they collect too few events, there are no pauses for a long time. If few
//! exchanges are in progress there are no pauses, because all clients would have to wait. With 8 to 12 clients, pauses
//! would cost a third of the throughput.
//!
//! The first pause has the minimum length for which a timer is worth its cost. Pauses become longer if they collect
//! only a small part of the exchanges in progress, and shorter if they collect most of them.

use std::time::Duration;

/// Number of events returned by a call from which no pause follows.
const FULL_BATCH: usize = 8;
/// Minimum number of events after a pause, on average. If pauses collect fewer events, pauses stop.
const MIN_EVENTS: usize = 6;
/// Minimum number of exchanges in progress for a pause. The upstream server works on these exchanges during the pause.
const MIN_IN_PROGRESS: usize = 16;
/// Pauses grow if they collect less than 1/3 of the exchanges in progress, and shrink if they collect more than 2/3.
const PARTS: usize = 3;
/// Maximum length of a pause, as a multiple of the minimum.
const MAX_MULTIPLE: u32 = 4;
/// Number of pauses that are judged together.
const TRIAL: usize = 16;
/// Number of calls without a pause, after a trial in which pauses collected too few events. At low load, there is a
/// pause before one call in 250.
const HOLD: u32 = 4000;

/// Decides when a thread pauses, and for how long.
#[derive(Debug)]
pub(super) struct BatchPauses {
    shortest: Duration,
    /// Current length of pauses, as a multiple of the minimum.
    times: u32,
    rested: bool,
    /// Number of pauses in the current trial, and number of events that followed them.
    rests: usize,
    events: usize,
    /// Sum of the exchanges in progress at the start of each pause.
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

    /// Returns the length of the pause before the next call. The last call returned `count` events, with space for
    /// `room`. If all this space was used, more events are waiting, and there is no pause.
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

    /// Returns the number of pauses in a number of calls. A call after a pause returns `gathered` events; any other
    /// call returns one.
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
        // Returns the length of the last pause of three trials.
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
