//! Shares of failed requests of two sides, with the interval of their difference.

use run::Estimate;
use stats::average;
use stats::student::{quantile, two_sided};

/// Assumed number of failures in one burst (failures that occur together). The assumed size is used if a side has one
/// window per condition, because one window does not show how many failures occur together. The assumed size is also
/// used if too few windows measure the size of bursts. A measured size from too few windows is so uncertain that more
/// windows would make the comparison less exact.
const BURST: f64 = 10.0;
/// Number of failed requests, and number of all requests, of an observation.
pub(super) type Count = (f64, f64);

/// Observations of one side, grouped by condition.
pub(super) struct Side(pub(super) Vec<Vec<Count>>);

impl Side {
    pub(super) fn share(&self) -> f64 {
        average(&self.0.iter().map(|observations| share(observations)).collect::<Vec<_>>())
    }

    /// Returns the effective number of requests, which determines the precision of the failed share. All conditions
    /// have equal weights, so a condition with few requests makes the effective number of requests much smaller.
    fn draws(&self) -> f64 {
        let conditions = self.0.len() as f64;
        conditions * conditions / self.0.iter().map(|observations| 1.0 / all(observations)).sum::<f64>()
    }

    /// Returns true if the side cannot show how many failures occur together: all conditions, or one with failures,
    /// have a single observation.
    fn single(&self) -> bool {
        let alone = |observations: &Vec<Count>| observations.len() < 2;
        self.0.iter().all(alone) || self.0.iter().any(|observations| alone(observations) && partly(share(observations)))
    }

    /// Returns Pearson's chi-squared sum of the deviations of each observation's share from the share of its condition.
    /// Also returns the degrees of freedom of the chi-squared sum.
    fn scatter(&self) -> (f64, f64) {
        let of = |observations: &Vec<Count>| {
            let p = share(observations);
            let square = |(failed, all): &Count| (failed - all * p).powi(2) / (all * p * (1.0 - p));
            match partly(p) {
                true => (observations.iter().map(square).sum(), observations.len() as f64 - 1.0),
                false => (0.0, 0.0),
            }
        };
        self.0.iter().map(of).fold((0.0, 0.0), |(a, b), (squares, freedom)| (a + squares, b + freedom))
    }
}

/// Returns true if some requests failed, but not all of them.
fn partly(share: f64) -> bool {
    share > 0.0 && share < 1.0
}

fn all(observations: &[Count]) -> f64 {
    observations.iter().map(|(_, all)| all).sum()
}

fn share(observations: &[Count]) -> f64 {
    observations.iter().map(|(failed, _)| failed).sum::<f64>() / all(observations)
}

/// Failed shares of two sides. Failed shares of two sides. Each share comes with its effective number of requests: the
/// number of independent requests that would be as precise.
#[derive(Clone, Copy)]
pub(super) struct Shares {
    old: (f64, f64),
    new: (f64, f64),
    /// Number of failures in one burst, measured by the scatter between observations if there are enough of them.
    measured: Bursts,
    /// Number of failures in one burst, at least the assumed [`BURST`].
    assumed: Bursts,
}

/// Number of failures that occur together.
#[derive(Clone, Copy)]
struct Bursts {
    failures: f64,
    /// Degrees of freedom of `failures`; infinite if `failures` is the assumed number and no measurement exceeds it.
    freedom: f64,
}

impl Shares {
    pub(super) fn of(old: &Side, new: &Side) -> Self {
        let (a, b) = (old.share(), new.share());
        let (squares, freedom) =
            [old, new].map(Side::scatter).into_iter().fold((0.0, 0.0), |x, y| (x.0 + y.0, x.1 + y.1));
        let seen = if freedom > 0.0 { (squares / freedom).max(1.0) } else { 1.0 };
        // If the measured burst size exceeds `BURST`, the interval uses the degrees of freedom of the observations.
        let freedom_of_assumed = if seen > BURST { freedom } else { f64::INFINITY };
        let assumed = Bursts { failures: seen.max(BURST), freedom: freedom_of_assumed };
        let measured = match freedom > 0.0 {
            true => Bursts { failures: seen, freedom },
            false if old.single() || new.single() => assumed,
            false => Bursts { failures: 1.0, freedom: f64::INFINITY },
        };
        Self { old: (a, old.draws()), new: (b, new.draws()), measured, assumed }
    }

