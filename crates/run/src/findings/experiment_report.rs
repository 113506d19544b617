//! Tables and charts of an experiment as data. Each experiment fills its own tables and charts with data, so a report
//! can draw them without special code for the experiment.

use serde::{Deserialize, Serialize};

use crate::FigureUnit;
use crate::figure::Figure;

/// Tables and charts of an experiment. When loadline reads an old run, it makes the tables and charts again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ExperimentReport {
    /// The tables, in reading order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<ResultTable>,
    /// The charts, in reading order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub charts: Vec<Chart>,
    /// Measured times to compare between two runs of this experiment.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub compared: Vec<ComparedTime>,
    /// True if the trials have different servers, each with a verdict in its table row. One verdict for all trials
    /// would mean nothing, because their servers differ.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub judged_by_trial: bool,
}

/// A time measured by a trial without requests, microseconds; less is better.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ComparedTime {
    /// Description of the measured operation.
    pub name: String,
    /// Names under which a trial's results may hold the value. If the results contain several of these names, the first
    /// name in this list is used.
    pub values: Vec<String>,
}

/// Curves over one horizontal axis, with published points for comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Chart {
    /// Content of the chart, in a sentence.
    pub title: String,
    /// Explanation of how the values were measured, and of the source of published points.
    pub caption: String,
    /// The horizontal axis of the chart.
    pub x: ChartAxis,
    /// The vertical axis of the chart.
    pub y: ChartAxis,
    /// Measured curves of the chart.
    pub series: Vec<ChartSeries>,
    /// Points that a publication printed. A series with an empty name belongs to the only measured curve of the chart.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<ChartSeries>,
    /// Levels to mark on the vertical axis, such as a published value without a horizontal position.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<ChartLevel>,
}

/// An axis of a chart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ChartAxis {
    /// Name of the quantity.
    pub label: String,
    /// Unit of the values.
    pub unit: FigureUnit,
    /// True if the scale is logarithmic.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub logarithmic: bool,
}

/// Points of one curve, in order of x. The n-th values of `x` and `y` form the n-th point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ChartSeries {
    /// Name, written at the end of the curve.
    pub name: String,
    /// Positions of the points on the horizontal axis.
    #[serde(with = "Figure")]
    pub x: Vec<f64>,
    /// Positions of the points on the vertical axis.
    #[serde(with = "Figure")]
    pub y: Vec<f64>,
}

impl ChartSeries {
    /// Makes a series from points.
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let (x, y) = points.into_iter().unzip();
        Self { name: name.into(), x, y }
    }

    /// Returns the points as pairs (x, y).
    pub fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        self.x.iter().copied().zip(self.y.iter().copied())
    }
}

/// A level that a chart marks on its vertical axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ChartLevel {
    /// Position of the level on the vertical axis.
    #[serde(with = "Figure")]
    pub y: f64,
    /// Text beside the mark.
    pub label: String,
}

/// Table of results as printed text. The exact values are in `trials` of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ResultTable {
    /// Content of the table, in a sentence.
    pub caption: String,
    /// Column definitions of the table.
    pub columns: Vec<ResultColumn>,
    /// Rows, each with a cell for each column; `null` for an unknown value.
    pub rows: Vec<Vec<Option<String>>>,
    /// Reason why values of the table are unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub absent: String,
    /// True if only full reports show the table.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub full_only: bool,
}

/// A column of a table of results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ResultColumn {
    /// Heading of the column.
    pub name: String,
    /// True if the column holds numbers, aligned to the right.
    pub numeric: bool,
    /// Rank of the column. Narrow output leaves out the columns with the highest ranks first, and never a column with
    /// rank 0.
    pub rank: u8,
}

impl ResultColumn {
    /// Makes a column of text.
    pub fn words(name: &str, rank: u8) -> Self {
        Self { name: name.into(), numeric: false, rank }
    }

    /// Makes a column of numbers.
    pub fn numbers(name: &str, rank: u8) -> Self {
        Self { name: name.into(), numeric: true, rank }
    }
}
