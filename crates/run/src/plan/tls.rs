//! TLS between client and server: what is offered, whom it trusts, and how often an earlier session is taken up.

use serde::{Deserialize, Serialize};

/// TLS of the client.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct TlsPlan {
    /// The name that the server's certificate must have, sent as SNI; the host of the target.
    pub server_name: String,
    /// File of certificates (PEM) that are trusted; absent: those of the system.
    pub ca_file: Option<String>,
    /// File of the client's certificate chain (PEM).
    pub cert_file: Option<String>,
    /// File of the client's private key (PEM).
    pub key_file: Option<String>,
    /// Takes any certificate.
    pub insecure: bool,
    /// The only version that is offered; absent: 1.3 and 1.2.
    pub version: Option<TlsVersion>,
    /// Share of the connections that take up an earlier session where they can, 0 to 1.
    pub resume: f64,
}

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum TlsVersion {
    /// RFC 5246.
    #[serde(rename = "1.2")]
    V1_2,
    /// RFC 8446.
    #[serde(rename = "1.3")]
    V1_3,
}

impl std::str::FromStr for TlsVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "1.2" => Ok(Self::V1_2),
            "1.3" => Ok(Self::V1_3),
            _ => Err("possible are 1.2 and 1.3".into()),
        }
    }
}
