//! The clock of another machine beside ours. Each exchange says what it was ahead, wrong by at most half of what the exchange took
//! (Cristian, 1989); what is known grows older, since two clocks do not run equally fast (RFC 5905, dispersion). So a load of hours
//! asks again and again, and both orders and times that are told go by what the clock was ahead at their moment.

use std::collections::VecDeque;

/// Two clocks run apart by at most this share, as far as what is known grows old: quartz does by some 20 to 50 millionths.
const DRIFT: f64 = 100e-6;
/// Readings that are kept: one each two or four minutes of eight hours.
const MOST_READINGS: usize = 256;
/// Readings that are closer are one, nanoseconds; of a long load those that are twice, four times, … as far apart.
const ONE_MOMENT_NS: u64 = 1_000_000_000;
/// Questions that wait for their answers, at most.
const MOST_ASKED: usize = 64;

/// What one exchange said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reading {
    /// Its middle, on our clock.
    at_ns: u64,
    /// Their clock minus ours.
    ahead_ns: i64,
    /// How long it took.
    took_ns: u64,
}

impl Reading {
    /// So much may it be wrong at a later moment of our clock.
    fn error_ns(&self, at_ns: u64) -> u64 {
        (self.took_ns / 2).saturating_add((at_ns.saturating_sub(self.at_ns) as f64 * DRIFT) as u64)
    }
}

/// See the head of this file.
#[derive(Debug, Default)]
pub(super) struct Clock {
    readings: Vec<Reading>,
    /// How many times as far apart they are.
    thinned: u32,
    /// Questions without an answer: their number, and when they left.
    asked: VecDeque<(u32, u64)>,
    questions: u32,
    /// The moment that the agent's times count from, on our clock, and what its clock was taken to be ahead there.
    begun: Option<(u64, i64)>,
}

impl Clock {
    /// Questions that were not answered do not count any more.
    pub(super) fn ask_anew(&mut self) {
        self.asked.clear();
    }

    /// A question leaves now; its number.
    pub(super) fn ask(&mut self, now_ns: u64) -> u32 {
        self.questions = self.questions.wrapping_add(1);
        self.asked.push_back((self.questions, now_ns));
        let excess = self.asked.len().saturating_sub(MOST_ASKED);
        self.asked.drain(..excess);
        self.questions
    }

    /// An answer came. One that nobody asked for says nothing.
    pub(super) fn answered(&mut self, n: u32, theirs_ns: u64, came_ns: u64) {
        let Some(at) = self.asked.iter().position(|(asked, _)| *asked == n) else { return };
        if let Some((_, left_ns)) = self.asked.remove(at)
            && left_ns <= came_ns
        {
            self.take(exchange(left_ns, theirs_ns, came_ns));
        }
    }

    /// How many questions have no answer.
    pub(super) fn open(&self) -> usize {
        self.asked.len()
    }

    /// Takes what is as exact as what is known has become by its age, and what cannot be true together with that.
    fn take(&mut self, new: Reading) {
        let Some(last) = self.readings.last_mut() else { return self.readings.push(new) };
        if new.at_ns < last.at_ns {
            return;
        }
        let (error_ns, known_ns) = (new.took_ns / 2, last.error_ns(new.at_ns));
        let moved_ns = (i128::from(new.ahead_ns) - i128::from(last.ahead_ns)).unsigned_abs();
        if error_ns > known_ns && moved_ns <= u128::from(error_ns) + u128::from(known_ns) {
            return;
        }
        let one_moment = new.at_ns - last.at_ns < ONE_MOMENT_NS;
        match self.readings.as_mut_slice() {
            // The newest is always there, however near it is to the one before.
            [.., last] if one_moment => *last = new,
            [.., before, last] if last.at_ns - before.at_ns < ONE_MOMENT_NS << self.thinned.min(20) => *last = new,
            _ => self.readings.push(new),
        }
        if self.readings.len() > MOST_READINGS {
            let mut places = 0..;
            self.readings.retain(|_| places.next().is_some_and(|at| at % 2 == 0));
            self.thinned += 1;
        }
    }

    /// Whether anything is known.
    pub(super) fn is_known(&self) -> bool {
        !self.readings.is_empty()
    }

