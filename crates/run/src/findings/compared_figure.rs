//! Result of comparing one figure of two sets of runs.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::{Estimate, FigureUnit};

/// Role of a figure in a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FigureRole {
    /// The figure takes part in the decision about the result. The comparison stays undecided while this figure may be
    /// worse by more than the threshold.
    Required,
    /// The figure decides the result only if the two sides differ in it.
    Deciding,
    /// The figure is listed, but does not influence the result.
    #[default]
    Listed,
}

/// One figure, compared between the two sides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ComparedFigure {
    /// Name of the figure; for a cost of the server, its ID.
    pub figure: String,
    /// Name of the cost in words; empty if `figure` is already a name in words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Unit of the figure; empty for counts.
    pub unit: FigureUnit,
    /// Role of the figure in the result of the comparison.
    pub role: FigureRole,
    /// True if a higher value is better.
    pub more_is_better: bool,
    /// Value of the old side.
    #[serde(with = "Figure")]
    pub old: f64,
    /// Value of the new side.
    #[serde(with = "Figure")]
    pub new: f64,
    /// New value divided by the old value.
    #[serde(with = "Figure")]
    pub ratio: f64,
    /// Lower end of the interval of the ratio; absent if there are too few windows. An interval that excludes 1 is
    /// corrected for the number of compared figures (Bonferroni). With 95 % certainty, all corrected intervals of the
    /// deciding figures contain the true ratios. The intervals of figures that are only listed are corrected
    /// separately, with the same method (Bonferroni). An interval that includes 1 is not corrected: each of its ends
    /// is, by itself, a correct bound with 95 % certainty.
    pub low: Option<f64>,
    /// Upper end of the interval of the ratio; absent if there are too few windows.
    pub high: Option<f64>,
    /// Probability that two equal servers would show a difference at least this large in any of the figures that are
    /// tested together. The test is Student's test with Bonferroni's correction.
    pub p: Option<f64>,
    /// Result for this figure, derived only from the interval of its ratio.
    pub word: ComparisonResult,
    /// Numbers of windows from which the figure was computed: of the old side, then of the new side.
    pub windows: (usize, usize),
    /// True for a secondary server cost, which is shown only if the two sides differ in it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub beside: bool,
    /// Factor by which the data must grow to decide the figure. The factor is absent if the figure is decided, or if no
    /// known amount of data would decide it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more: Option<f64>,
    /// Kind of the data that must grow by the factor `more`: windows or runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_of: Option<NeededData>,
    /// Smallest relative change that one hour of measurement would detect; absent if an hour would decide the figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution: Option<f64>,
    /// Smallest relative change that this comparison would detect in 19 of 20 cases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smallest_change: Option<f64>,
    /// Factor by which the data must grow to detect a change of 1 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_percent: Option<f64>,
    /// Kind of the data that must grow by the factor `one_percent`: windows or runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_percent_of: Option<NeededData>,
    /// New value minus the old value, with the interval of the difference. The difference is present only for shares
    /// that may be 0, because nothing can be divided by 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<Estimate>,
    /// Numbers of open requests: of the old side, then of the new side. A request is open if it had no response when
    /// the drain phase after its window ended. The failed share does not count open requests, so it is a lower bound.
    #[serde(skip_serializing_if = "is_none_open")]
    pub open: [u64; 2],
    /// Sentence about something that the numbers of this figure do not show; absent if there is nothing to add.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none_open(open: &[u64; 2]) -> bool {
    *open == [0, 0]
}

/// Kind of additional data that would decide a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NeededData {
    /// More measured windows are needed, which a longer run gives.
    Windows,
    /// More runs, or more repeats in a run, are needed. Windows of one run cannot show how much runs differ.
    Runs,
}

/// Result of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ComparisonResult {
    /// The new side is better. The word `faster` is also used for figures that are not times.
    Faster,
    /// The new side is worse. The word `slower` is also used for figures that are not times.
    Slower,
    /// The difference between the two sides is below the threshold.
    Same,
    /// The data shows neither a difference nor equality.
    #[default]
    NotEnough,
}

impl ComparisonResult {
    /// Returns the word for this result in JSON and in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Same => "same",
            Self::NotEnough => "not-enough",
        }
    }
}
