//! Self-similar arrivals from many independent on-off sources. The lengths of the on and off periods are Pareto
//! distributed with α = 3 − 2H. With Pareto distributed lengths, the sum of many sources is asymptotically self-similar
//! with Hurst parameter H (Willinger, Taqqu, Sherman and Wilson, "Self-similarity through high-variability", 1997).
//! While k sources are on, arrivals form a Poisson process with k times the rate of one source.

use fastrand::Rng;

use super::row::{ArrivalSpec, Gaps, Parameter, Unit, exponential};

/// Row of self-similar arrivals in [`ARRIVALS`](super::ARRIVALS).
pub(super) const SPEC: ArrivalSpec = ArrivalSpec {
    name: "self-similar",
    help: "many on-off sources with Pareto periods, which make bursts on every time scale",
    parameters: &[Parameter {
        name: "hurst",
        help: "Hurst parameter",
        unit: Unit::Number,
        default: "0.8",
        valid: |hurst| hurst > 0.5 && hurst < 1.0,
        advice: "give a Hurst parameter above 0.5 and below 1",
    }],
};

/// Number of sources per shard (generator thread). Each on-off source is on for half of the time on average.
const SOURCES: usize = 32;
/// Mean length of an on or off period, as a multiple of the mean gap between two arrivals of the whole process. Because
/// many requests arrive during a period, bursts are longer than single gaps.
const MEAN_PERIOD_GAPS: f64 = 200.0;
/// Maximum length of a period, as a multiple of the minimum length. Without a maximum length, a single source could
/// dominate a run.
const MAX_PERIOD: f64 = 1000.0;

/// On-off sources with heavy-tailed periods.
#[derive(Clone, Debug)]
pub(super) struct SelfSimilar {
    share_ns: f64,
    alpha: f64,
    shortest_ns: f64,
    now_ns: f64,
    ends_ns: Box<[f64; SOURCES]>,
    on: [bool; SOURCES],
    on_count: u32,
}

impl SelfSimilar {
    pub(super) fn new(rate_ns: f64, rng: &mut Rng, hurst: f64) -> Self {
        let alpha = (3.0 - 2.0 * hurst.clamp(0.51, 0.99)).clamp(1.02, 1.98);
        let mean_ns = MEAN_PERIOD_GAPS / rate_ns;
        let mut s = Self {
            share_ns: rate_ns / (SOURCES as f64 / 2.0),
            alpha,
            shortest_ns: mean_ns * (alpha - 1.0) / alpha,
            now_ns: 0.0,
            ends_ns: Box::new([0.0; SOURCES]),
            on: [false; SOURCES],
            on_count: 0,
        };
        for i in 0..SOURCES {
            // At the start, half of the sources are on, and each source is at a random point of its first period.
            s.on[i] = i % 2 == 0;
            s.on_count += u32::from(s.on[i]);
            s.ends_ns[i] = s.period(rng) * rng.f64();
        }
        s
    }

    fn period(&self, rng: &mut Rng) -> f64 {
        let u = 1.0 - rng.f64();
        (self.shortest_ns * u.powf(-1.0 / self.alpha)).min(self.shortest_ns * MAX_PERIOD)
    }
}

impl Gaps for SelfSimilar {
    fn gap_ns(&mut self, _: f64, rng: &mut Rng) -> f64 {
        let begin = self.now_ns;
        let mut work = exponential(rng);
        loop {
            let next = (0..SOURCES).min_by(|&a, &b| self.ends_ns[a].total_cmp(&self.ends_ns[b])).unwrap_or(0);
            let rate = self.share_ns * f64::from(self.on_count);
            let left = self.ends_ns[next] - self.now_ns;
            if rate > 0.0 && work <= rate * left {
                self.now_ns += work / rate;
                return self.now_ns - begin;
            }
            work -= rate * left;
            self.now_ns = self.ends_ns[next];
            self.on[next] = !self.on[next];
            self.on_count = if self.on[next] { self.on_count + 1 } else { self.on_count - 1 };
            self.ends_ns[next] = self.now_ns + self.period(rng);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Merges every `m` successive windows into one. Returns the variance of the counts in the merged windows, divided
    /// by m. For Poisson arrivals, the result does not depend on m. For self-similar arrivals, the result grows like
    /// m^(2H-1).
    fn scaled_variance(counts: &[f64], m: usize) -> f64 {
        let sums: Vec<f64> = counts.chunks_exact(m).map(|c| c.iter().sum()).collect();
        let mean = sums.iter().sum::<f64>() / sums.len() as f64;
        sums.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / sums.len() as f64 / m as f64
    }

    #[test]
    fn bursts_do_not_smooth_out_over_longer_windows() {
        let mut rng = Rng::with_seed(11);
        let mut process = SelfSimilar::new(1e-6, &mut rng, 0.9);
        let mut counts = vec![0.0; 20_000];
        let mut at = 0.0;
        loop {
            at += process.gap_ns(at, &mut rng);
            let Some(slot) = counts.get_mut((at / 1e7) as usize) else { break };
            *slot += 1.0;
        }
        let growth = scaled_variance(&counts, 100) / scaled_variance(&counts, 1);
        assert!(growth > 5.0, "Poisson would stay at 1, this is {growth}");
    }
}
