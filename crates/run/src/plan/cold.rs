//! Cold connections: loadline opens and holds them, but sends no complete request on them. A load that runs while cold
//! connections are open shows what idle connections cost the server.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// Number of cold connections, and the way in which they are opened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ColdPlan {
    /// Number of connections to hold; 0 for none.
    pub connections: u32,
    /// Number of connections that loadline starts to open per second.
    pub rate: f64,
    /// Interval in milliseconds after which each connection sends one more byte of a request that never ends; 0 to send
    /// nothing.
    pub trickle_ms: f64,
    /// Local addresses to use for the connections; empty to let the kernel choose.
    pub sources: Vec<IpAddr>,
    /// CPUs that the processes with cold connections may use; empty for all.
    pub cpus: Vec<u32>,
}

impl Default for ColdPlan {
    fn default() -> Self {
        Self { connections: 0, rate: 2000.0, trickle_ms: 0.0, sources: Vec::new(), cpus: Vec::new() }
    }
}

/// Results of cold connections.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ColdPart {
    /// Number of cold connections that the plan asks for.
    pub asked: u64,
    /// Number of connections that were open when loadline had finished opening connections.
    pub held: u64,
    /// Number of connections among `held` that the server closed or reset before the end.
    pub lost: u64,
    /// Number of connects that failed.
    pub failed: u64,
    /// Number of bytes sent on cold connections.
    pub bytes_sent: u64,
}

impl ColdPart {
    /// Adds the results of another agent's cold connections.
    pub fn merge(&mut self, other: &Self) {
        self.asked = self.asked.saturating_add(other.asked);
        self.held = self.held.saturating_add(other.held);
        self.lost = self.lost.saturating_add(other.lost);
        self.failed = self.failed.saturating_add(other.failed);
        self.bytes_sent = self.bytes_sent.saturating_add(other.bytes_sent);
    }
}
