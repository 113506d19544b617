//! Expectations of the user, such as `p99<20ms` or `capacity>=5000`. A run that does not meet an expectation fails.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// One expectation of the user.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Expectation {
    /// Name of the figure, one of [`EXPECTABLE_FIGURES`].
    pub figure: String,
    /// True if the limit is a minimum, false if it is a maximum.
    pub at_least: bool,
    /// Limit in the unit of the figure: microseconds, requests per second, or a share from 0 to 1.
    #[serde(with = "Figure")]
    pub limit: f64,
    /// The expectation as the user wrote it.
    pub text: String,
}

/// Result of an expectation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ExpectationResult {
    /// The expectation as the user wrote it.
    pub text: String,
    /// Measured value in the unit of the expectation; absent if not measured.
    pub value: Option<f64>,
    /// Lower end of the value's 95 % interval.
    pub low: Option<f64>,
    /// Upper end of the value's 95 % interval.
    pub high: Option<f64>,
    /// True if the expectation was met. Also false if the expected figure was not measured.
    pub met: bool,
    /// True if the measurement does not show whether the expectation is met, because the figure is only a lower bound,
    /// or because its interval contains the limit. `met` then tells whether the value itself meets the expectation.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub undecided: bool,
    /// Measured value with its interval, in words.
    pub found: String,
}

/// Unit of a figure for which the user can state an expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedUnit {
    /// The limit is a time, in microseconds.
    Time,
    /// The limit is a rate, in requests per second.
    Rate,
    /// The limit is a share, from 0 to 1.
    Share,
}

/// Figures for which the user can state an expectation, each with its unit.
pub const EXPECTABLE_FIGURES: &[(&str, ExpectedUnit)] = &[
    ("p50", ExpectedUnit::Time),
    ("p90", ExpectedUnit::Time),
    ("p95", ExpectedUnit::Time),
    ("p99", ExpectedUnit::Time),
    ("p99.9", ExpectedUnit::Time),
    ("mean", ExpectedUnit::Time),
    ("first-byte-p50", ExpectedUnit::Time),
    ("first-byte-p90", ExpectedUnit::Time),
    ("first-byte-p95", ExpectedUnit::Time),
    ("first-byte-p99", ExpectedUnit::Time),
    ("first-byte-p99.9", ExpectedUnit::Time),
    ("first-byte-mean", ExpectedUnit::Time),
    ("first-event-p50", ExpectedUnit::Time),
    ("first-event-p90", ExpectedUnit::Time),
    ("first-event-p95", ExpectedUnit::Time),
    ("first-event-p99", ExpectedUnit::Time),
    ("first-event-p99.9", ExpectedUnit::Time),
    ("first-event-mean", ExpectedUnit::Time),
    ("gap-p50", ExpectedUnit::Time),
    ("gap-p90", ExpectedUnit::Time),
    ("gap-p95", ExpectedUnit::Time),
    ("gap-p99", ExpectedUnit::Time),
    ("gap-p99.9", ExpectedUnit::Time),
    ("gap-mean", ExpectedUnit::Time),
    ("rate", ExpectedUnit::Rate),
    ("capacity", ExpectedUnit::Rate),
    ("errors", ExpectedUnit::Share),
];

impl Expectation {
    /// Reads `FIGURE<LIMIT` (also `<=`, `>`, `>=`); the function `limit` reads the limit in the figure's unit.
    pub fn parse(text: &str, limit: impl Fn(ExpectedUnit, &str) -> Result<f64, String>) -> Result<Self, String> {
        let known = || EXPECTABLE_FIGURES.iter().map(|e| e.0).collect::<Vec<_>>().join(", ");
        let at = text
            .find(['<', '>'])
            .ok_or_else(|| format!("write it as 'p99<20ms' or 'capacity>=5000' (of {})", known()))?;
        let (name, rest) = text.split_at(at);
        let row = EXPECTABLE_FIGURES.iter().find(|e| e.0 == name.trim());
        let (figure, unit) =
            row.ok_or_else(|| format!("{:?} is not a figure to expect; take one of {}", name.trim(), known()))?;
        let at_least = rest.starts_with('>');
        let value = rest[1..].trim_start_matches('=').trim();
        let limit = limit(*unit, value)?;
        if rest.starts_with('<') && !rest.starts_with("<=") && limit <= 0.0 {
            return Err(format!("nothing is below {value}; write '{}<={value}'", name.trim()));
        }
        Ok(Self { figure: (*figure).into(), at_least, limit, text: text.trim().into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figure_relation_and_limit_are_read_and_rubbish_is_named() {
        let parse = |text| Expectation::parse(text, |_, v| v.parse().map_err(|_| format!("{v} is no number")));
        let one = parse("p99.9 <= 20").unwrap();
        assert_eq!((one.figure.as_str(), one.at_least, one.limit), ("p99.9", false, 20.0));
        assert!(parse("capacity>=5000").unwrap().at_least);
        for (wrong, words) in [
            ("errors<0", "write 'errors<=0'"),
            ("p99", "write it as"),
            ("p98<3", "not a figure"),
            ("p99<x", "no number"),
        ] {
            assert!(parse(wrong).unwrap_err().contains(words), "{wrong}");
        }
    }
}
