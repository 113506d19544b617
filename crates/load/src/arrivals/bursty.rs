//! A Poisson process whose rate peaks once a period (source 1, bursty traffic): `peak` times the mean for a share of
//! the period, and in the rest what keeps the mean, (1 - peak·share)/(1 - share) times it.

use fastrand::Rng;

use super::exponential;

/// A Poisson process with two rates.
#[derive(Clone, Debug)]
pub(super) struct Bursty {
    peak_rate_ns: f64,
    rest_rate_ns: f64,
    peak_ns: f64,
    period_ns: f64,
}

impl Bursty {
    pub(super) fn new(rate_ns: f64, peak: f64, share: f64, period_ns: f64) -> Self {
        let share = share.clamp(0.0, 0.999);
        let rest = ((1.0 - peak * share) / (1.0 - share)).max(0.0);
        Self {
            peak_rate_ns: rate_ns * peak,
            rest_rate_ns: rate_ns * rest,
            peak_ns: period_ns * share,
            period_ns: period_ns.max(1.0),
        }
    }

    /// The gap behind `at_ns`: one unit of exponential "work" is used up at the rate of each stretch it crosses, which is
    /// exact for a rate that is constant in pieces.
    pub(super) fn gap_ns(&self, at_ns: f64, rng: &mut Rng) -> f64 {
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
        // (6, 5 %) of source 1: 30 % of all arrivals fall into the peak.
        let (p, mut rng) = (Bursty::new(1e-6, 6.0, 0.05, 1e9), Rng::with_seed(5));
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
    fn a_peak_that_takes_everything_leaves_the_rest_silent() {
        let (p, mut rng) = (Bursty::new(1e-6, 10.0, 0.1, 1e9), Rng::with_seed(5));
        let mut at = 0.0;
        for _ in 0..10_000 {
            at += p.gap_ns(at, &mut rng);
            assert!(at.rem_euclid(1e9) <= 0.1e9 + 1.0);
        }
    }
}
