//! When requests are made: how many clients, or how many a second, and how they are spread in time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When requests are made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "loop", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Intensity {
    /// Closed loop: a fixed number of clients, each waits for its answer.
    Closed {
        /// Connections in all threads together (with `new_connections`: simple clients).
        connections: u32,
        /// Requests in flight on one connection.
        #[serde(default = "one")]
        pipeline: u32,
        /// Pause between an answer and the next request.
        #[serde(default)]
        think: ThinkTime,
    },
    /// Open loop: requests start when the arrival process says so, whatever the server does.
    Open {
        /// Requests per second over all threads.
        rate: f64,
        /// How the starts are spread.
        #[serde(default)]
        arrival: Arrival,
        /// Most connections the pool may grow to, over all threads.
        #[serde(default = "pool")]
        max_connections: u32,
    },
    /// S-Clients (source 1): D descriptors always connecting, each for at most T.
    SClients {
        /// D, over all threads.
        descriptors: u32,
        /// T in milliseconds; must exceed the longest round trip.
        connect_timeout_ms: f64,
        /// Pause between a descriptor becoming free and its next connect; none offers the most.
        #[serde(default)]
        think: ThinkTime,
        /// Connects start when this says so, each on one of the D descriptors; absent: as soon as a descriptor is free.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pace: Option<Pace>,
    },
}

/// An arrival process that S-Clients follow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pace {
    /// Connects per second over all threads; peaks should stay below D/T, or arrivals wait for a descriptor.
    pub rate: f64,
    /// How they are spread.
    #[serde(default)]
    pub arrival: Arrival,
}

const fn one() -> u32 {
    1
}

const fn pool() -> u32 {
    10_000
}

impl Default for Intensity {
    fn default() -> Self {
        Self::Closed { connections: 1, pipeline: 1, think: ThinkTime::default() }
    }
}

/// How arrivals of an open loop are spread in time. The rows of the `ARRIVALS` table of the load crate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Arrival {
    /// Equal gaps.
    Constant,
    /// Exponential gaps.
    #[default]
    Poisson,
    /// A mean rate with peaks (source 1): `peak` times the mean for a share `share` of each period.
    Bursty {
        /// Peak rate over mean rate, above 1.
        peak: f64,
        /// Share of time at peak (0 to 1); `peak * share` must not exceed 1.
        share: f64,
        /// Length of one period in seconds.
        period_s: f64,
    },
    /// Self-similar: superposed on-off sources with heavy-tailed periods.
    SelfSimilar {
        /// Hurst parameter, above 0.5 and below 1.
        hurst: f64,
    },
}

/// A pause with a mean and a distribution.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ThinkTime {
    /// Mean in milliseconds; 0 is no pause.
    pub mean_ms: f64,
    /// Exponentially distributed instead of constant.
    pub exponential: bool,
}
