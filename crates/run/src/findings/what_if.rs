//! What a server would do with other resources or other users: the question and the answer.

use serde::{Deserialize, Serialize};

use crate::Estimate;
use crate::figure::Figure;

/// What is changed, all of it together. What is absent stays as it was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Change {
    /// CPUs that the server may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_cpus: Option<f64>,
    /// CPU time that the server's control group allows it, CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota_cpus: Option<f64>,
    /// What the link carries, bytes per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_bytes_per_s: Option<f64>,
    /// Round-trip time that is added, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_s: Option<f64>,
    /// Requests that the server works on at a time: its workers, threads or slots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// Users, each with one request at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<u32>,
    /// Time that a user thinks between an answer and the next request, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think_s: Option<f64>,
    /// Requests per second that arrive at random, whatever became of those before them; instead of users.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// The server's CPU time per request over that of today: 0.8 is 20 % less.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_cpu: Option<f64>,
}

/// One thing that a request needs, and the rate at which all of it would be used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Resource {
    /// The bottleneck that it would be, one id of `BOTTLENECKS`.
    pub id: String,
    /// The resource in words.
    pub device: String,
    /// Requests per second at which it is full.
    #[serde(with = "Figure")]
    pub limit: f64,
    /// Lower end of the 95 % interval of that.
    #[serde(with = "Figure")]
    pub low: f64,
    /// Upper end of it.
    #[serde(with = "Figure")]
    pub high: f64,
    /// Share of it in use with the users asked about, 0 to 1.
    #[serde(with = "Figure")]
    pub utilization: f64,
}

/// Throughput and response time with some users, or with some arrivals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct WithUsers {
    /// Users, or requests under way.
    pub users: u32,
    /// Requests per second that arrive, where these are asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<f64>,
    /// Requests per second.
    #[serde(with = "Figure")]
    pub rate: f64,
    /// Lower end of the 95 % interval of that.
    #[serde(with = "Figure")]
    pub rate_low: f64,
    /// Upper end of it.
    #[serde(with = "Figure")]
    pub rate_high: f64,
    /// Mean response time without thinking, microseconds.
    #[serde(with = "Figure")]
    pub response_us: f64,
    /// Lower end of the 95 % interval of that.
    #[serde(with = "Figure")]
    pub response_low_us: f64,
    /// Upper end of it.
    #[serde(with = "Figure")]
    pub response_high_us: f64,
}

/// What would come of a change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct WhatIf {
    /// What is changed.
    pub change: Change,
    /// Users that are asked about: those of the run's decisive trial where none are given; requests under way where a rate
    /// of arrivals is asked about.
    pub users: u32,
    /// Requests per second with these users, or arrivals, as they are now, by the same model.
    #[serde(with = "Figure")]
    pub now: f64,
    /// Requests per second with them after the change.
    pub rate: Estimate,
    /// Their mean response time after it, microseconds; infinite where more arrive than are served.
    pub response_us: Estimate,
    /// The run's capacity after it, requests per second.
    pub capacity: Estimate,
    /// What stops it then; absent where these users leave room everywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bottleneck: Option<Resource>,
    /// All resources after the change, the first to be full first.
    pub resources: Vec<Resource>,
    /// Throughput and response time against users, or against arrivals, after the change.
    pub curve: Vec<WithUsers>,
    /// What is taken for granted, in sentences.
    pub assumptions: Vec<String>,
}

/// One resource of which more is needed to reach a rate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Needed {
    /// The bottleneck that it is, one id of `BOTTLENECKS`.
    pub id: String,
    /// The resource in words.
    pub device: String,
    /// How many times as much of it is needed.
    #[serde(with = "Figure")]
    pub factor: f64,
    /// Requests per second with this and everything before it.
    #[serde(with = "Figure")]
    pub reaches: f64,
}
