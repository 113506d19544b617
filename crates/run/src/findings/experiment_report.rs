//! The tables and charts of an experiment, as data: the experiment fills them from its trials, and a report draws them
//! without knowing the experiment.

use serde::{Deserialize, Serialize};

use crate::FigureUnit;
use crate::figure::Figure;

/// Tables and charts of an experiment. The experiment makes them again when an old run is read.
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
    /// Times that two runs are compared by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub compared: Vec<ComparedTime>,
    /// The trials are of several servers, each with its own verdict in its row of a table: a verdict on all of them
    /// together says nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub judged_by_trial: bool,
}

/// A time that a trial without requests measured, microseconds; less is better.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ComparedTime {
    /// What took this time, in words.
    pub name: String,
    /// Names of the value in the results of a trial; the first that a trial has counts.
    pub values: Vec<String>,
}

/// Curves over one horizontal axis, with published points beside them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Chart {
    /// What the chart shows, in a sentence.
    pub title: String,
    /// How the values were measured, and where published points come from.
    pub caption: String,
    /// Horizontal axis.
    pub x: ChartAxis,
    /// Vertical axis.
    pub y: ChartAxis,
    /// Measured curves.
    pub series: Vec<ChartSeries>,
    /// Points that a publication printed. A series with an empty name belongs to the only measured curve.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<ChartSeries>,
    /// Heights to mark, such as a published value without a place on the horizontal axis.
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
    /// Equal ratios are equally far apart.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub logarithmic: bool,
}

/// Points that belong together, in order of x. The n-th values of `x` and `y` are the n-th point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ChartSeries {
    /// Name, written at the end of the curve.
    pub name: String,
    /// Places on the horizontal axis.
    #[serde(with = "Figure")]
    pub x: Vec<f64>,
    /// Heights.
    #[serde(with = "Figure")]
    pub y: Vec<f64>,
}

impl ChartSeries {
    /// A series of these points.
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let (x, y) = points.into_iter().unzip();
        Self { name: name.into(), x, y }
    }

    /// The points.
    pub fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        self.x.iter().copied().zip(self.y.iter().copied())
    }
}

/// A height to mark.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ChartLevel {
    /// The height.
    #[serde(with = "Figure")]
    pub y: f64,
    /// Text beside the mark.
    pub label: String,
}

/// A table of results in words and numbers as they are printed; `trials` of the run has the values themselves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ResultTable {
    /// What the table shows, in a sentence.
    pub caption: String,
    /// The columns.
    pub columns: Vec<ResultColumn>,
    /// The rows, each with a cell for each column; `null` is a value that is not known.
    pub rows: Vec<Vec<Option<String>>>,
    /// Why a value is not known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub absent: String,
    /// The table is for full reports, not for a terminal.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub full_only: bool,
}

/// A column of a table of results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ResultColumn {
    /// Heading.
    pub name: String,
    /// Numbers stand to the right.
    pub numeric: bool,
    /// Where room is short, columns with the highest rank go first; 0 always stays.
    pub rank: u8,
}

impl ResultColumn {
    /// A column of words.
    pub fn words(name: &str, rank: u8) -> Self {
        Self { name: name.into(), numeric: false, rank }
    }

    /// A column of numbers.
    pub fn numbers(name: &str, rank: u8) -> Self {
        Self { name: name.into(), numeric: true, rank }
    }
}
