//! Gathering events under load. A thread that is woken for every event or two spends much of its time on falling asleep
//! and waking up, and so do its peers; a short rest before the next call lets events come together, as network cards
//! do with their interrupts. Whether a rest pays is not guessed but seen: where rests gather too few events, because
//! there is little load, they stop for a long time. Where few exchanges are under way nobody rests: all would wait for it,
//! and 8 to 12 clients that wait for their answers got a third fewer of them. How long: at first the shortest rest that a
//! timer is worth; longer where it brings only a small part of what is under way, because then the others are what
//! everybody waits for, and shorter again where it brings most of it.

use std::time::Duration;

/// A call that returned so many events was worth waking up for, and no rest follows it.
const MANY: usize = 8;
/// Events that the call after a rest has to return on average.
const WORTH: usize = 6;
/// So many exchanges have to be under way at the upstream, which goes on with them during a rest.
const UNDER_WAY: usize = 16;
/// Part of what is under way below which a rest may be longer, and above which it has to be shorter: one of so many, and
/// all but one.
const PARTS: usize = 3;
/// The longest rest over the shortest.
const LONGEST: u32 = 4;
/// Rests that are judged together.
const TRIAL: usize = 16;
/// Turns without a rest after rests that were not worth it: there, one turn in 250 rests.
const HOLD: u32 = 4000;

/// Decides when a thread rests.
#[derive(Debug)]
pub(super) struct Gather {
    shortest: Duration,
    /// Of the shortest.
    times: u32,
    rested: bool,
    /// Of the trial that goes on.
    rests: usize,
    events: usize,
    /// The sum of what was under way when the rests began.
    under_way: usize,
    hold: u32,
}

impl Gather {
    /// The shortest rests take this long, microseconds; 0 is never.
    pub(super) fn new(rest_us: u64) -> Self {
        let hold = if rest_us == 0 { u32::MAX } else { 0 };
        let shortest = Duration::from_micros(rest_us);
        Self { shortest, times: 1, rested: false, rests: 0, events: 0, under_way: 0, hold }
    }

    /// A call with room for `room` returned `count` events, and afterwards so many exchanges are under way: how long to rest
    /// before the next call. An array that is full says that more is waiting.
    #[inline]
    pub(super) fn after(&mut self, count: usize, room: usize, under_way: usize) -> Option<Duration> {
        if self.hold > 0 {
            self.hold -= u32::from(!self.shortest.is_zero());
            return None;
        }
        if std::mem::take(&mut self.rested) {
            self.judge(count);
        }
        self.rested = self.hold == 0 && count < MANY.min(room) && under_way >= UNDER_WAY;
        if !self.rested {
            return None;
        }
        self.under_way += under_way;
        Some(self.shortest * self.times)
    }

    fn judge(&mut self, count: usize) {
        (self.rests, self.events) = (self.rests + 1, self.events + count);
        if self.rests == TRIAL {
            if self.events < TRIAL * WORTH {
                (self.hold, self.times) = (HOLD, 1);
            } else if self.events * PARTS < self.under_way {
                self.times = (self.times * 2).min(LONGEST);
            } else if self.events * PARTS > self.under_way * (PARTS - 1) {
                self.times = (self.times / 2).max(1);
            }
            (self.rests, self.events, self.under_way) = (0, 0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rests in so many calls, of which those after a rest return `gathered` events and the others one.
    fn rests(gather: &mut Gather, gathered: usize, room: usize, calls: usize) -> usize {
        let mut rested = false;
        let mut one = || {
            rested = gather.after(if rested { gathered } else { 1 }, room, UNDER_WAY).is_some();
            rested
        };
        (0..calls).filter(|_| one()).count()
    }

    #[test]
    fn rests_go_on_where_they_gather_events_and_stop_where_they_do_not() {
        assert_eq!(rests(&mut Gather::new(50), 12, 256, 1000), 500, "every other call returns many");
        let few = rests(&mut Gather::new(50), 2, 256, 10 * HOLD as usize);
        assert!((TRIAL..=10 * TRIAL).contains(&few), "{few}");
        assert_eq!(rests(&mut Gather::new(50), 1, 1, 1000), 0, "a full array");
        assert_eq!(rests(&mut Gather::new(0), 12, 256, 1000), 0, "switched off");
    }

    #[test]
    fn nobody_rests_while_few_exchanges_are_under_way() {
        let mut gather = Gather::new(50);
        assert!((0..100).all(|_| gather.after(1, 256, UNDER_WAY - 1).is_none()));
        assert!(gather.after(1, 256, UNDER_WAY).is_some());
    }

    #[test]
    fn a_rest_grows_while_it_brings_a_small_part_and_shrinks_when_it_brings_most() {
        let mut gather = Gather::new(50);
        // The last rest of three trials.
        let mut last = |gathered: usize, under_way: usize| {
            let rest = |call| gather.after(if call % 2 == 0 { 1 } else { gathered }, 256, under_way);
            (0..6 * TRIAL).filter_map(rest).last().map(|rest| rest.as_micros())
        };
        assert_eq!(last(10, 40), Some(200));
        assert_eq!(last(20, 40), Some(200), "half of it: neither");
        assert_eq!(last(35, 40), Some(50));
    }

    #[test]
    fn load_that_comes_later_is_found() {
        let mut gather = Gather::new(50);
        rests(&mut gather, 1, 256, 1000);
        assert!(rests(&mut gather, 12, 256, 3 * HOLD as usize) > HOLD as usize / 2);
    }
}
