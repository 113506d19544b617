//! Connections of the server's clients, and connections of its processes to other servers.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// Connections of the server's clients. Each mean is over all rounds, and assumes that the numbers change linearly
/// between two readings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ClientConnections {
    /// Number of times that loadline read the states of the connections.
    pub readings: u64,
    /// Mean number of accepted connections.
    #[serde(with = "Figure")]
    pub open: f64,
    /// Mean number of connections whose request the server has read but not answered yet.
    #[serde(with = "Figure")]
    pub in_progress: f64,
    /// Mean number of connections that may or may not have a request in progress. loadline cannot know the state of a
    /// connection if request and response came within one clock tick.
    #[serde(with = "Figure")]
    pub uncertain: f64,
    /// Mean number of connections with data that the server has not read yet.
    #[serde(with = "Figure")]
    pub unread: f64,
    /// Mean number of connections that wait to be accepted.
    #[serde(with = "Figure")]
    pub queued: f64,
    /// Largest number of accepted connections at a reading; 0 in runs of older versions.
    #[serde(with = "Figure", skip_serializing_if = "crate::skip_empty::is_zero")]
    pub max_open: f64,
}

/// Connections to one address, from all processes that have the same name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PeerConnections {
    /// Process, as in `WaitGroup::process`; empty in runs of older versions.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub process: String,
    /// Address of the peer.
    pub address: String,
    /// Mean number of open connections.
    #[serde(with = "Figure")]
    pub open: f64,
    /// Mean number of connections on which the last data was a request; NaN for unix sockets, because their last data
    /// is unknown.
    #[serde(with = "Figure")]
    pub busy: f64,
    /// Largest number of open connections at a reading; 0 in runs of older versions.
    #[serde(with = "Figure", skip_serializing_if = "crate::skip_empty::is_zero")]
    pub max_open: f64,
    /// Mean number of readings, per connection, that found new data from the peer, or found that the connection had
    /// ended; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<f64>,
    /// Process that answers at the address, as in `WaitGroup::process`; empty if unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub to: String,
}
