//! A cycle counter for timing single calls: rdtscp on x86-64, CLOCK_MONOTONIC elsewhere. rdtscp waits until earlier
//! instructions are done, so a call between two readings is wholly between them.
//! Source: Intel SDM volume 2 (RDTSCP); the counter is invariant on every processor of the last decade, and
//! [`Calibration`] finds out whether it really is.

use crate::clock;

/// Counts now.
#[inline(always)]
pub fn counts() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        let mut processor = 0_u32;
        // SAFETY: rdtscp exists on every x86-64 processor that Linux 5.11 or newer is used on; it writes its
        // processor number into the variable and nothing else.
        unsafe { core::arch::x86_64::__rdtscp(&raw mut processor) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    clock::monotonic_ns()
}

/// What a count is worth and what reading it costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Nanoseconds of one count.
    pub ns_per_count: f64,
    /// Counts between two readings with nothing between them: the median of many. To be subtracted from a timing.
    pub overhead: u64,
    /// Largest relative difference between the rates of single pieces of the calibration; above 0.01 the counter
    /// is not to be relied on.
    pub spread: f64,
}

impl Calibration {
    /// Compares the counter with CLOCK_MONOTONIC for about 30 ms.
    pub fn measure() -> Self {
        let pieces: Vec<f64> = (0..6).map(|_| rate_of_one_piece()).collect();
        let mean = pieces.iter().sum::<f64>() / pieces.len() as f64;
        let mut middle = pieces.clone();
        middle.sort_by(f64::total_cmp);
        // A piece that was interrupted between its two clocks is an outlier on either side: leave both ends out.
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

    /// Nanoseconds of a timing of `counts`, the counter's own cost taken off.
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
