//! Shares of failed requests of two sides, with the interval of their difference.

use run::Estimate;
use stats::average;
use stats::student::{quantile, two_sided};

/// Assumed number of failures in one burst (failures that occur together). Used if a side has a single window, because
/// one window does not show how many failures occur together.
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

    /// Returns Pearson's chi-squared sum of the deviations of each observation's share from the share of its condition.
    /// Also returns the degrees of freedom of the chi-squared sum.
    fn scatter(&self) -> (f64, f64) {
        let of = |observations: &Vec<Count>| {
            let p = share(observations);
            let square = |(failed, all): &Count| (failed - all * p).powi(2) / (all * p * (1.0 - p));
            let told = p > 0.0 && p < 1.0;
            (
                if told { observations.iter().map(square).sum() } else { 0.0 },
                if told { observations.len() as f64 - 1.0 } else { 0.0 },
            )
        };
        self.0.iter().map(of).fold((0.0, 0.0), |(a, b), (squares, freedom)| (a + squares, b + freedom))
    }
}

fn all(observations: &[Count]) -> f64 {
    observations.iter().map(|(_, all)| all).sum()
}

fn share(observations: &[Count]) -> f64 {
    observations.iter().map(|(failed, _)| failed).sum::<f64>() / all(observations)
}

/// Failed shares of two sides. Each share comes with its effective number of independent requests.
#[derive(Clone, Copy)]
pub(super) struct Shares {
    old: (f64, f64),
    new: (f64, f64),
    /// Degrees of freedom of the scatter between observations.
    freedom: f64,
}

impl Shares {
    pub(super) fn of(old: &Side, new: &Side, windows: (usize, usize)) -> Self {
        let (a, b) = (old.share(), new.share());
        let (squares, freedom) =
            [old, new].map(Side::scatter).into_iter().fold((0.0, 0.0), |x, y| (x.0 + y.0, x.1 + y.1));
        let single = windows.0.min(windows.1) < 2;
        let burst = if freedom > 0.0 {
            (squares / freedom).max(1.0)
        } else if single {
            BURST
        } else {
            1.0
        };
        let freedom = if freedom > 0.0 { freedom } else { f64::INFINITY };
        Self { old: (a, old.draws() / burst), new: (b, new.draws() / burst), freedom }
    }

    /// Returns the new share minus the old share, with its interval. If both sides are equal in truth, the interval
    /// does not contain 0 with the probability `chance`.
    pub(super) fn difference(&self, chance: f64) -> Estimate {
        let interval = stats::shares::difference(self.old, self.new, quantile(chance, self.freedom));
        Estimate { value: self.new.0 - self.old.0, low: interval.low, high: interval.high }
    }

    /// Returns the probability that the failed shares of two equal servers differ by at least as much as the measured
    /// shares. Returns `None` if no request failed, or if every request failed.
    pub(super) fn chance(&self) -> Option<f64> {
        let ((a, n), (b, m)) = (self.old, self.new);
        let both = (a * n + b * m) / (n + m);
        let error = (both * (1.0 - both) * (1.0 / n + 1.0 / m)).sqrt();
        (error > 0.0).then(|| two_sided((b - a) / error, self.freedom))
    }
}
