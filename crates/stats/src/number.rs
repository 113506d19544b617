//! Checks for finite and positive numbers, and the median.

/// Returns the value if it is finite, otherwise `None`.
pub fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}

/// Returns the value if it is finite and above zero, so that a caller can divide by it.
pub fn positive(x: f64) -> Option<f64> {
    (x.is_finite() && x > 0.0).then_some(x)
}

/// Returns `a / b` if this quotient is finite, otherwise `None`.
pub fn ratio(a: f64, b: f64) -> Option<f64> {
    if b == 0.0 { None } else { finite(a / b) }
}

/// Returns the median, or `None` if there are no values; see [`median_of_sorted`].
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    median_of_sorted(&values)
}

/// Returns the median of ascending values, or `None` if there are no values. For an even number of values, the median
/// is the mean of the middle two.
pub fn median_of_sorted(values: &[f64]) -> Option<f64> {
    let upper = *values.get(values.len() / 2)?;
    let lower = if values.len().is_multiple_of(2) { values[values.len() / 2 - 1] } else { upper };
    Some(f64::midpoint(lower, upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_and_even_counts() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!((median(vec![7.0]), median(Vec::new())), (Some(7.0), None));
    }
}