    /// How long the exchange took that is gone by now, nanoseconds; 0 where nothing is known.
    pub(super) fn round_trip_ns(&self) -> u64 {
        self.readings.last().map_or(0, |last| last.took_ns.max(1))
    }

    /// So much may it be taken wrong at a moment of our clock, nanoseconds.
    pub(super) fn error_ns(&self, at_ns: u64) -> u64 {
        self.readings.last().map_or(0, |last| last.error_ns(at_ns))
    }

    /// What it was ahead at a moment of our clock: in between two readings by a straight line, outside as the nearest says.
    pub(super) fn ahead_ns(&self, at_ns: u64) -> i64 {
        let after = self.readings.partition_point(|reading| reading.at_ns <= at_ns);
        let (before, after) = (after.checked_sub(1).map(|at| self.readings[at]), self.readings.get(after));
        match (before, after) {
            (Some(a), Some(b)) => {
                let share = (at_ns - a.at_ns) as f64 / (b.at_ns - a.at_ns).max(1) as f64;
                let moved = i128::from(b.ahead_ns) - i128::from(a.ahead_ns);
                bounded(i128::from(a.ahead_ns) + (moved as f64 * share) as i128)
            }
            (Some(only), None) => only.ahead_ns,
            (None, Some(first)) => first.ahead_ns,
            (None, None) => 0,
        }
    }

    /// The agent's times count from this moment of our clock from now on; the moment on its clock.
    pub(super) fn begin(&mut self, origin_ns: u64) -> u64 {
        let ahead_ns = self.ahead_ns(origin_ns);
        self.begun = Some((origin_ns, ahead_ns));
        origin_ns.saturating_add_signed(ahead_ns)
    }

    /// What it was ahead when its times began to count.
    pub(super) fn begun_ahead_ns(&self) -> i64 {
        self.begun.map_or(0, |(_, ahead_ns)| ahead_ns)
    }

    /// What it ran away from ours since its times began to count, until a moment of our clock, nanoseconds.
    pub(super) fn drift_ns(&self, at_ns: u64) -> i64 {
        let Some((_, begun_ns)) = self.begun else { return 0 };
        bounded(i128::from(self.ahead_ns(at_ns)) - i128::from(begun_ns))
    }

    /// Seconds since the origin by its clock, by ours. Looked at twice: where what it ran away by is much, that is of another moment.
    pub(super) fn ours_s(&self, theirs_s: f64) -> f64 {
        let Some((origin_ns, _)) = self.begun else { return theirs_s };
        // A stranger's time may be any number; what is no moment of ours is the first or the last one.
        let ours = |s: f64| theirs_s - self.drift_ns((origin_ns as f64 + s * 1e9) as u64) as f64 / 1e9;
        ours(ours(theirs_s))
    }
}

/// What an exchange says: its middle is taken to be their time.
fn exchange(left_ns: u64, theirs_ns: u64, came_ns: u64) -> Reading {
    let took_ns = came_ns - left_ns;
    let at_ns = left_ns + took_ns / 2;
    Reading { at_ns, ahead_ns: bounded(i128::from(theirs_ns) - i128::from(at_ns)), took_ns }
}

