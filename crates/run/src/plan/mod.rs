//! The plan of a run, complete and checked before any load is sent. Flags and TOML files both become this type.

pub(crate) mod address;
pub(crate) mod check;
pub(crate) mod cold;
pub(crate) mod error;
pub(crate) mod expectation;
pub(crate) mod hosts;
pub(crate) mod intensity;
pub(crate) mod protocol;
pub(crate) mod redact;
pub(crate) mod requests;
pub(crate) mod secrets;
pub(crate) mod share;
pub(crate) mod tls;
pub(crate) mod url_parts;

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::{
    ArrivalTimes, Blocks, ColdPlan, Expectation, HostPlan, Intensity, Protocol, RecordedTimes, RequestSet, Secrets,
    SlotPlan, Stage, TlsPlan, UrlParts, skip_empty,
};

/// Everything that one command will do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Plan {
    /// `find`, `load`, or `lab NAME`.
    pub command: String,
    /// Server to load.
    pub target: Target,
    /// Load to make.
    pub load: LoadPlan,
    /// Connections that stay idle during the load.
    pub cold: ColdPlan,
    /// Limits that define a good response.
    pub objective: Objective,
    /// ExpectationResult results; a run that does not meet them fails.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<Expectation>,
    /// Length and end of the search.
    pub search: SearchPlan,
    /// Number of repeats; 0 and 1 both mean one run.
    #[serde(skip_serializing_if = "is_once")]
    pub repeats: u32,
    /// Counters to read during the run.
    pub observe: ObservePlan,
    /// Other hosts that take part; empty if everything runs on this host.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostPlan>,
    /// Parameters of an experiment, described on its page.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub lab: BTreeMap<String, serde_json::Value>,
}

/// A run does not store the number of repeats if there is only one.
fn is_once(repeats: &u32) -> bool {
    *repeats <= 1
}

impl Plan {
    /// Returns the number of repeats, at least one.
    pub fn repeat_count(&self) -> u32 {
        self.repeats.max(1)
    }

    /// Returns every key that is set and its value. A key joins its parts with dots, as in TOML; a list is one value.
    pub fn keys(&self) -> Vec<(String, serde_json::Value)> {
        let mut keys = Vec::new();
        if let Ok(plan) = serde_json::to_value(self) {
            flatten("", plan, &mut keys);
        }
        keys
    }

    /// Returns the name of the experiment, if the command is `loadline lab NAME`.
    pub fn experiment(&self) -> Option<&str> {
        self.command.strip_prefix("lab ").map(str::trim)
    }
}

fn flatten(path: &str, value: serde_json::Value, keys: &mut Vec<(String, serde_json::Value)>) {
    match value {
        serde_json::Value::Object(fields) => {
            for (name, inner) in fields {
                let path = if path.is_empty() { name } else { format!("{path}.{name}") };
                flatten(&path, inner, keys);
            }
        }
        serde_json::Value::Null => {}
        other => keys.push((path.into(), other)),
    }
}

/// The server under test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Target {
    /// URL as the user wrote it: `http://127.0.0.1:8080/path`, `tcp://…`, `echo://…`; empty for the embedded server.
    pub url: String,
    /// Server process named by the user. Its children belong to the server, too.
    pub server_pid: Option<u32>,
    /// Whether the user allows a target outside loopback, private and link-local ranges.
    pub authorized: bool,
    /// CPU time that the embedded server spends on each request, microseconds; 0 for none. The extra work makes the
    /// server clearly more expensive than the generator, so the server is the bottleneck.
    pub embedded_work_us: f64,
}

impl Default for Target {
    fn default() -> Self {
        Self { url: String::new(), server_pid: None, authorized: false, embedded_work_us: 50.0 }
    }
}

impl Target {
    /// Returns whether only its own host reaches the target (127.0.0.0/8, ::1, localhost), without any lookup. `None`
    /// if the target has no address.
    pub fn loopback(&self) -> Option<bool> {
        let written = UrlParts::parse(&self.url);
        let authority = match written.transport() {
            (_, true) => return Some(true),
            _ if written.authority.is_empty() => return None,
            _ => written.authority,
        };
        if let Ok(addr) = authority.parse::<std::net::SocketAddr>() {
            return Some(addr.ip().is_loopback());
        }
        let host = authority.trim_start_matches('[').trim_end_matches(']');
        let ip = host.parse::<IpAddr>().ok();
        let name = host.split(':').next().unwrap_or_default();
        Some(ip.map_or(name == "localhost", |ip| ip.is_loopback()))
    }
}

