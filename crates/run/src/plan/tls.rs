//! TLS settings of the client: versions, trust, and session resumption.

use serde::{Deserialize, Serialize};

use crate::skip_empty;

/// TLS settings of the client.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct TlsPlan {
    /// Name that the server's certificate must have, sent as SNI. If the name is empty, the certificate must have the
    /// name of the target's host.
    pub server_name: String,
    /// File with trusted certificates (PEM); absent to trust the system's certificates.
    pub ca_file: Option<String>,
    /// File with the client's certificate chain (PEM); absent for no client certificate.
    pub cert_file: Option<String>,
    /// File with the client's private key (PEM); absent for no client certificate.
    pub key_file: Option<String>,
    /// True to accept any certificate.
    pub insecure: bool,
    /// The only TLS version to offer; absent to offer TLS 1.3 and TLS 1.2.
    pub version: Option<TlsVersion>,
    /// Share of connections that resume an earlier session if possible, 0 to 1.
    pub resume: f64,
    /// True to send requests in the first packets of resumed connections, before the handshake is complete (early data,
    /// 0-RTT). Only HTTP/3 has early data, and only for requests with safe methods such as GET.
    #[serde(skip_serializing_if = "skip_empty::is_false")]
    pub early_data: bool,
}

/// Version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum TlsVersion {
    /// TLS 1.2 (RFC 5246).
    #[serde(rename = "1.2")]
    V1_2,
    /// TLS 1.3 (RFC 8446).
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
