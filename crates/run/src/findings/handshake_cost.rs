//! What a TLS handshake costs, where it can be told.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// CPU time of a handshake.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HandshakeCost {
    /// Of a full handshake, of the server's processes; absent where they cannot be read, or none was full. Of both kinds,
    /// as often as `resumed` says, where no window had one kind alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<CpuTold>,
    /// The same of the generator's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<CpuTold>,
    /// Of a handshake that takes up an earlier session, of the server's processes; absent where none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_resumed: Option<CpuTold>,
    /// The same of the generator's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_resumed: Option<CpuTold>,
    /// The connection's one request is in it, since nothing was measured that could be taken off: an upper bound.
    pub with_request: bool,
    /// Share of the handshakes it rests on that took up an earlier session, 0 to 1.
    #[serde(with = "Figure")]
    pub resumed: f64,
    /// Handshakes that it rests on.
    pub handshakes: u64,
    /// How it was told, in a sentence.
    pub how: String,
}

/// CPU time, microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CpuTold {
    /// The estimate.
    #[serde(with = "Figure")]
    pub us: f64,
    /// Lower end of its 95 % interval; absent where the windows are too few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}
