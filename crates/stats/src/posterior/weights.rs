//! Posterior weights of all points of the parameter grid, and the estimate of the capacity that is computed from these
//! weights.

use super::estimate::CapacityEstimate;

/// Posterior probability (weight) of every combination of a capacity and a steepness.
pub(super) struct Posterior {
    /// Rate, steepness and weight of each cell. The cells are ordered by rate; the cells of one rate are adjacent, one
    /// per steepness.
    pub(super) cells: Vec<(f64, f64, f64)>,
    /// Number of steepnesses on the grid.
    pub(super) steeps: usize,
    /// Difference between the logarithms of neighbouring rates.
    pub(super) step: f64,
    /// Standard deviation of the logarithm of the machine's speed, from window to window.
    pub(super) speeds: f64,
}

impl Posterior {
    /// Returns each rate, in order, with its share of the total weight.
    fn rates(&self) -> Vec<(f64, f64)> {
        let of = |row: &[(f64, f64, f64)]| (row[0].0, row.iter().map(|c| c.2).sum::<f64>());
        let rows: Vec<(f64, f64)> = self.cells.chunks(self.steeps).map(of).collect();
        let all: f64 = rows.iter().map(|r| r.1).sum();
        rows.into_iter().map(|(c, w)| (c, w / all)).collect()
    }

    /// Returns the range of capacities, in logarithms, outside of which no capacity has more than a millionth of the
    /// posterior weight.
    pub(super) fn span(&self) -> (f64, f64) {
        let rates = self.rates();
        let kept = || rates.iter().filter(|(_, w)| *w > 1e-6).map(|(c, _)| c.ln());
        let (low, high) = (kept().fold(f64::INFINITY, f64::min), kept().fold(f64::NEG_INFINITY, f64::max));
        let beyond = self.step + 2.0 * self.speeds;
        (low - beyond, high + beyond)
    }

    fn quantile(&self, share: f64) -> f64 {
        let mut below = 0.0;
        for (c, w) in self.rates() {
            if below + w >= share {
                // The weight of a cell is spread evenly over the cell's range of rates.
                let within = if w > 0.0 { (share - below) / w - 0.5 } else { 0.0 };
                return c * (within * self.step).exp();
            }
            below += w;
        }
        f64::NAN
    }

    pub(super) fn estimate(&self) -> Option<CapacityEstimate> {
        let all: f64 = self.cells.iter().map(|c| c.2).sum();
        let steep = (self.cells.iter().map(|c| c.2 * c.1.ln()).sum::<f64>() / all).exp();
        let found = CapacityEstimate {
            rate: self.quantile(0.5),
            low: self.quantile(0.025),
            high: self.quantile(0.975),
            steep,
            speeds: self.speeds,
        };
        (found.rate.is_finite() && found.low.is_finite() && found.high.is_finite()).then_some(found)
    }
}
