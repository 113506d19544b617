//! History of stored runs: figures in order of time, and the changes between them. The crate `judge` computes the
//! values of the types in this file, and the crate `report` prints them.

use serde::Serialize;

use crate::FigureUnit;

/// Stored runs in order of time, with the changes of their figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct History {
    /// Directory that holds the runs.
    pub directory: String,
    /// True if a change decides the exit status, that is, if one of `changes` has `fails` set.
    pub fails: bool,
    /// Number of runs at the end of each series that count as recent. A change is new if the series without its recent
    /// runs does not show the change.
    pub recent: usize,
    /// Smallest relative change that decides the exit status.
    pub threshold: f64,
    /// Changes, ordered by series, then by position in the series.
    pub changes: Vec<HistoryChange>,
    /// Series of runs of one plan on equal machines, the longest first.
    pub series: Vec<HistorySeries>,
    /// Series with too few runs to show a change.
    pub small: Vec<SmallSeries>,
    /// Runs and files that were skipped, with the reasons.
    pub skipped: Vec<SkippedRun>,
    /// Remarks in sentences, such as a new version of loadline.
    pub notes: Vec<String>,
}

/// Change of the mean of one figure over the stored runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HistoryChange {
    /// Name of the figure.
    pub figure: String,
    /// Unit of the figure.
    pub unit: FigureUnit,
    /// Index in [`History::series`] of the series that has the change.
    pub series: usize,
    /// Index of the first run after the change, in the `runs` of the series, from 0.
    pub at: usize,
    /// Label of the first run after the change.
    pub label: String,
    /// Directory of the first run after the change.
    pub run: String,
    /// Start time of the first run after the change.
    pub started: String,
    /// Mean of the runs between the previous change and this change: the arithmetic mean for shares, otherwise the
    /// geometric mean.
    pub before: f64,
    /// Mean of the runs between this change and the next change, computed in the same way as `before`.
    pub after: f64,
    /// Relative change of the mean: 0.1 means that the mean grew by 10 %. For a figure that is itself a share, this
    /// value is the difference between the means before and after the change. If only the test for a step in a series
    /// that drifts shows the change, the means are those of the three runs on each side.
    pub change: f64,
    /// Lower end of the 95 % interval of the change.
    pub low: f64,
    /// Upper end of the 95 % interval of the change.
    pub high: f64,
    /// Two-sided p-value of Student's t test for the change.
    pub p: f64,
    /// True if the figure became worse.
    pub worse: bool,
    /// True if the series without its last `recent` runs does not show the change.
    pub new: bool,
    /// True if later changes brought the figure back to its earlier level.
    pub undone: bool,
    /// True if the change decides the exit status: the change is new, for the worse, not undone, and large enough. A
    /// change of a figure other than a share is large enough if it reaches `threshold`. For a figure that is itself a
    /// share, a change is large enough if it reaches a fixed difference.
    pub fails: bool,
}

/// Runs of one plan on equal machines, in order of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HistorySeries {
    /// Command, target and load of the series, in words.
    pub name: String,
    /// Runs in order of time.
    pub runs: Vec<HistoryRun>,
    /// Figures of the runs in this series.
    pub figures: Vec<HistoryFigure>,
}

/// One stored run of the history.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HistoryRun {
    /// Directory of the run.
    pub run: String,
    /// Label of the run; empty if the run has no label.
    pub label: String,
    /// Start of the run, RFC 3339 in UTC.
    pub started: String,
}

/// One figure of a series.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HistoryFigure {
    /// Name of the figure.
    pub figure: String,
    /// Unit of the figure.
    pub unit: FigureUnit,
    /// True if a higher value is better.
    pub more_is_better: bool,
    /// Value of each run; `None` for a run without the figure.
    pub values: Vec<Option<HistoryValue>>,
}

/// Value of a figure in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct HistoryValue {
    /// Value of the figure.
    pub value: f64,
    /// Lower end of the 95 % interval of `value`, if the run has an interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of the 95 % interval of `value`, if the run has an interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

/// Series that has too few runs to show a change.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SmallSeries {
    /// Command, target and load of the series, in words.
    pub name: String,
    /// Number of runs in the series.
    pub runs: usize,
}

/// Run or file that the history skips.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SkippedRun {
    /// Path of the skipped file.
    pub file: String,
    /// Reason why the run or file was skipped, in one sentence.
    pub reason: String,
}
