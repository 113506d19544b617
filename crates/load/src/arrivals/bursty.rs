//! Poisson arrivals whose rate has a peak once per period (bursty traffic of Banga and Druschel, USITS 1997). The rate
//! at the peak of a burst is `peak` times the mean rate. The peak lasts for a share of the period.

use fastrand::Rng;

use super::row::{ArrivalSpec, Gaps, Parameter, Unit, exponential};

/// Row of bursty arrivals in [`ARRIVALS`](super::ARRIVALS).
pub(super) const SPEC: ArrivalSpec = ArrivalSpec {
    name: "bursty",
    help: "Poisson arrivals with peaks: PEAK times the mean rate for SHARE of each PERIOD",
    parameters: &[
        Parameter {
            name: "peak",
            help: "peak rate over mean rate",
            unit: Unit::Number,
            default: "6",
            valid: |peak| peak >= 1.0,
            advice: "give 1 or more",
        },
        Parameter {
            name: "share",
            help: "share of time at peak",
            unit: Unit::Share,
            default: "5%",
            valid: |share| (0.0..=1.0).contains(&share),
            advice: "give a share of time from 0 to 1",
        },
        Parameter {
            name: "period_s",
            help: "length of one period",
            unit: Unit::Time,
            default: "100s",
            valid: |period_s| period_s > 0.0,
            advice: "give a time above zero",
        },
    ],
};

/// A Poisson process that alternates between two rates.
#[derive(Clone, Debug)]
pub(super) struct Bursty {
    peak_rate_ns: f64,
    rest_rate_ns: f64,
    peak_ns: f64,
    period_ns: f64,
}

impl Bursty {
    pub(super) fn new(rate_ns: f64, _: &mut Rng, peak: f64, share: f64, period_s: f64) -> Self {
        let period_ns = period_s * 1e9;
        let share = share.clamp(0.0, 0.999);
        let rest = ((1.0 - peak * share) / (1.0 - share)).max(0.0);
        Self {
            peak_rate_ns: rate_ns * peak,
            rest_rate_ns: rate_ns * rest,
            peak_ns: period_ns * share,
            period_ns: period_ns.max(1.0),
        }
    }
}

impl Gaps for Bursty {
    /// Returns the gap until the next arrival. The next arrival is due when the integral of the rate since the last
    /// arrival reaches an exponentially distributed random number. The integral is exact, because the rate is constant
    /// within each part of a period.
    fn gap_ns(&mut self, at_ns: f64, rng: &mut Rng) -> f64 {
        let mut work = exponential(rng);
        let (mut at, mut place) = (at_ns, at_ns.rem_euclid(self.period_ns));
        loop {
            let in_peak = place < self.peak_ns;
            let (rate, end) =
                if in_peak { (self.peak_rate_ns, self.peak_ns) } else { (self.rest_rate_ns, self.period_ns) };
            let left = end - place;
            if work <= rate * left && rate > 0.0 {
                return at + work / rate - at_ns;
            }
            work -= rate * left;
            at += left;
            place = if in_peak { self.peak_ns } else { 0.0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_has_its_share_of_the_arrivals() {
        // In one case of Banga and Druschel, the rate is 6 times its mean for 5 % of the time. If the rate is 6 times
        // its mean for 5 % of the time, 30 % of all arrivals are in the peak.
        let mut rng = Rng::with_seed(5);
        let mut p = Bursty::new(1e-6, &mut rng, 6.0, 0.05, 1.0);
        let (mut at, mut inside, mut all) = (0.0, 0u32, 0u32);
        while at < 200e9 {
            at += p.gap_ns(at, &mut rng);
            inside += u32::from(at.rem_euclid(1e9) < 0.05e9);
            all += 1;
        }
        let share = f64::from(inside) / f64::from(all);
        assert!((share - 0.30).abs() < 0.01, "{share}");
    }

    #[test]
    fn a_peak_with_all_arrivals_leaves_none_outside() {
        let mut rng = Rng::with_seed(5);
        let mut p = Bursty::new(1e-6, &mut rng, 10.0, 0.1, 1.0);
        let mut at = 0.0;
        for _ in 0..10_000 {
            at += p.gap_ns(at, &mut rng);
            assert!(at.rem_euclid(1e9) <= 0.1e9 + 1.0);
        }
    }
}
