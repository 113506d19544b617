//! Fitted curves, intervals and costs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::{FigureUnit, Reading};

/// A fitted curve.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Fit {
    /// The formula, with the names of the coefficients.
    pub formula: String,
    /// Coefficients by name.
    #[serde(with = "Figure::<BTreeMap<String, f64>>")]
    pub coefficients: BTreeMap<String, f64>,
    /// 95 % intervals of the coefficients.
    pub intervals: BTreeMap<String, Interval>,
    /// Share of the variance that the curve explains (R²), at most 1.
    #[serde(with = "Figure")]
    pub r2: f64,
    /// Number of fitted points.
    pub points: usize,
    /// Sentence about the reliability of the fitted curve.
    pub quality: String,
}

/// Confidence interval of a fitted value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Interval {
    /// Lower end of the interval.
    #[serde(with = "Figure")]
    pub low: f64,
    /// Upper end of the interval.
    #[serde(with = "Figure")]
    pub high: f64,
}

/// Cost of one resource per request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Cost {
    /// Cost of one request.
    pub per_request: Reading,
    /// Unit of the cost.
    pub unit: FigureUnit,
}
