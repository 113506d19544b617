//! Rates of the measured window, and rates that the user set by hand.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// A rate of an open loop that the user set during the load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RateChange {
    /// Time from which the rate applies, seconds since the load began.
    #[serde(with = "Figure")]
    pub t_s: f64,
    /// New rate, requests per second.
    #[serde(with = "Figure")]
    pub rate: f64,
}

impl RateChange {
    /// Returns the rate that applied `at_s` seconds after the start of the load; 0 before the first change.
    pub fn rate_at(given: &[Self], at_s: f64) -> f64 {
        given.iter().rev().find(|given| given.t_s <= at_s).map_or(0.0, |given| given.rate)
    }
}

/// Rates and mean concurrency of the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Rates {
    /// Planned requests per second (closed loop: requests sent; S-Clients: connection attempts).
    #[serde(with = "Figure")]
    pub offered_rate: f64,
    /// Requests sent per second (S-Clients: connection attempts sent).
    #[serde(with = "Figure")]
    pub sent_rate: f64,
    /// Complete and well-formed responses per second.
    #[serde(with = "Figure")]
    pub completed_rate: f64,
    /// Responses per second that had an expected status and met the limit on the response time, if there is a limit.
    #[serde(with = "Figure")]
    pub goodput: f64,
    /// Mean number of requests in flight.
    #[serde(with = "Figure")]
    pub concurrency: f64,
}
