//! What counts as a figure at all, and the middle of several. How figures are written in sentences: [`run::number::said`].

pub(crate) use run::number::said::{duration, figure, grew, percent, rate};

/// The value, if it is a finite number.
pub(crate) fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}

/// The value, if it is finite and above zero: what may stand under a fraction.
pub(crate) fn positive(x: f64) -> Option<f64> {
    (x.is_finite() && x > 0.0).then_some(x)
}

/// `a / b`, if that is a finite number.
pub(crate) fn ratio(a: f64, b: f64) -> Option<f64> {
    if b == 0.0 { None } else { finite(a / b) }
}

/// The middle of these, of an even number the upper one; absent where there is none.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
