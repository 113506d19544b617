//! Offset and drift of another machine's clock. In each exchange, the other machine sends the time of its clock. The
//! computed offset is wrong by at most half the round-trip time (Cristian, 1989).
//!
//! A reading becomes less accurate with age, because two clocks never run at exactly equal speeds (RFC 5905,
//! dispersion). Because clocks drift apart, the conductor repeats the exchange during long loads. Each time in a
//! command or a report is converted with the clock offset of that moment.

use std::collections::VecDeque;

/// Assumed maximum of the relative drift between two clocks. Quartz clocks drift by 20 to 50 parts per million.
const MAX_DRIFT: f64 = 100e-6;
/// Maximum number of readings to keep. Even after eight hours, consecutive readings are only two to four minutes apart.
const MAX_READINGS: usize = 256;
/// Minimum time between two kept readings, nanoseconds. If there are more than [`MAX_READINGS`] readings, every second
/// reading is dropped, and the minimum time between two readings doubles.
const MIN_READING_GAP_NS: u64 = 1_000_000_000;
/// Maximum number of unanswered clock questions. If more questions are unanswered, the oldest questions are forgotten.
const MAX_OPEN_QUESTIONS: usize = 64;

/// Maximum time by which a time from another host may exceed the time that has passed on this host, seconds. The clocks
/// of two machines differ.
pub(crate) const MAX_CLOCK_SKEW_S: f64 = 1.0;

/// Returns true if an agent may have taken a sample at `t_s`, seconds since the start of the load. `now_s` is the
/// present time on our clock.
pub(crate) fn is_possible(t_s: f64, now_s: f64) -> bool {
    (-MAX_CLOCK_SKEW_S..=now_s + MAX_CLOCK_SKEW_S).contains(&t_s)
}

/// Reading of another machine's clock: the result of one exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reading {
    /// Middle of the exchange on our clock, nanoseconds.
    at_ns: u64,
    /// Other machine's clock minus our clock, nanoseconds.
    offset_ns: i64,
    /// Round trip of the exchange, nanoseconds.
    took_ns: u64,
}

impl Reading {
    /// Returns the maximum error of the offset of this reading at a later time on our clock, nanoseconds.
    fn error_ns(&self, at_ns: u64) -> u64 {
        (self.took_ns / 2).saturating_add((at_ns.saturating_sub(self.at_ns) as f64 * MAX_DRIFT) as u64)
    }
}

/// Readings of another machine's clock.
#[derive(Debug, Default)]
pub(super) struct Clock {
    readings: Vec<Reading>,
    /// Number of times that every second reading was dropped. Each drop doubled the minimum time between two kept
    /// readings.
    thinned: u32,
    /// Unanswered clock questions: the number of each question, and the time at which it was sent, nanoseconds of our
    /// clock.
    asked: VecDeque<(u32, u64)>,
    questions: u32,
    /// Zero point of the agent's times on our clock, and the clock offset assumed at that time, nanoseconds. `None`
    /// before [`Clock::begin`].
    begun: Option<(u64, i64)>,
}

impl Clock {
    /// Discards all unanswered clock questions.
    pub(super) fn forget_questions(&mut self) {
        self.asked.clear();
    }

    /// Registers a clock question that is sent now, and returns its number.
    pub(super) fn ask(&mut self, now_ns: u64) -> u32 {
        self.questions = self.questions.wrapping_add(1);
        self.asked.push_back((self.questions, now_ns));
        let excess = self.asked.len().saturating_sub(MAX_OPEN_QUESTIONS);
        self.asked.drain(..excess);
        self.questions
    }

    /// Handles an answer to a clock question. Ignores an answer to an unknown question.
    pub(super) fn answered(&mut self, n: u32, theirs_ns: u64, came_ns: u64) {
        let Some(at) = self.asked.iter().position(|(asked, _)| *asked == n) else { return };
        if let Some((_, left_ns)) = self.asked.remove(at)
            && left_ns <= came_ns
        {
            self.learn(reading(left_ns, theirs_ns, came_ns));
        }
    }

    /// Returns the number of unanswered clock questions.
    pub(super) fn open(&self) -> usize {
        self.asked.len()
    }

    /// Keeps a new reading, unless it is older than the last reading. A new reading is also dropped if the last reading
    /// is still more accurate and the two readings agree within their maximum errors.
    fn learn(&mut self, new: Reading) {
        let Some(last) = self.readings.last_mut() else { return self.readings.push(new) };
        if new.at_ns < last.at_ns {
            return;
        }
        let (error_ns, known_ns) = (new.took_ns / 2, last.error_ns(new.at_ns));
        let moved_ns = (i128::from(new.offset_ns) - i128::from(last.offset_ns)).unsigned_abs();
        if error_ns > known_ns && moved_ns <= u128::from(error_ns) + u128::from(known_ns) {
            return;
        }
        let too_close = new.at_ns - last.at_ns < MIN_READING_GAP_NS;
        match self.readings.as_mut_slice() {
            // The new reading replaces the last stored reading if both of them, or the last two stored readings, are
            // too close in time (see [`MIN_READING_GAP_NS`]). In all other cases, the new reading is added.
            [.., last] if too_close => *last = new,
            [.., before, last] if last.at_ns - before.at_ns < MIN_READING_GAP_NS << self.thinned.min(20) => *last = new,
            _ => self.readings.push(new),
        }
        if self.readings.len() > MAX_READINGS {
            let mut places = 0..;
            self.readings.retain(|_| places.next().is_some_and(|at| at % 2 == 0));
            self.thinned += 1;
        }
    }

    /// Returns true if there is at least one reading.
    pub(super) fn is_known(&self) -> bool {
        !self.readings.is_empty()
    }

