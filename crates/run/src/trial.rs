//! One operating point: what was offered, what came back, and what both sides' counters said meanwhile.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Cost, CounterId, Hist, Intensity, Reading, Recording, Summary};

/// What a trial was for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrialKind {
    /// One fixed intensity that the user asked for.
    #[default]
    Fixed,
    /// A step of the closed-loop sweep.
    Sweep,
    /// A step of the open-loop search for the capacity.
    Search,
    /// Past the capacity on purpose.
    Overload,
    /// A point of an experiment.
    Experiment,
}

/// One operating point. The counts at the top are of the whole trial, from the first connect to the end of the
/// drain, so they equal what the server's own log says; rates and latencies are of the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Trial {
    /// What it stands for, in words: `32 connections`, `epoll`, `2048 B`.
    pub label: String,
    /// What it was for.
    pub kind: TrialKind,
    /// Figures of the experiment that place this trial on an axis, by name with unit (`record_bytes`, `delay_ms`).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[serde(deserialize_with = "crate::nan::map")]
    #[schemars(with = "crate::nan::Map")]
    pub axes: BTreeMap<String, f64>,
    /// The intensity that was asked for.
    pub intensity: Intensity,
    /// Counts of the whole trial.
    #[serde(flatten)]
    pub tally: Tally,
    /// Rates of the measured window.
    #[serde(flatten)]
    pub rates: Rates,
    /// Counts of the measured window alone.
    pub measured: Measured,
    /// Response time: from the intended start (open loop) or the send (closed loop) to the last byte.
    pub latency_us: Summary,
    /// Service time: from the actual send to the last byte.
    pub service_us: Summary,
    /// Time the generator wanted to send and could not.
    pub blocked_us: Summary,
    /// How late requests left against their intended start by the generator's own doing.
    pub start_error_us: Summary,
    /// Time from connect() to an established connection.
    pub connect_us: Summary,
    /// The full histograms behind the summaries, by the same names without unit (`response`, `service`, …).
    pub histograms: BTreeMap<String, Hist>,
    /// Whether the measured window was steady.
    pub steady: Steady,
    /// The generator's side.
    pub client: Side,
    /// The server's side; absent when nothing of it can be read.
    pub server: Option<Side>,
    /// What happened to the server meanwhile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub incidents: Vec<Incident>,
    /// What went wrong or was unusual, in sentences.
    pub notes: Vec<String>,
}

/// Counts. Every one is exact; nothing is sampled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Tally {
    /// Connections that were tried (connect() calls that started).
    pub attempted: u64,
    /// Connections that were established.
    pub connected: u64,
    /// Requests that left completely.
    pub sent: u64,
    /// Responses that came back complete and well-formed, of any status.
    pub completed: u64,
    /// Of those, responses whose status is not the expected one (4xx, 5xx unless asked for).
    pub unexpected_status: u64,
    /// Responses by status class: `1xx` to `5xx`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub status: BTreeMap<String, u64>,
    /// What failed, by kind.
    pub errors: Errors,
    /// Requests that were due in the plan; equals `sent` unless the generator fell behind or connections failed.
    pub due: u64,
    /// Requests still without an answer when the drain ended.
    pub unanswered: u64,
    /// Connections of which the client said established and nothing was ever answered (see source 1 on cookies).
    pub phantom: u64,
    /// Connections that the server closed while they were idle.
    pub closed_by_server: u64,
    /// Payload and header bytes written to sockets.
    pub bytes_sent: u64,
    /// Bytes read from sockets.
    pub bytes_received: u64,
}

impl Tally {
    /// All errors together.
    pub fn error_count(&self) -> u64 {
        self.errors.0.values().sum()
    }

    /// Adds all counts of another tally.
    pub fn merge(&mut self, o: &Self) {
        for (a, b) in [
            (&mut self.attempted, o.attempted),
            (&mut self.connected, o.connected),
            (&mut self.sent, o.sent),
            (&mut self.completed, o.completed),
            (&mut self.unexpected_status, o.unexpected_status),
            (&mut self.due, o.due),
            (&mut self.unanswered, o.unanswered),
            (&mut self.phantom, o.phantom),
            (&mut self.closed_by_server, o.closed_by_server),
            (&mut self.bytes_sent, o.bytes_sent),
            (&mut self.bytes_received, o.bytes_received),
        ] {
            *a += b;
        }
        o.status.iter().for_each(|(class, n)| *self.status.entry(class.clone()).or_default() += n);
        o.errors.0.iter().for_each(|(kind, n)| *self.errors.0.entry(*kind).or_default() += n);
    }
}

/// Failures by kind; a kind that did not happen is not listed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Errors(pub BTreeMap<ErrorKind, u64>);

/// What can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum ErrorKind {
    /// The server's host answered with a reset to the connect.
    ConnectRefused,
    /// The connect was not up in time (for S-Clients: after T; closed and replaced).
    ConnectTimeout,
    /// The connect failed for another reason (unreachable, no route).
    ConnectFailed,
    /// No local port was left (EADDRNOTAVAIL).
    ClientPorts,
    /// No descriptor was left (EMFILE, ENFILE).
    ClientFds,
    /// The connection was reset.
    Reset,
    /// The connection ended before the response was complete.
    ShortResponse,
    /// The response does not follow the protocol.
    Malformed,
    /// The response is complete but not what was expected (wrong length or bytes).
    WrongBody,
    /// The response took longer than the timeout.
    ResponseTimeout,
    /// A system call failed for another reason.
    Other,
}

