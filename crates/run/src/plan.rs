//! What to do, complete and checked before any load is sent. Flags and TOML files end in this one type.

use std::collections::BTreeMap;
use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Blocks, ColdPlan, Intensity};

/// Everything that one command will do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Plan {
    /// `find`, `load`, or `lab NAME`.
    pub command: String,
    /// Whom to load.
    pub target: Target,
    /// With how much.
    pub load: LoadPlan,
    /// Connections that are held beside the load and not used.
    pub cold: ColdPlan,
    /// What a good answer is.
    pub objective: Objective,
    /// How long to look, and where to stop.
    pub search: SearchPlan,
    /// What to read while it runs.
    pub observe: ObservePlan,
    /// Parameters of an experiment, each described by the experiment's own page.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub lab: BTreeMap<String, serde_json::Value>,
}

/// The server under test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Target {
    /// As the user wrote it: `http://127.0.0.1:8080/path`, `tcp://…`, `echo://…`; empty for the embedded default.
    pub url: String,
    /// Process that serves, when the user named it; its children belong to it.
    pub server_pid: Option<u32>,
    /// The user says that loading a target outside loopback, private and link-local ranges is allowed.
    pub authorized: bool,
}

/// How requests are made and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LoadPlan {
    /// What is said on a connection.
    pub protocol: Protocol,
    /// When requests are made.
    pub intensity: Intensity,
    /// One connection a request: connect, one exchange, close.
    pub new_connections: bool,
    /// The closed loop in blocks of connections that are made once (source 4).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks: Option<Blocks>,
    /// Generator threads in one agent.
    pub threads: u32,
    /// Which client driver.
    pub io: Io,
    /// Measured seconds.
    pub duration_s: f64,
    /// Longest warm-up in seconds; warm-up ends earlier when the rate is steady.
    pub warmup_s: f64,
    /// How long answers are waited for after the last request, seconds.
    pub drain_s: f64,
    /// A response that takes longer than this counts as a `response_timeout`, seconds.
    pub timeout_s: f64,
    /// A connect that takes longer than this counts as a `connect_timeout`, seconds. S-Clients have their own T.
    pub connect_timeout_s: f64,
    /// Local addresses to spread connections over; empty lets the kernel choose.
    pub sources: Vec<IpAddr>,
    /// S-Clients in two processes as in source 1: one establishes connections, the other handles them.
    pub two_process: bool,
    /// Seed of every random choice, so that a run can be repeated.
    pub seed: u64,
    /// Where in its first gap this process begins (0 to below 1): the processes of one load are offset against each other,
    /// so that their equal gaps together are equal gaps.
    #[serde(skip_serializing_if = "is_zero")]
    pub phase: f64,
    /// Processors the generator may run on; empty for all.
    pub cpus: Vec<u32>,
}

fn is_zero(n: &f64) -> bool {
    *n == 0.0
}

impl Default for LoadPlan {
    fn default() -> Self {
        Self {
            protocol: Protocol::default(),
            intensity: Intensity::default(),
            new_connections: false,
            blocks: None,
            threads: 1,
            io: Io::Auto,
            duration_s: 10.0,
            warmup_s: 2.0,
            drain_s: 2.0,
            timeout_s: 10.0,
            connect_timeout_s: 5.0,
            sources: Vec::new(),
            two_process: false,
            seed: 1,
            phase: 0.0,
            cpus: Vec::new(),
        }
    }
}

/// What is said on a connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Protocol {
    /// HTTP/1.1.
    Http1 {
        /// `GET`, `HEAD`, `POST` or any token.
        method: String,
        /// Path and query.
        path: String,
        /// Value of the Host header.
        host: String,
        /// Further headers, in order.
        #[serde(default)]
        headers: Vec<(String, String)>,
        /// File whose bytes are the body.
        #[serde(default)]
        body_file: Option<String>,
        /// Status that counts as right besides 2xx and 3xx.
        #[serde(default)]
        expect_status: Option<u16>,
    },
    /// Sends a block of bytes and expects the same back.
    Echo {
        /// Bytes a message.
        message_bytes: u64,
    },
    /// Sends a file's bytes and expects a number of bytes back.
    Raw {
        /// File whose bytes are one request; absent for none.
        send_file: Option<String>,
        /// Bytes of one response; absent: everything until the server closes.
        expect_bytes: Option<u64>,
    },
    /// Fixed-size records of a file (source 0 and 3): 60-byte header, reply of 60 bytes and the record.
    Record {
        /// Bytes a record.
        record_bytes: u64,
    },
    /// Sends and expects nothing back.
    Discard {
        /// Bytes a message.
        message_bytes: u64,
    },
    /// Receives what the server sends.
    Source {
        /// Bytes that count as one message.
        message_bytes: u64,
    },
}

impl Default for Protocol {
    fn default() -> Self {
        Self::Http1 {
            method: "GET".into(),
            path: "/".into(),
            host: "localhost".into(),
            headers: Vec::new(),
            body_file: None,
            expect_status: None,
        }
    }
}

impl Protocol {
    /// The name used in tables and flags.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Http1 { .. } => "http1",
            Self::Echo { .. } => "echo",
            Self::Raw { .. } => "raw",
            Self::Record { .. } => "record",
            Self::Discard { .. } => "discard",
            Self::Source { .. } => "source",
        }
    }
}

/// Which client driver moves the bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Io {
    /// io_uring where the kernel allows it, else epoll with a note.
    #[default]
    Auto,
    /// epoll.
    Epoll,
    /// io_uring or an error.
    Uring,
    /// No network: completes at once; measures the generator's own ceiling.
    Null,
    /// No network: a virtual clock and a queueing model; for tests.
    Sim,
}

/// What a good answer is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Objective {
    /// 99th percentile of the response time that must hold, microseconds; absent: 10 times the unloaded one.
    pub p99_us: Option<f64>,
    /// Largest share of requests that may fail (0 to 1).
    pub errors: f64,
}

impl Default for Objective {
    fn default() -> Self {
        Self { p99_us: None, errors: 0.001 }
    }
}

/// How long to look, and where to stop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SearchPlan {
    /// Bound of the whole search in seconds.
    pub budget_s: f64,
    /// Most connections of the closed-loop sweep.
    pub max_connections: u32,
}

impl Default for SearchPlan {
    fn default() -> Self {
        Self { budget_s: 30.0, max_connections: 1024 }
    }
}

/// What to read while it runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ObservePlan {
    /// Seconds between two samples.
    pub interval_s: f64,
    /// Seconds at rest before any load.
    pub at_rest_s: f64,
}

impl Default for ObservePlan {
    fn default() -> Self {
        Self { interval_s: 0.5, at_rest_s: 1.0 }
    }
}