fn bounded(ns: i128) -> i64 {
    ns.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn the_middle_of_an_exchange_is_their_time() {
        let said = |left, theirs, came| {
            let found = exchange(left, theirs, came);
            (found.ahead_ns, found.took_ns)
        };
        assert_eq!(said(1_000, 9_000_100, 1_200), (8_999_000, 200));
        assert_eq!(said(5_000, 0, 5_010), (-5_005, 10));
        assert_eq!(said(0, u64::MAX, 2), (i64::MAX, 2));
    }

    /// A machine whose clock runs by `ppm` millionths too fast at first, which turns with its temperature, and is an hour ahead.
    struct Theirs {
        ppm: f64,
    }

    impl Theirs {
        fn at(&self, ours_ns: u64) -> u64 {
            let s = ours_ns as f64 / 1e9;
            let day = std::f64::consts::TAU / 86_400.0;
            let away_s = self.ppm * 1e-6 * (s + (1.0 - (day * s).cos()) / (4.0 * day));
            (ours_ns + 3_600 * S).saturating_add_signed((away_s * 1e9) as i64)
        }
    }

    /// One question: `way_ns` there and back, and what each way takes longer by chance.
    fn ask(clock: &mut Clock, theirs: &Theirs, now_ns: u64, way_ns: u64, chance: &mut fastrand::Rng) {
        let mut late = |mean_ns: f64| (-(1.0 - chance.f64()).ln() * mean_ns) as u64;
        let (there, back) = (now_ns + way_ns / 2 + late(200e3), way_ns / 2 + late(200e3));
        let n = clock.ask(now_ns);
        clock.answered(n, theirs.at(there), there + back);
    }

    #[test]
    fn a_load_of_eight_hours_is_ordered_and_told_within_a_millisecond_though_the_clocks_run_apart_by_seconds() {
        for (way_ns, ppm) in [(200_000, 80.0), (100_000_000, -60.0)] {
            let (mut clock, theirs) = (Clock::default(), Theirs { ppm });
            let mut chance = fastrand::Rng::with_seed(7);
            let begin = 1_000 * S;
            (0..20).for_each(|i| ask(&mut clock, &theirs, begin + i * 1_000_000, way_ns, &mut chance));
            let origin = begin + S;
            let theirs_origin = clock.begin(origin);
            let mut most_ns = 0;
            for second in (1..8 * 3_600).step_by(2) {
                let now = origin + second * S;
                ask(&mut clock, &theirs, now, way_ns, &mut chance);
                // An order for a moment a little later.
                let at = now + 300_000_000;
                let ordered = at.saturating_add_signed(clock.ahead_ns(at));
                most_ns = most_ns.max(ordered.abs_diff(theirs.at(at)));
            }
            assert!(most_ns < S / 1_000, "{most_ns} ns with a way of {way_ns}");
            let end = origin + 8 * 3_600 * S;
            assert!(clock.drift_ns(end).abs() > (S / 2) as i64, "{}", clock.drift_ns(end));
            for hour in 1..=8 {
                let at = origin + hour * 3_600 * S;
                let told_s = (theirs.at(at) - theirs_origin) as f64 / 1e9;
                let wrong_s = clock.ours_s(told_s) - (at - origin) as f64 / 1e9;
                assert!(wrong_s.abs() < 1e-3, "{wrong_s} s after {hour} hours with a way of {way_ns}");
            }
            assert!(clock.readings.len() <= MOST_READINGS);
        }
    }

    #[test]
    fn what_takes_long_says_nothing_until_what_is_known_is_as_old_and_what_cannot_be_is_believed() {
        let mut clock = Clock::default();
        let mut answer = |at_ns: u64, ahead_ns: u64, took_ns: u64| {
            let n = clock.ask(at_ns);
            clock.answered(n, at_ns + took_ns / 2 + ahead_ns, at_ns + took_ns);
            clock.ahead_ns(u64::MAX)
        };
        assert_eq!(answer(S, 5_000, 1_000), 5_000);
        assert_eq!(answer(2 * S, 900_000, 2_000_000), 5_000, "off by up to a millisecond, and known to a tenth of one");
        assert_eq!(answer(30 * S, 900_000, 2_000_000), 900_000, "by now as much could have changed");
        assert_eq!(answer(31 * S, 70_000_000, 2_000_000), 70_000_000, "its machine stood still");
    }

    #[test]
    fn what_a_stranger_answers_unasked_is_no_answer() {
        let mut clock = Clock::default();
        let asked: Vec<u32> = (0..1_000).map(|now| clock.ask(now)).collect();
        assert_eq!((clock.open(), asked.last()), (MOST_ASKED, Some(&1_000)));
        clock.answered(7, 0, 2_000);
        clock.answered(1_000, 50, 1);
        assert!(!clock.is_known() && clock.round_trip_ns() == 0);
        clock.answered(1_000, u64::MAX, 2_000);
        assert!(!clock.is_known(), "each is answered once");
        clock.answered(999, u64::MAX, 2_000);
        clock.begin(5);
        for t_s in [f64::NAN, f64::INFINITY, -1e300, 0.0] {
            assert!(clock.ours_s(t_s).is_nan() == t_s.is_nan());
        }
    }
}
