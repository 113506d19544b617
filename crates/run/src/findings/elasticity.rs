//! Effect of the speed of a resource on the measured quantity.

use serde::{Deserialize, Serialize};

use crate::CPU_COUNT_LEVER;
use crate::figure::Figure;

/// A value and its 95 % interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Estimate {
    /// Estimated value.
    #[serde(with = "Figure")]
    pub value: f64,
    /// Lower end of the interval.
    #[serde(with = "Figure")]
    pub low: f64,
    /// Upper end of the interval.
    #[serde(with = "Figure")]
    pub high: f64,
}

impl Estimate {
    /// Makes an estimate from a value and the half-width of its interval.
    pub fn around(value: f64, half: f64) -> Self {
        Self { value, low: value - half, high: value + half }
    }

    /// Returns the half-width of the interval.
    pub fn half(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

/// ID of the lever that doubles the load. In contrast to the other levers, the lever `load` changes the load and no
/// resource of a host.
pub const LOAD_LEVER: &str = "load";

/// ID of the lever that sends from more source addresses.
pub const SOURCES_LEVER: &str = "sources";

/// Method by which an elasticity was obtained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ElasticityBasis {
    /// The elasticity was measured: relative change of throughput divided by relative change of speed.
    #[default]
    Measured,
    /// Upper bound: the share of the time in which something used or waited for the resource.
    Wanted,
    /// Upper bound: the sum of the elasticities of this resource and of another resource. If each of two levers slows
    /// both resources, only the sum of the elasticities is known.
    Joint,
    /// The elasticity is unknown, because the lever took away a much smaller share of the resource than requested. The
    /// elasticity may have any value.
    Open,
}

impl ElasticityBasis {
    /// Returns true if the elasticity was measured, and is not a bound or unknown.
    pub fn is_measured(&self) -> bool {
        *self == Self::Measured
    }
}

/// Elasticity, d ln(throughput) / d ln(speed), for the resource that a lever slows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Elasticity {
    /// ID of the lever, a row of `LEVERS`.
    pub lever: String,
    /// Host of the resource that the lever slows.
    pub host: String,
    /// Estimated elasticity: near 1 for the bottleneck, near 0 for other resources.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// Method by which the estimate was obtained; absent if it was measured.
    #[serde(skip_serializing_if = "ElasticityBasis::is_measured")]
    pub basis: ElasticityBasis,
}

impl Elasticity {
    /// Returns true if this elasticity belongs to the elasticities that, together with the unexplained remainder, add
    /// up to 1. Returns false for the elasticities of the number of CPUs and of the load.
    pub fn is_part(&self) -> bool {
        ![CPU_COUNT_LEVER, LOAD_LEVER].contains(&self.lever.as_str())
    }
}
