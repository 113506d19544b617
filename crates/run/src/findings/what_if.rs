//! Predictions for a server with changed resources or users: the question and the answer. The decisive trial of a run
//! is the load that represents the run.

use serde::{Deserialize, Serialize};

use crate::Estimate;
use crate::figure::Figure;

/// Changes whose common effect the user asks about. For a quantity without a value, the prediction uses the quantity's
/// value in the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Change {
    /// Number of CPUs that the server may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_cpus: Option<f64>,
    /// CPU quota of the server's control group, in CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota_cpus: Option<f64>,
    /// Link speed, bytes per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_bytes_per_s: Option<f64>,
    /// Additional round-trip time, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_s: Option<f64>,
    /// Number of requests that the server handles at the same time: its workers, threads or slots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// Number of replicas of the server, as a multiple of the number in the run. All replicas share the CPUs and the
    /// quota of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<f64>,
    /// Number of users, each with at most one request at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<u32>,
    /// Think time between a response and the next request, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think_s: Option<f64>,
    /// Rate of requests that arrive at random times (Poisson) and do not wait for responses, per second. If a rate is
    /// given, requests that arrive at this rate replace the users.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Server CPU time per request after the change, as a multiple of the time in the run: 0.8 is 20 % less.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_cpu: Option<f64>,
}

/// A resource that every request needs, and the rate at which the resource is full.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Resource {
    /// Bottleneck id of this resource, one of `BOTTLENECKS`.
    pub id: String,
    /// Name of the resource in words.
    pub device: String,
    /// Rate at which the resource is full, requests per second.
    #[serde(with = "Figure")]
    pub limit: f64,
    /// Lower end of the 95 % interval of `limit`; `limit` itself if `at_least` is true.
    #[serde(with = "Figure")]
    pub low: f64,
    /// Upper end of the 95 % interval of `limit`; infinite if `at_least` is true.
    #[serde(with = "Figure")]
    pub high: f64,
    /// Utilization with the requested users or arrivals, 0 to 1. If `at_least` is true, the utilization is an upper
    /// bound. The utilization is NaN if loadline does not know how busy the resource is.
    #[serde(with = "Figure")]
    pub utilization: f64,
    /// True if the run used less than half of this resource. If `at_least` is true, `limit` is only a lower bound,
    /// because a request costs more under a light load.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
}

/// Throughput and response time for a number of users or a rate of arrivals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LoadPoint {
    /// Number of users, or of requests in flight if the question is about arrivals.
    pub users: u32,
    /// Arrivals per second, if the question is about arrivals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<f64>,
    /// Throughput at this point of the curve, requests per second.
    #[serde(with = "Figure")]
    pub rate: f64,
    /// Lower end of the 95 % interval of `rate`.
    #[serde(with = "Figure")]
    pub rate_low: f64,
    /// Upper end of the 95 % interval of `rate`.
    #[serde(with = "Figure")]
    pub rate_high: f64,
    /// Mean response time without think time, microseconds.
    #[serde(with = "Figure")]
    pub response_us: f64,
    /// Lower end of the 95 % interval of `response_us`.
    #[serde(with = "Figure")]
    pub response_low_us: f64,
    /// Upper end of the 95 % interval of `response_us`.
    #[serde(with = "Figure")]
    pub response_high_us: f64,
}

/// Predicted effect of a change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct WhatIf {
    /// Change that the user asked about.
    pub change: Change,
    /// Each changed quantity in words, with its value in the run: `8 workers instead of 4`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<String>,
    /// Number of users; by default the number of users in the run's decisive trial. For a question about arrivals, this
    /// field is instead the number of requests in flight.
    pub users: u32,
    /// Rate before the change, requests per second: predicted by the model for the users in `users` or for the
    /// arrivals. If the run used less than half of every resource, this field is the measured rate of the run.
    #[serde(with = "Figure")]
    pub now: f64,
    /// Rate after the change, requests per second.
    pub rate: Estimate,
    /// Mean response time after the change, microseconds. The response time is infinite if more requests arrive than
    /// the server can handle, and NaN if the server's limit is unknown.
    pub response_us: Estimate,
    /// Capacity after the change, requests per second.
    pub capacity: Estimate,
    /// True if the prediction rests on a resource whose limit is only a lower bound. If `at_least` is true, `rate` is a
    /// lower bound (unless it is the requested rate of arrivals), and the response time is an upper bound or NaN. Lower
    /// bounds have no upper end (infinite), and upper bounds no lower end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// Bottleneck after the change; absent if the requested users or arrivals do not saturate any resource, or if
    /// `at_least` is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bottleneck: Option<Resource>,
    /// All resources after the change, in the order in which they become full.
    pub resources: Vec<Resource>,
    /// Throughput and response time by users or by arrivals after the change.
    pub curve: Vec<LoadPoint>,
    /// Assumptions of the prediction, in sentences.
    pub assumptions: Vec<String>,
}

/// A resource that must grow before the server can reach a target rate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ResourceNeed {
    /// Bottleneck id of this resource, one of `BOTTLENECKS`.
    pub id: String,
    /// Name of the resource in words.
    pub device: String,
    /// Required amount of the resource, as a multiple of the amount in the run.
    #[serde(with = "Figure")]
    pub factor: f64,
    /// Rate reached once this resource and all resources before it in [`crate::Findings::what_if`] have grown, requests
    /// per second.
    #[serde(with = "Figure")]
    pub reaches: f64,
}
