//! Cold connections: opened, held and not used, to see what merely having them costs a server (source 2).

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// How many cold connections, and how they come about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ColdPlan {
    /// Connections to hold; 0 for none.
    pub connections: u32,
    /// Connects started a second.
    pub rate: f64,
    /// Every this many milliseconds each connection sends one byte of a request that never ends; 0 keeps it silent.
    pub trickle_ms: f64,
    /// Local addresses to spread connections over; empty lets the kernel choose.
    pub sources: Vec<IpAddr>,
    /// Processors that may be used; empty for all.
    pub cpus: Vec<u32>,
}

impl Default for ColdPlan {
    fn default() -> Self {
        Self { connections: 0, rate: 2000.0, trickle_ms: 0.0, sources: Vec::new(), cpus: Vec::new() }
    }
}

/// What became of cold connections.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ColdPart {
    /// Connections that were asked for.
    pub asked: u64,
    /// Connections that were up at the same time when holding began.
    pub held: u64,
    /// Of those, how many were lost before the end: closed or reset by the server. 0 says that all were held throughout.
    pub lost: u64,
    /// Connects that failed.
    pub failed: u64,
    /// Bytes trickled.
    pub bytes_sent: u64,
}

impl ColdPart {
    /// Adds another agent's part.
    pub fn merge(&mut self, other: &Self) {
        self.asked = self.asked.saturating_add(other.asked);
        self.held = self.held.saturating_add(other.held);
        self.lost = self.lost.saturating_add(other.lost);
        self.failed = self.failed.saturating_add(other.failed);
        self.bytes_sent = self.bytes_sent.saturating_add(other.bytes_sent);
    }
}
