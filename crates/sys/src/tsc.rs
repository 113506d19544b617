//! A cycle counter for timing single calls: rdtscp on x86-64, CLOCK_MONOTONIC elsewhere. Because rdtscp waits until
//! earlier instructions are done, a timed call lies wholly between two readings. Source: Intel SDM volume 2 (RDTSCP).
//! The cycle counter runs at a constant rate on every CPU of the last decade. [`Calibration`] checks that the rate of
//! the counter is constant.

use crate::clock;

/// Returns the current count of the cycle counter.
#[inline(always)]
pub fn counts() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        let mut processor = 0_u32;
        // SAFETY: rdtscp exists on every x86-64 CPU that runs Linux 5.11 or newer. The instruction writes only a number
        // (on Linux, of the CPU and its node) into the variable.
        unsafe { core::arch::x86_64::__rdtscp(&raw mut processor) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    clock::monotonic_ns()
}

/// Duration of one count of the cycle counter, and the cost of reading the counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Duration of one count of the time-stamp counter, nanoseconds.
    pub ns_per_count: f64,
    /// Median number of counts between two readings with nothing between them. The median is subtracted from each
    /// measured duration.
    pub overhead: u64,
    /// Uncertainty of the rate: six rates are measured, and the second-lowest is subtracted from the second-highest,
    /// divided by the mean. If `spread` is above 0.01, the counter is unreliable.
    pub spread: f64,
}

impl Calibration {
    /// Compares the counter with CLOCK_MONOTONIC for about 30 ms.
    pub fn measure() -> Self {
        let pieces: Vec<f64> = (0..6).map(|_| rate_of_one_piece()).collect();
        let mean = pieces.iter().sum::<f64>() / pieces.len() as f64;
        let mut middle = pieces.clone();
        middle.sort_by(f64::total_cmp);
        // An interruption between two readings makes one rate an outlier, so the highest and the lowest rate are
        // ignored.
        let spread = (middle[4] - middle[1]) / mean;
        let mut gaps: Vec<u64> = (0..1001)
            .map(|_| {
                let begin = counts();
                counts().wrapping_sub(begin)
            })
            .collect();
        gaps.sort_unstable();
        Self { ns_per_count: (middle[2] + middle[3]) / 2.0, overhead: gaps[500], spread }
    }

    /// Converts a timing of `counts` to nanoseconds and subtracts the cost of reading the counter.
    #[inline]
    pub fn ns(&self, counts: u64) -> f64 {
        counts.saturating_sub(self.overhead) as f64 * self.ns_per_count
    }
}

fn rate_of_one_piece() -> f64 {
    let (t0, c0) = (clock::monotonic_ns(), counts());
    clock::sleep_until_ns(t0 + 5_000_000);
    let (t1, c1) = (clock::monotonic_ns(), counts());
    (t1 - t0) as f64 / c1.wrapping_sub(c0).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_agree_with_the_monotonic_clock() {
        let calibration = Calibration::measure();
        let (t, c) = (clock::monotonic_ns(), counts());
        clock::sleep_until_ns(t + 20_000_000);
        let (ns, real) = (calibration.ns(counts() - c), (clock::monotonic_ns() - t) as f64);
        assert!((ns / real - 1.0).abs() < 0.1, "{ns} against {real}, {calibration:?}");
    }
}
