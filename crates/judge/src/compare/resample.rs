//! Drawing windows again, with a fixed seed: the same runs always compare alike.

/// Resamples of a bootstrap: its standard error is off by some 4 %.
pub(super) const RESAMPLES: usize = 300;

/// Logarithms of a figure under one condition: of the old windows and of the new ones.
pub(super) type Logs = (Vec<f64>, Vec<f64>);
pub(super) type SideOf = fn(&Logs) -> &Vec<f64>;

pub(super) fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The draws.
pub(super) struct Random(pub(super) fastrand::Rng);

impl Random {
    pub(super) fn draw(&mut self, values: &[f64]) -> Vec<f64> {
        (0..values.len()).map(|_| values[self.0.usize(..values.len())]).collect()
    }

    pub(super) fn again(&mut self, pairs: &[Logs], alone: bool) -> Vec<Logs> {
        if alone {
            return (0..pairs.len()).map(|_| pairs[self.0.usize(..pairs.len())].clone()).collect();
        }
        pairs.iter().map(|(a, b)| (self.draw(a), self.draw(b))).collect()
    }
}
