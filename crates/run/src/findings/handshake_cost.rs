//! CPU cost of a TLS handshake.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// CPU time per TLS handshake.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HandshakeCost {
    /// CPU time of the server's processes per full handshake. Absent if the CPU time is unknown, or if no handshake was
    /// full. If every window had both full and resumed handshakes, the value is an average over both kinds, weighted by
    /// `resumed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<CpuEstimate>,
    /// CPU time of the generator's processes per full handshake.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<CpuEstimate>,
    /// CPU time of the server's processes per resumed handshake; absent if no session was resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_resumed: Option<CpuEstimate>,
    /// CPU time of the generator's processes per resumed handshake; absent if no session was resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_resumed: Option<CpuEstimate>,
    /// True if the cost includes the one request that follows each handshake. If requests were not measured separately,
    /// the cost of a handshake includes one request and is an upper bound.
    pub with_request: bool,
    /// Share of the handshakes that resumed an earlier session, 0 to 1.
    #[serde(with = "Figure")]
    pub resumed: f64,
    /// Number of handshakes measured.
    pub handshakes: u64,
    /// Method of the measurement, in one sentence.
    pub how: String,
}

/// CPU time estimate, microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CpuEstimate {
    /// Estimated CPU time, microseconds.
    #[serde(with = "Figure")]
    pub us: f64,
    /// Lower end of the 95 % interval; absent with too few windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of the 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}
