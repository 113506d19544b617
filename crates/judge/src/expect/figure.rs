//! A measured figure with its interval, and its text for the user.

use run::ClosedLoopSource;

use crate::number::{duration, percent, rate};

/// A figure, with its interval if known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Figure {
    pub(super) value: Option<f64>,
    pub(super) low: Option<f64>,
    /// Upper end of the interval. If only `low` is known, the interval has no upper end.
    pub(super) high: Option<f64>,
    /// Share of the requests that were never answered. Set only if unanswered requests make the value a lower bound.
    pub(super) lost: Option<f64>,
    /// True if `lost` is a share of answers without events.
    pub(super) lacks_events: bool,
    /// True if the search ended too early, so the capacity is only a lower bound.
    pub(super) none_failed: bool,
    /// Rate of answers that refused the request, per second. The rate of good answers does not include refusals.
    pub(super) refused: f64,
    /// Source of the capacity, if only closed-loop clients reached it.
    pub(super) closed_loop: Option<ClosedLoopSource>,
}

impl Figure {
    pub(super) fn around(value: Option<f64>, interval: Option<(f64, f64)>) -> Self {
        Self { value, low: interval.map(|i| i.0), high: interval.map(|i| i.1), ..Self::default() }
    }

    /// Returns true if the figure has an interval, and `limit` is inside it. Always false for a lower bound.
    pub(super) fn may_be(&self, limit: f64) -> bool {
        let is_bound = self.lost.is_some() || self.none_failed;
        !is_bound && self.low.is_some_and(|low| low < limit) && self.high.is_none_or(|high| limit < high)
    }
}

/// Describes a figure and its interval in words.
pub(super) fn words(figure: &str, value: f64, found: &Figure) -> String {
    let one = |v: f64| match figure {
        "capacity" | "rate" => rate(v),
        "errors" => percent(v),
        _ => duration(v),
    };
    let between = match (found.low, found.high) {
        // If both ends of the interval look equal after rounding, the interval is not shown.
        (Some(low), Some(high)) if one(low) == one(high) => String::new(),
        (Some(low), Some(high)) => format!(" (95 % interval {} to {})", one(low), one(high)),
        (Some(low), None) if found.lost.is_none() => {
            format!(" (95 % interval from {}, without an upper end)", one(low))
        }
        _ => String::new(),
    };
    let source = found.closed_loop.map_or(String::new(), |source| format!(" ({})", source.words()));
    match found.lost {
        _ if found.none_failed && value <= 0.0 => {
            "it is not known: too few answers came (give a longer --budget)".into()
        }
        _ if found.none_failed => {
            format!("it is at least {}: the search ended too early to find more (give a longer --budget)", one(value))
        }
        None if found.refused > 0.0 => {
            format!("it was {} of good answers{between}; {} of refusals came as well", one(value), one(found.refused))
        }
        None => format!("it was {}{between}{source}", one(value)),
        Some(lost) if lost > 0.0 && found.lacks_events => {
            format!("it was at least {}: {} of the answers had no event", one(value), percent(lost))
        }
        Some(lost) if lost > 0.0 => {
            format!("it was at least {}: {} of the requests were never answered", one(value), percent(lost))
        }
        Some(_) => format!("it was at least {}: requests were still without an answer at the end", one(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lower_bound_of_zero_is_not_known() {
        let bound = |value| {
            let found = Figure { none_failed: true, ..Figure::around(Some(value), None) };
            words("capacity", value, &found)
        };
        assert!(bound(0.0).starts_with("it is not known"), "{}", bound(0.0));
        assert!(bound(2.0).starts_with("it is at least 2/s"), "{}", bound(2.0));
    }

    #[test]
    fn answers_without_events_are_not_called_unanswered() {
        let said = |lacks_events| {
            let found = Figure { lost: Some(0.1), lacks_events, ..Figure::default() };
            words("first-event-p99", 2000.0, &found)
        };
        assert_eq!(said(true), "it was at least 2 ms: 10 % of the answers had no event");
        assert_eq!(said(false), "it was at least 2 ms: 10 % of the requests were never answered");
    }

    #[test]
    fn an_interval_is_shown_if_its_ends_differ() {
        let of = |low, high| words("p99", 871_000.0, &Figure::around(Some(871_000.0), Some((low, high))));
        assert_eq!(of(800_000.0, 900_000.0), "it was 871 ms (95 % interval 800 ms to 900 ms)");
        assert_eq!(of(870_900.0, 871_100.0), "it was 871 ms");
    }
}
