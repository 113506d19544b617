//! Table cells for figures with confidence intervals.

use run::number::{interval, quantity};
use run::{ArenaCapacity, Estimate};

use crate::{Cell, Unit};

/// Returns the cell of a figure. If the interval of the figure has both ends, the cell shows the value with its
/// interval. If only the lower end of the interval is known, the cell shows this end as a lower bound. If the figure
/// has no interval, the cell shows only the value.
pub(crate) fn estimate_cell(figure: Estimate, unit: Unit) -> Cell {
    let Estimate { value, low, high } = figure;
    let value_text = quantity(value, unit);
    let text = match (low.is_finite(), high.is_finite()) {
        (true, true) => format!("{value_text} ({})", interval(low, high, unit)),
        (true, false) => format!("≥ {value_text}"),
        (false, _) => value_text,
    };
    Cell { sort: Some(value), ..Cell::new(text) }
}

/// Returns the cell of a capacity, with its interval or as a lower bound.
pub(crate) fn capacity_cell(capacity: ArenaCapacity, is_lower_bound: bool) -> Cell {
    let ArenaCapacity { rate, low, high } = capacity;
    let (low, high) = if is_lower_bound { (rate, f64::NAN) } else { (low, high) };
    estimate_cell(Estimate { value: rate, low, high }, Unit::PerSecond)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_shown_and_a_missing_end_makes_a_bound() {
        let text = |low, high| estimate_cell(Estimate { value: 2000.0, low, high }, Unit::PerSecond).text;
        assert_eq!(text(1900.0, 2100.0), "2,000/s (1,900/s to 2,100/s)");
        assert_eq!(text(1900.0, f64::NAN), "≥ 2,000/s");
        assert_eq!(text(f64::NAN, f64::NAN), "2,000/s");
    }

    #[test]
    fn a_narrow_interval_has_two_different_ends() {
        let text = |low, high| estimate_cell(Estimate { value: 20.0, low, high }, Unit::Micros).text;
        assert_eq!(text(19.98, 20.02), "20 µs (19.98 µs to 20.02 µs)");
        assert_eq!(text(20.0, 20.0), "20 µs (20 µs to 20 µs)");
    }
}
