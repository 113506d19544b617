//! What to do, complete and checked before any load is sent. Flags and TOML files end in this one type.

pub(crate) mod address;
pub(crate) mod check;
pub(crate) mod cold;
pub(crate) mod expectation;
pub(crate) mod hosts;
pub(crate) mod intensity;
pub(crate) mod protocol;
pub(crate) mod requests;
pub(crate) mod seal;
pub(crate) mod secrets;
pub(crate) mod tls;
pub(crate) mod url_parts;

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::{
    ArrivalTimes, Blocks, ColdPlan, Expectation, HostPlan, Intensity, Protocol, RecordedTimes, RequestSet, Secrets,
    SlotPlan, Stage, TlsPlan, UrlParts, unsaid,
};

/// Everything that one command will do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// What is expected of the result; what is not met is a failure.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<Expectation>,
    /// How long to look, and where to stop.
    pub search: SearchPlan,
    /// How often all of it is done; 0 and 1 are once.
    #[serde(skip_serializing_if = "is_once")]
    pub repeats: u32,
    /// What to read while it runs.
    pub observe: ObservePlan,
    /// Other hosts that take part; without any, all is on this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostPlan>,
    /// Parameters of an experiment, each described by the experiment's own page.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub lab: BTreeMap<String, serde_json::Value>,
}

/// What is done once is not said in a run.
fn is_once(repeats: &u32) -> bool {
    *repeats <= 1
}

impl Plan {
    /// How often all of it is done, at least once.
    pub fn times(&self) -> u32 {
        self.repeats.max(1)
    }

    /// Every key that is set, with dots between its parts as in TOML, and its value; a list is one value.
    pub fn keys(&self) -> Vec<(String, serde_json::Value)> {
        let mut keys = Vec::new();
        if let Ok(plan) = serde_json::to_value(self) {
            flatten("", plan, &mut keys);
        }
        keys
    }

    /// The name of the experiment where `loadline lab NAME` was run.
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
    /// As the user wrote it: `http://127.0.0.1:8080/path`, `tcp://…`, `echo://…`; empty for the embedded default.
    pub url: String,
    /// Process that serves, when the user named it; its children belong to it.
    pub server_pid: Option<u32>,
    /// The user says that loading a target outside loopback, private and link-local ranges is allowed.
    pub authorized: bool,
    /// CPU time that each request takes at the embedded default, microseconds; 0 serves its page as it is. It makes the
    /// server cost plainly more than the generator, so that it is the server that is measured.
    pub embedded_work_us: f64,
}

impl Default for Target {
    fn default() -> Self {
        Self { url: String::new(), server_pid: None, authorized: false, embedded_work_us: 50.0 }
    }
}

impl Target {
    /// Whether its address is one that only its own host reaches (127.0.0.0/8, ::1, localhost), as far as it is written
    /// and not looked up; `None` where none is given.
    pub fn loopback(&self) -> Option<bool> {
        let written = UrlParts::of(&self.url);
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

/// How requests are made and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct LoadPlan {
    /// What is said on a connection.
    pub protocol: Protocol,
    /// Requests that are made in the place of the one that the protocol's settings say; its headers are added to each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestSet>,
    /// When requests are due, where a file says so: the intensity's rate is then the mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<ArrivalTimes>,
    /// TLS around it; absent for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsPlan>,
    /// When requests are made.
    pub intensity: Intensity,
    /// How the rate of an open loop changes, from the begin of the load on; after the last it stays. The intensity's rate is
    /// then the mean of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<Stage>,
    /// One connection a request: connect, one exchange, close.
    pub new_connections: bool,
    /// Connects a second of a closed loop, one after the other; its connections are silent until the last one is up, or the window
    /// begins. 0: all at once, or, where clients think, while they would have thought.
    #[serde(skip_serializing_if = "unsaid::is_zero")]
    pub connect_rate: f64,
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
    /// Shortest warm-up in seconds, however soon the rate is steady.
    pub least_warmup_s: f64,
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
    #[serde(skip_serializing_if = "unsaid::is_zero")]
    pub phase: f64,
    /// Slots whose completed rates are wanted, for an experiment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slots: Option<SlotPlan>,
    /// Limits of the response time, microseconds, beyond which requests are counted in each tenth of a second; at most 4.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub late_us: Vec<f64>,
    /// Processors the generator may run on; empty for all.
    pub cpus: Vec<u32>,
    /// The generator acknowledges at once (TCP_QUICKACK after each request; epoll only): for an experiment on delayed
    /// acknowledgements.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub quick_ack: bool,
    /// Receive buffer that the generator asks for (SO_RCVBUF; epoll only), bytes: for an experiment on windows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_buffer: Option<u32>,
    /// What the placeholders in the protocol stand for; never written down.
    #[serde(skip)]
    pub secrets: Secrets,
}

impl LoadPlan {
    /// The plan with secrets in their places: for the request itself, and for nothing that is kept or printed.
    pub fn revealed(&self) -> Self {
        let mut plan = self.clone();
        self.secrets.reveal_protocol(&mut plan.protocol);
        plan.requests.iter_mut().for_each(|set| self.secrets.reveal_requests(set));
        plan
    }
}

impl LoadPlan {
    /// Whether nothing is measured before all connections of the closed loop are up.
    pub fn waits_for_all(&self) -> bool {
        self.blocks.is_some() || self.connect_rate > 0.0
    }

    /// When each request is due, where that was recorded: times of a file, or those of an access log.
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

/// Which client driver moves the bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Objective {
    /// Longest median response time allowed, microseconds. Without any limit on the response time, one that is made
    /// from the unloaded median counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_us: Option<f64>,
    /// 99th percentile of it, microseconds.
    pub p99_us: Option<f64>,
    /// 99.9th percentile of it, microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_9_us: Option<f64>,
    /// Mean of it, microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_us: Option<f64>,
    /// Largest share of failed requests allowed (0 to 1).
    pub errors: f64,
}

impl Default for Objective {
    fn default() -> Self {
        Self { p50_us: None, p99_us: None, p99_9_us: None, mean_us: None, errors: 0.001 }
    }
}

/// How long to look, and where to stop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct SearchPlan {
    /// Bound of the whole search in seconds.
    pub budget_s: f64,
    /// Most connections of the closed-loop sweep, and of the pool of the search with arrivals. The pool takes fewer: what
    /// the rate needs at the longest response time that is still good.
    pub max_connections: u32,
    /// Half the 95 % interval of the capacity, as a share of it, at which the search ends before its budget does.
    pub precision: f64,
    /// The capacity is looked for in users, who think between an answer and the next request: a closed loop, at most
    /// `max_connections` of them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub users: bool,
    /// Whether the verdict is tried by an experiment.
    #[serde(skip_serializing_if = "Prove::is_default")]
    pub prove: Prove,
    /// A directory on the server's disk, on the server's host, in which an experiment may write; absent: the disk is not tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prove_dir: Option<std::path::PathBuf>,
}

/// How far an experiment on the verdict may go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Prove {
    /// No experiment.
    Off,
    /// What this user's own rights and own processes are enough for.
    #[default]
    Default,
    /// Also what touches the server's own processes and limits: its quota, one of its workers, its descriptors.
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

/// What to read while it runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
