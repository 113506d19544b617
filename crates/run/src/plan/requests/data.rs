//! Data tables, whose values replace the placeholders in requests.

use serde::{Deserialize, Serialize};

/// Table of values for the placeholders in requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct DataTable {
    /// Names of the data columns.
    pub columns: Vec<String>,
    /// Values of the columns, one list per row. The values of the data table may be secrets, so only generators receive
    /// them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<Vec<String>>,
    /// Order in which the data rows are used.
    pub order: DataOrder,
    /// Index of the first data row that this process uses. The fields `first` and `step` divide the data rows among
    /// processes without overlap.
    pub first: u64,
    /// Number of rows from one row of this process to the next row of this process; 0 means 1.
    pub step: u64,
}

/// Order of the data rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DataOrder {
    /// The data rows are used in order. After the last data row, the first data row follows again.
    #[default]
    Cycle,
    /// Each data row is used at most once.
    Unique,
    /// The data rows are used in random order.
    Random,
}