    /// Returns the round trip of the last reading, nanoseconds (at least 1); 0 if there is no reading.
    pub(super) fn round_trip_ns(&self) -> u64 {
        self.readings.last().map_or(0, |last| last.took_ns.max(1))
    }

    /// Returns the maximum error of the offset at a time on our clock, nanoseconds; 0 if there is no reading.
    pub(super) fn error_ns(&self, at_ns: u64) -> u64 {
        self.readings.last().map_or(0, |last| last.error_ns(at_ns))
    }

    /// Returns the offset at a time on our clock, nanoseconds, interpolated between the two nearest readings. Before
    /// the first reading, returns the offset of the first reading. After the last reading, returns the offset of the
    /// last reading. Returns 0 if there is no reading.
    pub(super) fn offset_ns(&self, at_ns: u64) -> i64 {
        let after = self.readings.partition_point(|reading| reading.at_ns <= at_ns);
        let (before, after) = (after.checked_sub(1).map(|at| self.readings[at]), self.readings.get(after));
        match (before, after) {
            (Some(a), Some(b)) => {
                let share = (at_ns - a.at_ns) as f64 / (b.at_ns - a.at_ns).max(1) as f64;
                let moved = i128::from(b.offset_ns) - i128::from(a.offset_ns);
                bounded(i128::from(a.offset_ns) + (moved as f64 * share) as i128)
            }
            (Some(only), None) => only.offset_ns,
            (None, Some(first)) => first.offset_ns,
            (None, None) => 0,
        }
    }

    /// Sets the zero point of the agent's times to a moment on our clock. Returns the zero point on the agent's clock.
    pub(super) fn begin(&mut self, origin_ns: u64) -> u64 {
        let offset_ns = self.offset_ns(origin_ns);
        self.begun = Some((origin_ns, offset_ns));
        origin_ns.saturating_add_signed(offset_ns)
    }

    /// Returns the offset at the zero point of the agent's times, nanoseconds.
    pub(super) fn begin_offset_ns(&self) -> i64 {
        self.begun.map_or(0, |(_, offset_ns)| offset_ns)
    }

    /// Returns the change of the offset since the zero point of the agent's times, nanoseconds.
    pub(super) fn drift_ns(&self, at_ns: u64) -> i64 {
        let Some((_, begun_ns)) = self.begun else { return 0 };
        bounded(i128::from(self.offset_ns(at_ns)) - i128::from(begun_ns))
    }

    /// Converts seconds since the zero point of the agent's times from the agent's clock to ours. The drift to subtract
    /// depends on the time on our clock, which is the result of the conversion. The conversion therefore runs twice:
    /// the second run subtracts the drift at the time that resulted from the first run.
    pub(super) fn ours_s(&self, theirs_s: f64) -> f64 {
        let Some((origin_ns, _)) = self.begun else { return theirs_s };
        // An agent may send any number, so the conversion saturates instead of overflowing.
        let ours = |s: f64| theirs_s - self.drift_ns((origin_ns as f64 + s * 1e9) as u64) as f64 / 1e9;
        ours(ours(theirs_s))
    }
}

/// Computes the clock reading that results from one exchange. Assumes that the agent read its clock halfway through the
/// exchange.
fn reading(left_ns: u64, theirs_ns: u64, came_ns: u64) -> Reading {
    let took_ns = came_ns - left_ns;
    let at_ns = left_ns + took_ns / 2;
    Reading { at_ns, offset_ns: bounded(i128::from(theirs_ns) - i128::from(at_ns)), took_ns }
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
        let read = |left, theirs, came| {
            let found = reading(left, theirs, came);
            (found.offset_ns, found.took_ns)
        };
        assert_eq!(read(1_000, 9_000_100, 1_200), (8_999_000, 200));
        assert_eq!(read(5_000, 0, 5_010), (-5_005, 10));
        assert_eq!(read(0, u64::MAX, 2), (i64::MAX, 2));
    }

    /// A clock that is an hour ahead, and at first runs too fast by `ppm` parts per million. Later, the clock's speed
    /// follows a daily temperature cycle.
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

    /// Makes one exchange whose round trip takes `way_ns` plus two random delays, one in each direction.
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
                // The conductor's command names a moment 0.3 s after the clocks were compared.
                let at = now + 300_000_000;
                let ordered = at.saturating_add_signed(clock.offset_ns(at));
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
            assert!(clock.readings.len() <= MAX_READINGS);
        }
    }

    #[test]
    fn slow_answers_change_the_clock_only_if_the_known_offset_is_old_or_impossible() {
        let mut clock = Clock::default();
        let mut answer = |at_ns: u64, offset_ns: u64, took_ns: u64| {
            let n = clock.ask(at_ns);
            clock.answered(n, at_ns + took_ns / 2 + offset_ns, at_ns + took_ns);
            clock.offset_ns(u64::MAX)
        };
        assert_eq!(answer(S, 5_000, 1_000), 5_000);
        assert_eq!(answer(2 * S, 900_000, 2_000_000), 5_000, "off by up to a millisecond, and known to a tenth of one");
        assert_eq!(answer(30 * S, 900_000, 2_000_000), 900_000, "by now as much could have changed");
        assert_eq!(answer(31 * S, 70_000_000, 2_000_000), 70_000_000, "its machine stood still");
    }

    #[test]
    fn unrequested_clock_answers_are_ignored() {
        let mut clock = Clock::default();
        let asked: Vec<u32> = (0..1_000).map(|now| clock.ask(now)).collect();
        assert_eq!((clock.open(), asked.last()), (MAX_OPEN_QUESTIONS, Some(&1_000)));
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
