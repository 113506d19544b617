//! Level: a figure that stayed near one value in several trials.

use crate::number::median_of_sorted;
use crate::thresholds::{ABOVE_LIMITER, ONE_RATE};

/// Range of one figure over several trials, such as the rate of good answers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Level {
    /// Lowest value.
    pub(crate) lowest: f64,
    /// Median value.
    pub(crate) middle: f64,
    /// Highest value.
    pub(crate) highest: f64,
    /// True if the values stayed near the median. A disturbed trial may have a lower value than a limit allows, but no
    /// trial has a far higher value. Up to a third of the values may therefore differ from the median.
    pub(crate) constant: bool,
}

impl Level {
    /// Returns the level of the `values`, which may be in any order. Without values, all fields of the result are 0 or
    /// false.
    pub(super) fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let (Some(lowest), Some(highest)) = (values.first().copied(), values.last().copied()) else {
            return Self::default();
        };
        let middle = median_of_sorted(&values).unwrap_or(0.0);
        let near = values.iter().filter(|value| is_near(**value, middle)).count();
        let constant = middle > 0.0 && are_most(near, values.len()) && highest <= ABOVE_LIMITER * middle;
        Self { lowest, middle, highest, constant }
    }

    /// Returns true if a value is near the median.
    pub(crate) fn is_near(&self, value: f64) -> bool {
        is_near(value, self.middle)
    }
}

/// Returns the highest value divided by the lowest value.
pub(super) fn highest_over_lowest(values: impl Iterator<Item = f64> + Clone) -> f64 {
    values.clone().fold(0.0_f64, f64::max) / values.fold(f64::MAX, f64::min)
}

/// Returns true if at least two thirds of the trials agree with a limit, so that the other trials may have been
/// disturbed.
pub(super) const fn are_most(agreeing: usize, all: usize) -> bool {
    3 * agreeing >= 2 * all
}

/// Returns true if a value is near the middle value of several trials.
fn is_near(value: f64, middle: f64) -> bool {
    (value / middle - 1.0).abs() <= ONE_RATE
}