/// Requests to make, and their timing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct LoadPlan {
    /// Protocol and its settings.
    pub protocol: Protocol,
    /// Requests that replace the one in the protocol's settings. The headers of the settings are added to each of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestSet>,
    /// Times at which requests are due, read from a file. The rate of the intensity is then their mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<ArrivalTimes>,
    /// TLS settings; absent for plain connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsPlan>,
    /// Load intensity.
    pub intensity: Intensity,
    /// Rate changes of an open loop from the start of the load. The last rate stays. The rate of the intensity is the
    /// mean of the stages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<Stage>,
    /// Whether each request has its own connection: connect, one exchange, close.
    pub new_connections: bool,
    /// Connects per second of a closed loop. No connection sends before the last one is open or the window begins. 0
    /// connects all clients at once, or spread over the first think time.
    #[serde(skip_serializing_if = "skip_empty::is_zero")]
    pub connect_rate: f64,
    /// Closed loop with blocks of connections that are opened once (source 4).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks: Option<Blocks>,
    /// Generator threads per agent.
    pub threads: u32,
    /// Client driver.
    pub io: Io,
    /// Length of the measured window, seconds.
    pub duration_s: f64,
    /// Maximum warm-up in seconds. Warm-up ends earlier once the rate is steady.
    pub warmup_s: f64,
    /// Minimum warm-up in seconds.
    pub least_warmup_s: f64,
    /// Maximum wait for responses after the last request, seconds.
    pub drain_s: f64,
    /// Response timeout, seconds. A slower response counts as a `response_timeout`.
    pub timeout_s: f64,
    /// Connect timeout, seconds. A slower connect counts as a `connect_timeout`. S-Clients have a timeout T of their
    /// own.
    pub connect_timeout_s: f64,
    /// Local addresses to spread connections over; empty lets the kernel choose.
    pub sources: Vec<IpAddr>,
    /// Whether S-Clients use two processes as in source 1: one opens connections, the other handles them.
    pub two_process: bool,
    /// Seed of all random choices, which makes a run repeatable.
    pub seed: u64,
    /// Start of this process within its first gap, 0 to below 1. Processes of one load have different phases, so
    /// together they also send at equal gaps.
    #[serde(skip_serializing_if = "skip_empty::is_zero")]
    pub phase: f64,
    /// Slots in which an experiment needs the completed rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slots: Option<SlotPlan>,
    /// Response time limits, microseconds. Requests beyond each limit are counted per tenth of a second. At most 4
    /// limits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub late_us: Vec<f64>,
    /// CPUs that the generator may use; empty for all.
    pub cpus: Vec<u32>,
    /// Whether the generator acknowledges at once (TCP_QUICKACK after each request; epoll only). For an experiment on
    /// delayed acknowledgements.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub quick_ack: bool,
    /// Receive buffer of the generator (SO_RCVBUF; epoll only), bytes. For an experiment on TCP windows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_buffer: Option<u32>,
    /// Values of the placeholders in the protocol; never stored.
    #[serde(skip)]
    pub secrets: Secrets,
}

impl LoadPlan {
    /// Returns the plan with its secrets filled in. Only for making requests, never for storing or printing.
    pub fn revealed(&self) -> Self {
        let mut plan = self.clone();
        self.secrets.reveal_protocol(&mut plan.protocol);
        plan.requests.iter_mut().for_each(|set| self.secrets.reveal_requests(set));
        plan
    }
}

impl LoadPlan {
    /// Whether measuring waits until all connections of the closed loop are open.
    pub fn waits_for_all(&self) -> bool {
        self.blocks.is_some() || self.connect_rate > 0.0
    }

    /// Returns the recorded times of the requests, from a file of times or an access log.
    pub fn recorded(&self) -> Option<&RecordedTimes> {
        let times = self.arrivals.as_ref().and_then(|arrivals| arrivals.times.as_ref());
        times.or_else(|| self.requests.as_ref().and_then(|set| set.recorded.as_ref()))
    }
}

