//! Formats times as text, and marks lower bounds.

use run::{Summary, SummaryFigure, TimeFigure};

use crate::{Cell, Unit};
use run::number::quantity;

/// Formats a time for a narrow column: `12.3 ms`, `≥50 ms` for a lower bound, or `n/a`.
pub fn short_time(found: TimeFigure) -> String {
    match found {
        TimeFigure::Exact(us) => quantity(us, Unit::Micros),
        TimeFigure::AtLeast(us) => format!("≥{}", quantity(us, Unit::Micros)),
        TimeFigure::Unknown => "n/a".into(),
    }
}

/// Formats a time for a sentence: `12.3 ms`, `at least 50 ms` for a lower bound, or `unknown`.
pub(super) fn time_in_words(found: TimeFigure) -> String {
    match found {
        TimeFigure::Exact(us) => quantity(us, Unit::Micros),
        TimeFigure::AtLeast(us) => format!("at least {}", quantity(us, Unit::Micros)),
        TimeFigure::Unknown => "unknown".into(),
    }
}

/// Formats figures of a distribution of times with their names, such as `p50 1.2 ms, p99 3.4 ms`. Figures with the same
/// lower bound share one text, such as `p90 to max at least 6.6 s`.
pub(super) fn percentiles(times: &Summary, figures: &[SummaryFigure]) -> String {
    let is_same_bound = |a: &SummaryFigure, b: &SummaryFigure| {
        matches!(times.figure(*a), TimeFigure::AtLeast(_)) && times.figure(*a) == times.figure(*b)
    };
    let group = |group: &[SummaryFigure]| {
        let [first, .., last] = group else {
            return group.first().map(|one| format!("{} {}", one.label(), time_in_words(times.figure(*one))));
        };
        Some(format!("{} to {} {}", first.label(), last.label(), time_in_words(times.figure(*first))))
    };
    figures.chunk_by(is_same_bound).filter_map(group).collect::<Vec<_>>().join(", ")
}

/// Returns the table cell of a figure. The hint of a lower bound says why the exact value is unknown.
pub(super) fn cell(summary: &Summary, figure: SummaryFigure) -> Cell {
    let found = summary.figure(figure);
    let cell = Cell::new(short_time(found));
    let hint = match found {
        TimeFigure::Exact(_) => return cell,
        _ if summary.unanswered > 0 => format!(
            "{} of the requests were never answered, so the value is unknown",
            quantity(summary.unanswered_share(), Unit::Share)
        ),
        TimeFigure::AtLeast(_) => "requests were still without an answer at the end of the window".into(),
        TimeFigure::Unknown => String::new(),
    };
    Cell { hint, ..cell }
}

/// Returns a figure for a chart, microseconds. Returns NaN for a lower bound, which a chart does not show.
pub(super) fn known(summary: &Summary, figure: SummaryFigure) -> f64 {
    summary.figure(figure).exact().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ramp beyond the limit printed "at least 6.63 s" four times in one line.
    #[test]
    fn equal_lower_bounds_are_named_once() {
        use SummaryFigure::{Max, P50, P90, P99};
        let mut summary = Summary { count: 80, p50: 5e3, p90: 5e4, p99: 5e4, max: 5e4, ..Summary::default() };
        let told = |summary: &Summary| percentiles(summary, &[P50, P90, P99, Max]);
        assert_eq!(told(&summary), "p50 5 ms, p90 50 ms, p99 50 ms, max 50 ms");
        summary.at_least = [P90, P99, Max].into_iter().collect();
        assert_eq!(told(&summary), "p50 5 ms, p90 to max at least 50 ms");
        summary.p90 = 4e4;
        assert_eq!(told(&summary), "p50 5 ms, p90 at least 40 ms, p99 to max at least 50 ms");
    }

    #[test]
    fn a_lower_bound_says_so_everywhere() {
        let mut summary = Summary { count: 80, unanswered: 20, p50: 5e3, p99: 5e4, ..Summary::default() };
        summary.at_least = [SummaryFigure::P99].into_iter().collect();
        assert_eq!(short_time(summary.figure(SummaryFigure::P50)), "5 ms");
        assert_eq!(time_in_words(summary.figure(SummaryFigure::P99)), "at least 50 ms");
        let cell = cell(&summary, SummaryFigure::P99);
        assert_eq!(cell.text, "≥50 ms");
        assert_eq!(cell.hint, "20 % of the requests were never answered, so the value is unknown");
        assert!(known(&summary, SummaryFigure::P99).is_nan());
    }
}
