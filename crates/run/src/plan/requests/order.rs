//! Order of the requests of a set.

use serde::{Deserialize, Serialize};

/// Order of the requests of a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RequestOrder {
    /// Requests are chosen at random, according to their weights.
    #[default]
    Weighted,
    /// Each connection sends the requests in the order of the set, beginning with the first request. A request of
    /// weight 3 is sent three times in a row, and a request of weight 0 is left out.
    Sequence,
    /// All requests are sent once in random order, then again in another random order, and so on. In each round, a
    /// request of weight 3 is sent three times, and a request of weight 0 is left out.
    Shuffle,
}

/// Maximum number of requests in one round of a sequence or a shuffle.
const MAX_ROUND: usize = 1_000_000;

/// Returns the indexes of the requests in one round of a sequence or a shuffle, in the order of the set. Each request
/// occurs as often as its weight says, relative to the other weights. Returns `None` if the weights have no ratio of
/// whole numbers, or if a round would have more than [`MAX_ROUND`] requests.
pub fn round_of(weights: &[f64]) -> Option<Vec<u16>> {
    let positive = || weights.iter().copied().filter(|weight| *weight > 0.0);
    let smallest = positive().fold(f64::INFINITY, f64::min);
    let unit = match positive().all(|weight| is_whole(weight / smallest)) {
        true => smallest,
        false if positive().all(is_whole) => positive().map(|weight| weight.round() as u64).fold(0, divisor) as f64,
        false => return None,
    };
    let times = |weight: f64| if weight > 0.0 { (weight / unit).round() as usize } else { 0 };
    let total = positive().fold(0_usize, |sum, weight| sum.saturating_add(times(weight)));
    let each = (0..=u16::MAX).zip(weights).flat_map(|(item, weight)| std::iter::repeat_n(item, times(*weight)));
    (total <= MAX_ROUND).then(|| each.collect())
}

/// Returns true if a ratio of weights is a whole number, apart from rounding errors of decimal fractions.
fn is_whole(ratio: f64) -> bool {
    (ratio - ratio.round()).abs() <= 1e-9 * ratio
}

/// Returns the greatest common divisor of two numbers.
fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}
