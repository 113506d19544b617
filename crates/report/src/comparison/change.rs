//! Words for the change of a figure from one side to the other, with its interval.

use run::ComparedFigure;
use run::number::{number, significant};

/// Smallest ratio that is written as a factor instead of a percentage. A large ratio would be hard to grasp as a
/// percentage, such as "+641,452 %".
pub(super) const TIMES: f64 = 2.0;

/// Largest number of decimals of a percentage.
const MOST_DECIMALS: usize = 6;

fn percent(ratio: f64, decimals: usize) -> String {
    let change = format!("{:+.decimals$}", 100.0 * (ratio - 1.0));
    match ratio >= TIMES {
        true => format!("×{}", number(ratio)),
        false if change.trim_matches(['+', '-', '0', '.']).is_empty() => "0 %".into(),
        false => format!("{change} %"),
    }
}

/// Returns the number of decimals of the percentages of an interval. If the interval excludes "no change", the end that
/// is nearer to it is not rounded to 0 %.
fn decimals(low: f64, high: f64) -> usize {
    let nearest = if low > 1.0 { low } else { high };
    let excluded = low > 1.0 || high < 1.0;
    (1..=MOST_DECIMALS).find(|decimals| !excluded || percent(nearest, *decimals) != "0 %").unwrap_or(1)
}

/// Formats a change with its interval. The value and the interval have the same unit: percent, a factor, or percentage
/// points.
pub(super) fn change(c: &ComparedFigure) -> String {
    if let Some(apart) = c.difference {
        return format!("{} points ({} to {})", points(apart.value), points(apart.low), points(apart.high));
    }
    if !c.ratio.is_finite() {
        return "n/a".into();
    }
    match c.low.zip(c.high) {
        Some((low, high)) if c.ratio.max(high) >= TIMES => {
            format!("×{} (×{} to ×{})", number(c.ratio), number(low), number(high))
        }
        Some((low, high)) => {
            let decimals = decimals(low, high);
            let [low, high] = [low, high].map(|ratio| percent(ratio, decimals).replace(" %", ""));
            format!("{} ({low} to {high})", percent(c.ratio, decimals))
        }
        None => percent(c.ratio, 1),
    }
}

/// Formats a difference between two shares in percentage points. A difference of at least 1 point has one decimal. A
/// difference below 1 point has two significant digits.
fn points(share: f64) -> String {
    let points = 100.0 * share;
    let digits = if points.abs() >= 1.0 || points == 0.0 { 1 } else { 1 - points.abs().log10().floor() as i32 };
    let scale = 10_f64.powi(digits.min(MOST_DECIMALS as i32));
    let rounded = (points.abs() * scale).round() / scale;
    format!("{}{}", if points < 0.0 { "-" } else { "+" }, significant(rounded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_certain_change_is_not_rounded_to_none() {
        let of = |ratio, low, high| {
            change(&ComparedFigure { ratio, low: Some(low), high: Some(high), ..ComparedFigure::default() })
        };
        assert_eq!(of(1.0003, 1.0002, 1.0004), "+0.03 % (+0.02 to +0.04)");
        assert_eq!(of(0.9996, 0.992, 0.9997), "-0.04 % (-0.80 to -0.03)");
        assert_eq!(of(1.0003, 0.9998, 1.0008), "0 % (0 to +0.1)");
        assert_eq!(of(1.02, 1.01, 1.03), "+2.0 % (+1.0 to +3.0)");
    }
}
