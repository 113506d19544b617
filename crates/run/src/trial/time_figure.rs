//! Figures of response times. If some requests were never answered, a figure may be known only as a lower bound.

use serde::{Deserialize, Serialize};

/// Figures of a summary of response times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SummaryFigure {
    /// Mean of the response times.
    Mean,
    /// Median of the response times.
    P50,
    /// 90th percentile of the response times.
    P90,
    /// 99th percentile of the response times.
    P99,
    /// 99.9th percentile of the response times.
    #[serde(rename = "p99_9")]
    P999,
    /// Longest response time.
    Max,
}

impl SummaryFigure {
    /// All figures that a summary of times contains.
    pub const ALL: [Self; 6] = [Self::Mean, Self::P50, Self::P90, Self::P99, Self::P999, Self::Max];

    /// Returns the name of the figure's field in `run.json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P99 => "p99",
            Self::P999 => "p99_9",
            Self::Max => "max",
        }
    }

    /// Returns the name for people: `p99.9`.
    pub const fn label(self) -> &'static str {
        match self {
            Self::P999 => "p99.9",
            _ => self.name(),
        }
    }

    /// Returns the figure whose name for people is `label`.
    pub fn of_label(label: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|figure| figure.label() == label)
    }

    /// Returns the share of requests whose response time is above this percentile; `None` for the mean.
    pub const fn share_above(self) -> Option<f64> {
        match self {
            Self::Mean => None,
            Self::P50 => Some(0.5),
            Self::P90 => Some(0.1),
            Self::P99 => Some(0.01),
            Self::P999 => Some(0.001),
            Self::Max => Some(0.0),
        }
    }

    /// Returns the share of requests whose response time is at most this percentile; `None` for the mean.
    pub fn share(self) -> Option<f64> {
        self.share_above().map(|above| 1.0 - above)
    }
}

/// Returns the share of requests whose response time is at most the percentile named `label`: 0.95 for `p95`. A summary
/// lacks some percentiles for which users state expectations.
pub fn share_of_percentile(label: &str) -> Option<f64> {
    label.strip_prefix('p')?.parse::<f64>().ok().map(|percent| percent / 100.0)
}

/// Set of figures whose values are only lower bounds. In JSON, the set is a list of names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<SummaryFigure>", into = "Vec<SummaryFigure>")]
pub struct LowerBounds(u8);

impl LowerBounds {
    /// Returns true if no figure is only a lower bound.
    pub fn is_empty(&self) -> bool {
        self.0 == 0
    }

    /// Returns true if the set contains a figure, so its value is only a lower bound.
    pub fn contains(self, figure: SummaryFigure) -> bool {
        self.0 & (1 << figure as u8) != 0
    }

    /// Adds a figure to the set, and returns the new set.
    #[must_use]
    pub(super) fn with(self, figure: SummaryFigure) -> Self {
        Self(self.0 | 1 << figure as u8)
    }

    /// Returns all figures in this set of lower bounds.
    pub fn iter(self) -> impl Iterator<Item = SummaryFigure> {
        SummaryFigure::ALL.into_iter().filter(move |figure| self.contains(*figure))
    }
}

impl FromIterator<SummaryFigure> for LowerBounds {
    fn from_iter<I: IntoIterator<Item = SummaryFigure>>(figures: I) -> Self {
        Self(figures.into_iter().fold(0, |set, figure| set | 1 << figure as u8))
    }
}

impl From<Vec<SummaryFigure>> for LowerBounds {
    fn from(figures: Vec<SummaryFigure>) -> Self {
        figures.into_iter().collect()
    }
}

impl From<LowerBounds> for Vec<SummaryFigure> {
    fn from(bounds: LowerBounds) -> Self {
        bounds.iter().collect()
    }
}

#[cfg(test)]
impl schemars::JsonSchema for LowerBounds {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "LowerBounds".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Vec::<SummaryFigure>::json_schema(generator)
    }
}
