//! Servers, loads and resources of a comparison, as in the user's TOML file.

use serde::{Deserialize, Serialize};

/// Maximum number of servers in a comparison.
pub const MAX_ARENA_ENTRIES: usize = 64;
/// Maximum number of loads in a comparison.
pub const MAX_ARENA_PROFILES: usize = 16;

/// Servers to compare, and the loads for them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ArenaPlan {
    /// Servers that are compared.
    #[serde(rename = "entry", deserialize_with = "crate::bounded::list::<{ MAX_ARENA_ENTRIES }, _, _>")]
    pub entries: Vec<ArenaEntry>,
    /// Loads. loadline tests each server with each load.
    #[serde(rename = "profile", deserialize_with = "crate::bounded::list::<{ MAX_ARENA_PROFILES }, _, _>")]
    pub profiles: Vec<ArenaProfile>,
    /// Resources that each server gets.
    pub resources: ArenaResources,
}

/// A server, given by a command, by a container image, or by the URL of a server that already runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ArenaEntry {
    /// Name of the server in the results.
    pub name: String,
    /// Shell command that starts the server in the folder of the arena file. If `image` is set, `command` contains the
    /// arguments that follow the image's name instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// TCP port on which the server listens; absent if `url` is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// TCP port for loads with `https`. If `tls_port` is absent, loads with `https` also use `port`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_port: Option<u16>,
    /// Container image that podman or docker starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// URL of a server that already runs, without a path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Shell command that builds the server in the folder of the arena file, before anything is measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
}

impl ArenaEntry {
    /// Returns the URL of a path on the server.
    pub fn target(&self, https: bool, path: &str) -> String {
        match &self.url {
            Some(url) => format!("{}{path}", url.trim_end_matches('/')),
            None => {
                let port = if https { self.tls_port.or(self.port) } else { self.port };
                let scheme = if https { "https" } else { "http" };
                format!("{scheme}://127.0.0.1:{}{path}", port.unwrap_or_default())
            }
        }
    }
}

/// A load with which each server is tested.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ArenaProfile {
    /// Name of the load in the results.
    pub name: String,
    /// Path and query of the request.
    pub path: String,
    /// File with a set of requests, which replaces the one request to `path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<String>,
    /// Maximum number of connections that the capacity search may open.
    pub connections: u32,
    /// True to open a new connection for each request.
    pub new_connections: bool,
    /// Number of requests in flight per connection.
    pub pipeline: u32,
    /// True if the requests use TLS. If loadline starts the server (`command` or `image`), loadline does not verify the
    /// certificate.
    pub https: bool,
    /// True if the requests use HTTP/2.
    pub http2: bool,
    /// Rate at which loadline compares the servers' CPU time, memory and response times, requests per second. If no
    /// rate is given, loadline uses half of the smallest capacity that any server has under this load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Warm-up of each turn (one measurement of one server), seconds. A server with a just-in-time compiler may need
    /// more time than the default of 0.5 s.
    pub warm_up_s: f64,
    /// Parts of each server's answer that must equal the same parts of the first server's answer.
    pub check: AnswerCheck,
    /// Required status; if absent, each server must answer with the status of the first server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect_status: Option<u16>,
    /// Required length of the body in bytes; if absent, each body must be as long as the first server's body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect_bytes: Option<u64>,
    /// Text that must be in the first 200 characters of the body. If `expect_text` is set, the body of an answer need
    /// not equal the first server's body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect_text: Option<String>,
}

impl Default for ArenaProfile {
    fn default() -> Self {
        Self {
            name: String::new(),
            path: "/".into(),
            requests: None,
            connections: 256,
            new_connections: false,
            pipeline: 1,
            https: false,
            http2: false,
            rate: None,
            warm_up_s: 0.5,
            check: AnswerCheck::default(),
            expect_status: None,
            expect_bytes: None,
            expect_text: None,
        }
    }
}

/// Parts of a server's answer that loadline compares with the first server's answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerCheck {
    /// loadline compares only the status.
    Status,
    /// loadline compares the status and the length of the body.
    Length,
    /// loadline compares the status, and the length and the beginning of the body.
    #[default]
    Text,
}

/// Resources, such as CPUs, that each server of a comparison gets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ArenaResources {
    /// Indexes of the CPUs that a server may use; empty for all.
    #[serde(deserialize_with = "crate::bounded::list::<4096, _, _>")]
    pub cpus: Vec<u32>,
    /// Limit on the CPU time of a server, in CPUs (seconds of CPU time per second); absent for no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<f64>,
    /// Limit on the memory of a server, such as `512MiB`; absent for no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
}
