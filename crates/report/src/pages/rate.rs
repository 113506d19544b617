//! Capacity as text, with as many digits as its interval justifies.

use run::number::number;
use run::{Capacity, Run};

/// If the 95 % interval of a rate is wider than this share of the rate, the report shows the rate with only two digits.
/// The third digit (at most 1 % of the rate) would be noise.
const MAX_WIDTH_OF_THREE_DIGITS: f64 = 0.1;

/// Returns the unit of rates in a run, such as `requests/s`.
pub(super) fn unit(run: &Run) -> String {
    format!("{}/s", run.plan.load.protocol.requests_word())
}

/// Returns the capacity and its interval as text. If only a bound of the capacity is known, returns this bound. If no
/// rate is known, returns "unknown".
pub(super) fn capacity(c: &Capacity, unit: &str) -> String {
    let rate = format!("{} {unit}", rate(c));
    match (c.held, c.at_least) {
        (false, _) if c.rate <= 0.0 => "unknown".into(),
        (false, _) => format!("below {rate}"),
        (true, true) if c.rate <= 0.0 => "not known (too few answers came)".into(),
        (true, true) => format!("at least {rate}"),
        (true, false) => format!("{rate}{}", interval(c)),
    }
}

/// Describes the closed loop from which the capacity comes. Returns `None` if the capacity comes from an open loop, or
/// if no load met the objective.
pub(super) fn source(c: &Capacity) -> Option<String> {
    c.closed_loop.filter(|_| c.held).map(|source| source.words())
}

/// Describes the closed loop, the long load, or the windows of a lower bound from which the capacity comes. Returns `None`
/// for the usual source, an estimate from the windows of an open loop.
pub(super) fn unusual_source(c: &Capacity) -> Option<String> {
    let bound = c.bound_windows.filter(|_| c.held && c.at_least).map(run::BoundWindows::words);
    source(c).or_else(|| c.long_run.filter(|_| c.held).map(|long| long.words())).or(bound)
}

/// Returns the rate of the capacity as text, without a unit.
pub(super) fn rate(c: &Capacity) -> String {
    rounded(c, c.rate)
}

/// Returns the 95 % interval in brackets; empty if the capacity has none.
fn interval(c: &Capacity) -> String {
    let ends = c.low.zip(c.high);
    ends.map_or(String::new(), |(low, high)| format!(" ({} to {})", rounded(c, low), rounded(c, high)))
}

fn rounded(c: &Capacity, value: f64) -> String {
    let wide = c.precision().is_some_and(|half| 2.0 * half > MAX_WIDTH_OF_THREE_DIGITS);
    number(if wide { two_digits(value) } else { value })
}

fn two_digits(value: f64) -> f64 {
    format!("{value:.1e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A lower bound of 0 says nothing. An earlier version of loadline printed "at least 0 requests/s".
    #[test]
    fn a_lower_bound_of_zero_is_not_known() {
        let of = |rate| capacity(&Capacity { rate, held: true, at_least: true, ..Capacity::default() }, "requests/s");
        assert_eq!((of(0.0).as_str(), of(2.0).as_str()), ("not known (too few answers came)", "at least 2 requests/s"));
    }

    fn told(rate: f64, low: f64, high: f64) -> String {
        let c = Capacity { rate, low: Some(low), high: Some(high), held: true, ..Capacity::default() };
        capacity(&c, &unit(&Run::default()))
    }

    #[test]
    fn a_wide_interval_leaves_two_digits() {
        assert_eq!(told(3288.0, 2590.0, 4260.0), "3,300 requests/s (2,600 to 4,300)");
        assert_eq!(told(83_612.0, 83_000.0, 84_100.0), "83,600 requests/s (83,000 to 84,100)");
        assert_eq!(told(0.0, f64::NAN, f64::INFINITY), "0 requests/s (n/a to ∞)");
    }

    #[test]
    fn bounds_are_named() {
        let c = Capacity { rate: 120.0, held: true, at_least: true, ..Capacity::default() };
        assert_eq!(capacity(&c, "requests/s"), "at least 120 requests/s");
        assert_eq!(capacity(&Capacity { held: false, ..c.clone() }, "requests/s"), "below 120 requests/s");
        assert_eq!(capacity(&Capacity { held: false, rate: 0.0, ..c }, "requests/s"), "unknown");
    }
}
