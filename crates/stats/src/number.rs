//! Checks for finite and positive numbers, and the median.

/// Returns the value if it is finite.
pub fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}

/// Returns the value if it is finite and above zero, so that it can be a divisor.
pub fn positive(x: f64) -> Option<f64> {
    (x.is_finite() && x > 0.0).then_some(x)
}

/// Returns `a / b` if the quotient is finite.
pub fn ratio(a: f64, b: f64) -> Option<f64> {
    if b == 0.0 { None } else { finite(a / b) }
}

/// Returns the median, or `None` if there are no values. For an even number of values, this is the larger of the middle
/// two.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
