//! Times at which a stream sends its events.

use fastrand::Rng;

use crate::{Options, ServeError};

/// Fraction of the gaps of [`Profile::Tokens`] that are 0. Gaps that are neither 0 nor long lie between 0.5 and 1.5
/// times the requested mean gap. The mean of all gaps is therefore the requested one.
const TOGETHER: f64 = 0.08;
/// Fraction of the gaps of [`Profile::Tokens`] that are long.
const LONG: f64 = 0.02;
/// Length of a long gap, as a multiple of the mean gap.
const LONG_GAPS: f64 = 5.0;

/// Maximum number of events of a stream.
const MAX_EVENTS: u64 = 1_000_000;

/// Distribution of the gaps between events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Profile {
    /// Each gap has the same length.
    #[default]
    Even,
    /// The gaps resemble the gaps between the tokens that a language model's server sends. Most gaps are irregular,
    /// some tokens arrive together, and a few gaps are long.
    Tokens,
}

/// Schedule that all streams of a server follow.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    first_ns: f64,
    gap_ns: f64,
    pub(super) events: u64,
    profile: Profile,
    seed: u64,
}

/// Times of the events of one stream.
#[derive(Clone, Debug)]
pub(super) struct Times {
    /// Time of the next event. After the last event, `next_ns` is the time at which the stream ends.
    pub(super) next_ns: u64,
    /// Number of events sent so far.
    pub(super) sent: u64,
    rng: Rng,
}

impl Schedule {
    pub(super) fn from(options: &Options<'_>) -> Result<Self, ServeError> {
        let ms = |name, default: f64| {
            let given = options.get::<f64>(name)?.unwrap_or(default);
            match (0.0..=3.6e6).contains(&given) {
                true => Ok(given * 1e6),
                false => Err(ServeError::BadOption { name, value: given.to_string(), wants: "0 to 3,600,000 ms" }),
            }
        };
        let profile = match options.get::<String>("profile")?.as_deref() {
            None | Some("even") => Profile::Even,
            Some("tokens") => Profile::Tokens,
            Some(other) => {
                return Err(ServeError::BadOption { name: "profile", value: other.into(), wants: "even or tokens" });
            }
        };
        Ok(Self {
            first_ns: ms("first_ms", 300.0)?,
            gap_ns: ms("gap_ms", 20.0)?,
            events: events(options)?,
            profile,
            seed: options.get("seed")?.unwrap_or(1),
        })
    }

    /// Returns the times of stream number `stream`, which begins now.
    pub(super) fn begin(&self, now_ns: u64, stream: u64) -> Times {
        let mut rng = Rng::with_seed(self.seed.wrapping_add(stream));
        let first_ns = match self.profile {
            Profile::Even => self.first_ns,
            Profile::Tokens => self.first_ns * (0.5 + rng.f64()),
        };
        Times { next_ns: now_ns.saturating_add(first_ns as u64), sent: 0, rng }
    }

    /// Returns true if all events were sent.
    pub(super) const fn is_over(&self, times: &Times) -> bool {
        times.sent >= self.events
    }

    /// Counts an event, and sets the time of the next event. After the last event, the stream ends immediately.
    pub(super) fn advance(&self, times: &mut Times) {
        times.sent += 1;
        if !self.is_over(times) {
            let gap_ns = self.gap_ns * self.gaps(&mut times.rng);
            times.next_ns = times.next_ns.saturating_add(gap_ns as u64);
        }
    }

    /// Draws a random gap, as a multiple of the mean gap.
    fn gaps(&self, rng: &mut Rng) -> f64 {
        let kind = if self.profile == Profile::Tokens { rng.f64() } else { return 1.0 };
        match kind {
            kind if kind < TOGETHER => 0.0,
            kind if kind < TOGETHER + LONG => LONG_GAPS,
            _ => 0.5 + rng.f64(),
        }
    }
}

/// Returns the number of events of a stream.
fn events(options: &Options<'_>) -> Result<u64, ServeError> {
    let events = options.get("events")?.unwrap_or(100);
    match events {
        1..=MAX_EVENTS => Ok(events),
        _ => Err(ServeError::BadOption { name: "events", value: events.to_string(), wants: "1 to 1,000,000 events" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn schedule(options: &[(&str, &str)]) -> Schedule {
        let map = options.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        Schedule::from(&Options::new(&map).unwrap()).unwrap()
    }

    fn times_ms(schedule: &Schedule, stream: u64) -> Vec<u64> {
        let mut times = schedule.begin(1_000 * MS, stream);
        let mut all = Vec::new();
        while !schedule.is_over(&times) {
            all.push(times.next_ns / MS - 1_000);
            schedule.advance(&mut times);
        }
        all
    }

    #[test]
    fn even_gaps_follow_the_first_event() {
        let even = schedule(&[("first_ms", "300"), ("gap_ms", "20"), ("events", "4")]);
        assert_eq!(times_ms(&even, 0), [300, 320, 340, 360]);
    }

    #[test]
    fn tokens_are_irregular_with_the_same_mean_and_repeat_with_their_seed() {
        let options = [("first_ms", "0"), ("gap_ms", "20"), ("events", "20000"), ("profile", "tokens"), ("seed", "7")];
        let tokens = schedule(&options);
        let all = times_ms(&tokens, 3);
        assert_eq!(all, times_ms(&schedule(&options), 3));
        assert_ne!(all, times_ms(&tokens, 4));
        let mean_ms = *all.last().unwrap() as f64 / 19_999.0;
        assert!((19.0..21.0).contains(&mean_ms), "{mean_ms}");
        let gaps: Vec<u64> = all.windows(2).map(|two| two[1] - two[0]).collect();
        assert!(gaps.contains(&0) && gaps.iter().any(|gap| *gap >= 99));
    }
}