impl ErrorKind {
    /// All kinds, in the order of their numbers: shards count into an array of this length.
    pub const ALL: [Self; 11] = [
        Self::ConnectRefused,
        Self::ConnectTimeout,
        Self::ConnectFailed,
        Self::ClientPorts,
        Self::ClientFds,
        Self::Reset,
        Self::ShortResponse,
        Self::Malformed,
        Self::WrongBody,
        Self::ResponseTimeout,
        Self::Other,
    ];
}

/// Rates and levels of the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Rates {
    /// What the plan wanted, requests per second (closed loop: what it sent; S-Clients: connection attempts).
    #[serde(deserialize_with = "crate::nan::number")]
    #[schemars(with = "crate::nan::Number")]
    pub offered_rate: f64,
    /// What left, requests per second (S-Clients: connection attempts that left).
    #[serde(deserialize_with = "crate::nan::number")]
    #[schemars(with = "crate::nan::Number")]
    pub sent_rate: f64,
    /// What came back complete and well-formed, per second.
    #[serde(deserialize_with = "crate::nan::number")]
    #[schemars(with = "crate::nan::Number")]
    pub completed_rate: f64,
    /// Completed within the limit asked for and of an expected status, per second.
    #[serde(deserialize_with = "crate::nan::number")]
    #[schemars(with = "crate::nan::Number")]
    pub goodput: f64,
    /// Mean number of requests in flight.
    #[serde(deserialize_with = "crate::nan::number")]
    #[schemars(with = "crate::nan::Number")]
    pub concurrency: f64,
}

/// The measured window in counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Measured {
    /// Where in the recordings it lies.
    pub window: Window,
    /// Its length by the generator's own clock, seconds.
    #[serde(deserialize_with = "crate::nan::number")]
    #[schemars(with = "crate::nan::Number")]
    pub length_s: f64,
    /// Its counts.
    pub tally: Tally,
    /// Completed requests per second in each tenth of a second of the window.
    #[serde(deserialize_with = "crate::nan::list")]
    #[schemars(with = "crate::nan::List")]
    pub series_completed: Vec<f64>,
}

/// A stretch of time in seconds since the trial's origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// First moment.
    #[serde(deserialize_with = "crate::nan::number")]
    #[schemars(with = "crate::nan::Number")]
    pub begin_s: f64,
    /// Last moment.
    #[serde(deserialize_with = "crate::nan::number")]
    #[schemars(with = "crate::nan::Number")]
    pub end_s: f64,
}

impl Window {
    /// Everything.
    pub const ALL: Self = Self { begin_s: f64::MIN, end_s: f64::MAX };

    /// Whether a moment lies inside. A millisecond of slack takes in the samples that were taken at the edges.
    pub fn holds(self, t_s: f64) -> bool {
        t_s >= self.begin_s - 1e-3 && t_s <= self.end_s + 1e-3
    }

    /// Length in seconds.
    pub fn length_s(self) -> f64 {
        self.end_s - self.begin_s
    }
}

/// Whether the rate had settled when measuring began, by the test that `docs/method.md` states.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Steady {
    /// The test's answer.
    pub steady: bool,
    /// Seconds of warm-up that it took.
    #[serde(deserialize_with = "crate::nan::number")]
    #[schemars(with = "crate::nan::Number")]
    pub warmup_s: f64,
    /// The reason, in words with figures.
    pub reason: String,
}

/// Something that happened to the server while a trial went on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Incident {
    /// What it was.
    pub kind: IncidentKind,
    /// When it began, seconds since the load began.
    #[serde(deserialize_with = "crate::nan::number")]
    #[schemars(with = "crate::nan::Number")]
    pub begin_s: f64,
    /// When it was over; absent if it was not, or is of one moment.
    #[serde(default)]
    pub end_s: Option<f64>,
    /// The sentence.
    pub text: String,
}

/// Kinds of incidents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IncidentKind {
    /// A process of the server was stopped by a signal.
    ServerStopped,
    /// A process of the server ended.
    ServerEnded,
    /// All had ended, and answers came again.
    ServerReturned,
    /// No answer came although some were due, and nothing is known of the server's processes that explains it.
    Silence,
}

/// One perspective: what the counters of the client's or the server's host said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Side {
    /// Name of the host, as in `hosts[]`.
    pub host: String,
    /// The processors that `cpu.*` counts, as one name: hosts that are namespaces of one machine have the same, hosts that
    /// are confined to processors of their own do not. Empty where unknown.
    pub machine: String,
    /// The processes that are this side, as instances of process counters (`nginx:1234`).
    pub processes: Vec<String>,
    /// Whether client and server share these processors.
    pub shared: bool,
    /// The samples.
    pub recording: Recording,
    /// Derived: each counter over the measured window, summed over this side's instances (gauges: their mean).
    pub counters: BTreeMap<CounterId, Reading>,
    /// Derived: costs per request by id of the `COSTS` table.
    pub costs: BTreeMap<String, Cost>,
}

impl Side {
    /// Whether both sides' `cpu.*` counters are of the same processors. Where no machine is known, the hosts' names tell.
    pub fn same_processors(&self, other: &Self) -> bool {
        let known = !self.machine.is_empty() && !other.machine.is_empty();
        if known { self.machine == other.machine } else { !self.host.is_empty() && self.host == other.host }
    }
}
