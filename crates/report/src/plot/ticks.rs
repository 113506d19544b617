//! Values of the ticks of an axis: steps of 1, 2 and 5, of minutes and hours, powers of ten or of two, or nines (90 %,
//! 99 %, 99.9 %).

use super::Axis;
use run::number::{Unit, significant};

/// Returns the smallest step that is at least `length` and that is 1, 2 or 5 times a power of ten.
fn step_125(length: f64) -> f64 {
    if !(length.is_finite() && length > 0.0) {
        return 1.0;
    }
    let decade = 10f64.powf(length.log10().floor());
    let ratio = length / decade;
    let factor = [1.0, 2.0, 5.0].into_iter().find(|f| ratio <= f * 1.000_001).unwrap_or(10.0);
    factor * decade
}

/// Returns the distance between the ticks of a linear axis. The distance between two ticks is at least `length`; for
/// times, it is at least three quarters of `length`. On an axis of sizes, the ticks are a power of two apart. On an
/// axis of long times, the ticks are a number of minutes, hours or days apart. On an axis with any other unit, the
/// ticks are 1, 2 or 5 times a power of ten apart.
pub(super) fn step(axis: &Axis, length: f64) -> f64 {
    let two = length.max(1.0).log2().ceil().exp2();
    match axis.unit {
        Unit::Size if two.is_finite() => two,
        Unit::Seconds if length > 60.0 && length.is_finite() => time_step(length),
        _ => step_125(length),
    }
}

/// Returns the smallest step of minutes, hours or days that is at least three quarters of `length_s`. The step may be
/// smaller than `length_s`, because labels such as `3 h` need little space.
fn time_step(length_s: f64) -> f64 {
    const MINUTES: [f64; 12] = [1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 180.0, 360.0, 720.0, 1440.0];
    let minutes = MINUTES.into_iter().find(|minutes| length_s * 0.75 <= minutes * 60.0 * 1.000_001);
    minutes.map_or_else(|| 86_400.0 * step_125(length_s / 86_400.0), |minutes| minutes * 60.0)
}

pub(super) fn linear(low: f64, high: f64, step: f64, most: usize) -> Vec<f64> {
    let first = (low / step - 1e-9).ceil();
    (0..=most + 2).map(|i| (first + i as f64) * step).take_while(|v| *v <= high + step * 1e-6).collect()
}

/// Minimum number of ticks of a logarithmic axis. If an axis spans less than a power of ten and would have fewer ticks,
/// it gets ticks at equal distances instead.
const MIN_LOG_TICKS: usize = 3;

pub(super) fn decades(low: f64, high: f64, most: usize) -> Vec<f64> {
    let (from, to) = (low.log10().floor().max(-300.0) as i32, high.log10().ceil().min(300.0) as i32);
    let count = (high / low).log10();
    let whole = (from..=to).filter(|e| (low..=high).contains(&10f64.powi(*e))).count();
    // One or two labels would not show that the scale is logarithmic. A logarithmic axis with few labels therefore gets
    // further labels between the powers of ten.
    let is_sparse = whole < 2 || whole < MIN_LOG_TICKS && 3 * whole <= most + 1;
    let factors: &[f64] = if count * 3.0 <= most as f64 || is_sparse { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let skip = ((count / most.max(1) as f64).ceil() as usize).max(1);
    let values: Vec<f64> =
        (from..=to).step_by(skip).flat_map(|e| factors.iter().map(move |f| f * 10f64.powi(e))).collect();
    let shown = values.iter().filter(|v| (low..=high).contains(*v)).count();
    let is_short = count < 1.0 && shown < MIN_LOG_TICKS;
    if is_short { linear(low, high, step_125((high - low) / most.max(1) as f64), most) } else { values }
}

pub(super) fn powers_of_two(low: f64, high: f64, most: usize) -> Vec<f64> {
    let (from, to) = (low.log2().ceil().max(-1000.0) as i32, high.log2().floor().min(1000.0) as i32);
    if to <= from {
        // A short range has fewer than two powers of two, which would not show the scale. Prefers whole numbers.
        let least = if low.ceil() < high.floor() { 1.0 } else { 0.0 };
        return linear(low, high, step_125((high - low) / most.max(1) as f64).max(least), most);
    }
    let skip = ((f64::from(to - from + 1) / most.max(1) as f64).ceil() as usize).max(1);
    (from..=to).step_by(skip).map(|e| 2f64.powi(e)).collect()
}

pub(super) fn nines(high: f64) -> Vec<f64> {
    let mut values = vec![0.0, 0.5];
    values.extend((1..=high.clamp(1.0, 9.0) as i32).map(|n| 1.0 - 10f64.powi(-n)));
    values
}

pub(super) fn nines_label(share: f64) -> String {
    let percent = share * 100.0;
    if percent <= 99.5 { significant(percent) } else { format!("{percent:.7}").trim_end_matches('0').into() }
}
