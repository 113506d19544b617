//! Results of comparing two sets of runs. The crate `judge` computes the values of the types in this file, and the
//! crate `report` prints them.

use serde::{Deserialize, Serialize};

use super::compared_figure::{ComparedFigure, ComparisonResult};
use crate::figure::Figure;

/// Comparison of old runs with new runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Comparison {
    /// Name of the old runs.
    pub old: String,
    /// Name of the new runs.
    pub new: String,
    /// Differences between the old and the new runs besides the server under test, such as different machines, plans or
    /// versions. Readers should know the differences between the runs before they read the figures.
    pub differences: Vec<String>,
    /// CPU cost of TLS per request, if only one of the two sides speaks TLS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsCost>,
    /// Weaknesses of the comparison in sentences, for example measured windows without responses, or a time budget that
    /// was too short.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Order in which two live servers took turns; absent for stored runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<WindowOrder>,
    /// Results of the compared figures, one entry per figure.
    pub comparisons: Vec<ComparedFigure>,
    /// Curves of the two compared servers: responses per second by number of clients, and response time by percentile.
    pub curves: ComparedCurves,
    /// Smallest relative change of a figure that counts as a regression.
    #[serde(with = "Figure")]
    pub threshold: f64,
    /// Length of the longest run among the old and the new runs, seconds; 0 if it is not known.
    #[serde(with = "Figure")]
    pub measured_s: f64,
    /// Smallest relative change of a required figure (`FigureRole::Required`) that this comparison would detect in 19
    /// of 20 cases; `null` in JSON if there is too little data.
    pub smallest_change: Option<f64>,
    /// Name of the figure to which `smallest_change` belongs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smallest_change_of: Option<String>,
    /// Length of a measurement that would detect a change of 1 % in the figure `smallest_change_of`, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_percent_s: Option<f64>,
    /// Number of runs per side that would detect a change of 1 % in the figure `smallest_change_of`, if longer runs
    /// would not detect it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_percent_runs: Option<f64>,
    /// Time after which the measured windows of two live servers decided the result, seconds; `null` in JSON for stored
    /// runs, or if there was no decision.
    pub decided_after_s: Option<f64>,
    /// Conclusion, which decides the exit status.
    pub outcome: ComparisonOutcome,
    /// Servers that died under the load; the old side comes first. If the new server ended under the load, the
    /// comparison counts this as a regression.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deaths: Vec<SideDeath>,
    /// Names of required figures that may have become worse by more than the threshold. Because of the figures in this
    /// list, the comparison is undecided.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<String>,
    /// True if the old and the new runs have no load in common, so that only figures of whole runs can be compared.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_common_load: bool,
    /// Overall result, which combines the results of all figures.
    pub verdict: ComparisonResult,
    /// Name of the figure that decided the result; absent if no single figure decided it.
    pub decided_by: Option<String>,
    /// True if any figure became worse by more than the threshold, or the new server died.
    pub regression: bool,
}

/// Conclusion of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ComparisonOutcome {
    /// No figure became worse by more than the threshold.
    Passed,
    /// A figure became worse by more than the threshold, or the new server died.
    Regressed,
    /// The data shows neither a change nor equality.
    #[default]
    Undecided,
}

/// Death of a server under the load of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SideDeath {
    /// True if the new server died.
    pub new: bool,
    /// Description of the death in words: `the server ended at 0.9 s`.
    pub text: String,
}

/// Order in which the measured windows of two live servers alternated. Each of the two servers has one window in each
/// pair of windows. The field `seed` determines the order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct WindowOrder {
    /// Seed of the random order of the windows. The seed of arrivals and think times in pair N of windows is this seed
    /// plus N.
    pub seed: u64,
    /// One flag per pair: true if the new server's window came first. If both servers ran at the same time, the flag is
    /// true if the new server had the first set of CPUs. Of pairs 1 and 2, exactly one has a true flag; likewise of
    /// pairs 3 and 4, and so on.
    pub new_first: Vec<bool>,
    /// True if both servers ran at the same time, on separate sets of CPUs that they swapped from pair to pair.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub at_once: bool,
}

/// Curves of the two servers that are compared. A curve for which there is no data is empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ComparedCurves {
    /// Good responses per second by number of clients, if several numbers were tried.
    pub rates: Vec<CurvePoint>,
    /// Response time in microseconds by percentile (0 to 1), over all windows of one load.
    pub response_us: Vec<CurvePoint>,
}

/// One position on the horizontal axis, with the value of each curve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CurvePoint {
    /// Horizontal position: the number of clients, or a percentile from 0 to 1.
    #[serde(with = "Figure")]
    pub at: f64,
    /// Value of the old side.
    #[serde(with = "Figure")]
    pub old: f64,
    /// Value of the new side.
    #[serde(with = "Figure")]
    pub new: f64,
}

/// CPU cost of TLS per request on a kept connection, compared with the server without TLS.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TlsCost {
    /// Share of the server CPU time per TLS request that plain requests do not need, 0 to 1. The share is below 0 if
    /// plain requests cost the server more than TLS requests.
    #[serde(with = "Figure")]
    pub share: f64,
    /// Lower end of the 95 % interval of `share`; absent if there are too few windows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of the 95 % interval of `share`; absent if there are too few windows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Additional CPU time per TLS request, microseconds.
    #[serde(with = "Figure")]
    pub us: f64,
    /// The CPU cost of TLS in one sentence.
    pub sentence: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that reads `compare --json` finds the two tested fields in every comparison.
    #[test]
    fn an_undecided_comparison_names_its_missing_figures() {
        let json = serde_json::to_value(Comparison::default()).unwrap();
        for name in ["decided_after_s", "smallest_change"] {
            assert_eq!(json.get(name), Some(&serde_json::Value::Null), "{name}");
        }
        let old: Comparison = serde_json::from_str(r#"{"verdict": "not-enough"}"#).unwrap();
        assert_eq!((old.decided_after_s, old.smallest_change), (None, None));
    }
}