    /// Returns the new share minus the old share, with its interval. If both sides are equal in truth, the interval
    /// does not contain 0 with the probability `chance`.
    pub(super) fn difference(&self, chance: f64) -> Estimate {
        let each = [self.measured, self.assumed].map(|bursts| {
            let independent = |(share, draws): (f64, f64)| (share, draws / bursts.failures);
            let width = quantile(chance, bursts.freedom);
            stats::shares::difference(independent(self.old), independent(self.new), width)
        });
        let [measured, assumed] = each;
        let interval = if assumed.high - assumed.low < measured.high - measured.low { assumed } else { measured };
        Estimate { value: self.new.0 - self.old.0, low: interval.low, high: interval.high }
    }

    /// Returns the probability that the failed shares of two equal servers differ by at least as much as the measured
    /// shares. Returns `None` if no request failed, or if every request failed.
    pub(super) fn chance(&self) -> Option<f64> {
        let ((a, n), (b, m)) = (self.old, self.new);
        let both = (a * n + b * m) / (n + m);
        let chance = |bursts: Bursts| {
            let error = (both * (1.0 - both) * (1.0 / n + 1.0 / m) * bursts.failures).sqrt();
            (error > 0.0).then(|| two_sided((b - a) / error, bursts.freedom))
        };
        Some(chance(self.measured)?.min(chance(self.assumed)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In this observed case, every tenth answer of a server fails. Each pair of runs alone gave a decision, but two
    /// runs per side, taken together, gave none.
    #[test]
    fn more_runs_decide_what_one_run_decides() {
        let low = |runs: usize, chance: f64| {
            let side = |failed: f64| Side(vec![vec![(failed, 1000.0); runs]]);
            Shares::of(&side(0.0), &side(100.0)).difference(chance).low
        };
        let one = low(1, 0.005);
        assert!(one > 0.0, "{one}");
        for runs in 2..6 {
            assert!(low(runs, 0.005) >= one, "{runs} runs: {} instead of {one}", low(runs, 0.005));
        }
        let burst = Side(vec![vec![(0.0, 1000.0), (100.0, 1000.0)]]);
        let quiet = Side(vec![vec![(0.0, 1000.0), (0.0, 1000.0)]]);
        assert!(Shares::of(&quiet, &burst).difference(0.005).low <= 0.0, "all failures in one of two runs");
    }

    /// One burst of 60 failures under one of six conditions, with one window each.
    #[test]
    fn one_window_per_condition_shows_no_bursts() {
        let side = |failed: f64| {
            Side((0..6).map(|at| vec![(if at == 5 { failed } else { 0.0 }, 1000.0)]).collect::<Vec<Vec<Count>>>())
        };
        let apart = Shares::of(&side(0.0), &side(60.0)).difference(0.0125);
        assert!((apart.value - 0.01).abs() < 1e-12, "{apart:?}");
        // Newcombe's interval of 0 of 600 and 6 of 600.
        assert!((apart.low + 0.00203).abs() < 1e-4 && (apart.high - 0.02633).abs() < 1e-4, "{apart:?}");
        // A second window without failures does not show the size of the burst either.
        let with_more = |failed: f64| {
            let mut side = side(failed);
            side.0[0] = vec![(0.0, 500.0); 2];
            side
        };
        assert!(Shares::of(&with_more(0.0), &with_more(60.0)).difference(0.0125).low < 0.0);
    }

    #[test]
    fn a_burst_size_from_few_windows_is_uncertain() {
        let side = |failed: [f64; 4]| Side(vec![failed.map(|failed| (failed, 1e4)).into()]);
        let apart = Shares::of(&side([0.0; 4]), &side([20.0, 90.0, 160.0, 210.0])).difference(0.0125);
        // The size of a burst is measured as 58 failures, with 3 degrees of freedom.
        assert!((apart.low + 0.0296).abs() < 3e-4 && (apart.high - 0.0612).abs() < 3e-4, "{apart:?}");
    }

    /// Simulates windows of two equal servers with bursts of 50 failures. The intervals are
    /// computed to exclude 0 by mistake in 1.25 % of the cases.
    #[test]
    fn few_windows_with_large_bursts_tell_no_equal_sides_apart() {
        let told = |windows: usize| {
            let one = |seed: u64| {
                let mut random = fastrand::Rng::with_seed(seed);
                let mut side = || {
                    let mut window = || ((0..20).filter(|_| random.f64() < 0.1).count() as f64 * 50.0, 1e4);
                    Side(vec![(0..windows).map(|_| window()).collect()])
                };
                let apart = Shares::of(&side(), &side()).difference(0.0125);
                apart.low > 0.0 || apart.high < 0.0
            };
            (0..2000).filter(|seed| one(*seed)).count()
        };
        for windows in [3, 4, 6] {
            let told = told(windows);
            println!("{windows} windows: {told} of 2000");
            assert!(told <= 40, "{told} of 2000 with {windows} windows");
        }
    }
}