impl Default for LoadPlan {
    fn default() -> Self {
        Self {
            protocol: Protocol::default(),
            requests: None,
            arrivals: None,
            tls: None,
            intensity: Intensity::default(),
            stages: Vec::new(),
            new_connections: false,
            connect_rate: 0.0,
            blocks: None,
            threads: 1,
            io: Io::Auto,
            duration_s: 10.0,
            warmup_s: 2.0,
            least_warmup_s: 0.6,
            drain_s: 2.0,
            timeout_s: 10.0,
            connect_timeout_s: 5.0,
            sources: Vec::new(),
            two_process: false,
            seed: 1,
            phase: 0.0,
            slots: None,
            late_us: Vec::new(),
            cpus: Vec::new(),
            quick_ack: false,
            receive_buffer: None,
            secrets: Secrets::default(),
        }
    }
}

/// Client driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Io {
    /// io_uring if the kernel allows it, otherwise epoll with a note.
    #[default]
    Auto,
    /// epoll.
    Epoll,
    /// io_uring, or an error.
    Uring,
    /// No network: each request completes at once. Measures the generator's own maximum rate.
    Null,
    /// No network: a virtual clock and a queueing model, for tests.
    Sim,
}

/// Limits that define a good response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Objective {
    /// Maximum median response time, microseconds. Without any limit on response times, loadline derives one from the
    /// unloaded median.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_us: Option<f64>,
    /// Maximum 99th percentile, microseconds.
    pub p99_us: Option<f64>,
    /// Maximum 99.9th percentile, microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_9_us: Option<f64>,
    /// Maximum mean, microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_us: Option<f64>,
    /// Maximum share of failed requests (0 to 1).
    pub errors: f64,
}

impl Default for Objective {
    fn default() -> Self {
        Self { p50_us: None, p99_us: None, p99_9_us: None, mean_us: None, errors: 0.001 }
    }
}

/// Length and end of the search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct SearchPlan {
    /// Maximum duration of the whole search in seconds.
    pub budget_s: f64,
    /// Maximum connections in the closed-loop sweep and in the open-loop search. The open-loop search may use fewer:
    /// enough for its rate at the longest response time that still holds the objective.
    pub max_connections: u32,
    /// Relative precision at which the search ends early: half the 95 % interval of the capacity, divided by the
    /// capacity.
    pub precision: f64,
    /// Whether the search counts users, who think between a response and the next request. A closed loop with at most
    /// `max_connections` users.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub users: bool,
    /// Experiment that tests the verdict.
    #[serde(skip_serializing_if = "Prove::is_default")]
    pub prove: Prove,
    /// Directory on the server's disk and host in which an experiment may write. Absent: no experiment on the disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prove_dir: Option<std::path::PathBuf>,
}

/// Permitted interference of an experiment that tests the verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Prove {
    /// No experiment.
    Off,
    /// Everything that the user's own rights and processes allow.
    #[default]
    Default,
    /// In addition, changes to the server's own processes and limits: its quota, one of its workers, its descriptors.
    Intrusive,
}

impl Prove {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for SearchPlan {
    fn default() -> Self {
        Self {
            budget_s: 30.0,
            max_connections: 1024,
            precision: 0.03,
            users: false,
            prove: Prove::Default,
            prove_dir: None,
        }
    }
}

/// Counters to read during the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ObservePlan {
    /// Seconds between two samples.
    pub interval_s: f64,
    /// Observation without load before the first trial, seconds.
    pub at_rest_s: f64,
}

impl Default for ObservePlan {
    fn default() -> Self {
        Self { interval_s: 0.5, at_rest_s: 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_this_host_alone_is_told_from_a_name_that_only_looks_so() {
        let loopback = |url: &str| Target { url: url.into(), ..Target::default() }.loopback();
        for own in [
            "http://127.0.0.1:8080/x",
            "127.9.9.9",
            "localhost:80",
            "echo://[::1]:7",
            "tcp://[::1]",
            "localhost",
            "unix:///a.sock:/",
        ] {
            assert_eq!(loopback(own), Some(true), "{own}");
        }
        for other in ["http://127.example.org/", "localhost.example.org", "10.0.0.2:80", "http://[fe80::1]:80", "x"] {
            assert_eq!(loopback(other), Some(false), "{other}");
        }
        assert_eq!((loopback(""), loopback("http://")), (None, None));
    }
}
