//! One operating point: what was offered, what came back, and what both sides' counters said meanwhile.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::{
    ClassPart, Cost, CounterId, Hist, HostLoad, Intensity, Key, Reading, Recording, Results, Summary, Tenths, Window,
    WindowsApart,
};

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
    /// Levers were switched on and off in slots of it: its rates are of no one state.
    Proof,
    /// Counters of a server that somebody else loaded: there is no generator's side.
    Watched,
    /// Kept connections, or a connection for each request, in turns: to tell what a handshake costs.
    Handshakes,
    /// A class of requests was asked for more than the mix has it, each in turns: to tell what a class costs the server.
    Classes,
}

impl TrialKind {
    /// Whether it was made to see something else than what the server takes: a search does not look at it.
    pub const fn apart(self) -> bool {
        matches!(self, Self::Proof | Self::Handshakes | Self::Classes)
    }
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
    /// Which repeat of the run it belongs to, from 0.
    #[serde(skip_serializing_if = "is_first")]
    pub repeat: u32,
    /// What was set.
    pub key: Key,
    /// What came out besides rates and latencies.
    pub results: Results,
    /// The intensity that was asked for, of all loads together.
    pub intensity: Intensity,
    /// Where somebody changed the rate of an open loop by hand, all rates that it had: `intensity` has their mean over the
    /// measured window.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_hand: Vec<RateByHand>,
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
    /// Time from an established connection to one that is ready for requests; absent where connections begin with none.
    #[serde(skip_serializing_if = "Summary::is_empty")]
    pub handshake_us: Summary,
    /// Most requests that the server takes at once on a connection, as it said when the connection began, the least of all
    /// connections (HTTP/2: SETTINGS_MAX_CONCURRENT_STREAMS); absent where it said nothing of it. What is beyond waits in
    /// the generator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_limit: Option<u32>,
    /// What came of each class of a mix of requests; empty where all requests are of one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassPart>,
    /// A long measured window in stretches; at most some hundreds, however long it was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub moments: Vec<crate::Moment>,
    /// The full histograms behind the summaries, by the same names without unit (`response`, `service`, …).
    pub histograms: BTreeMap<String, Hist>,
    /// Whether the measured window was steady.
    pub steady: Steady,
    /// The generator's side; with several hosts of generators, that of the busiest.
    pub client: Side,
    /// The other hosts of generators.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub client_hosts: Vec<Side>,
    /// What the generators of each host did; empty where all ran on one that started them itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host_loads: Vec<HostLoad>,
    /// The server's side; absent when nothing of it can be read.
    pub server: Option<Side>,
    /// What happened to the server and the generators meanwhile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub incidents: Vec<Incident>,
    /// What went wrong or was unusual, in sentences.
    pub notes: Vec<String>,
}

impl Trial {
    /// What made its figures those of something else than a server under this load, if that happened before the measured
    /// window was over.
    pub fn broken(&self) -> Option<&Incident> {
        self.incidents.iter().find(|i| i.kind.breaks() && i.begin_s < self.measured.window.end_s)
    }
}

/// A rate that an open loop was given by hand.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateByHand {
    /// From when on, seconds since the load began.
    #[serde(with = "Figure")]
    pub t_s: f64,
    /// Requests per second.
    #[serde(with = "Figure")]
    pub rate: f64,
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
    /// Of those, responses whose status is not the expected one (4xx, 5xx, of gRPC all but OK, unless asked for).
    pub unexpected_status: u64,
    /// Responses by status class: `1xx` to `5xx`, or the names of gRPC (`OK`, `UNAVAILABLE`, …).
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
    /// Of the bytes received, those of answers as their protocol counts them, within TLS and framing (HTTP/2: of bodies
    /// alone): the rest is what the wire takes besides.
    #[serde(skip_serializing_if = "is_none")]
    pub answer_bytes: u64,
    /// Times that a request waited and its open loop opened no connection for it, because the pool had what it needs by
    /// Little's law: a connect for each would have been a storm of the generator's own.
    #[serde(skip_serializing_if = "is_none")]
    pub connects_held_back: u64,
    /// Connections that an open loop's pool opened and, by the answers that came then, did not need.
    #[serde(skip_serializing_if = "is_none")]
    pub connects_past_need: u64,
    /// Requests that the server had not looked at when it left their connection (HTTP/2: beyond the last stream of a
    /// GOAWAY). Each was made again on another, with its intended start; `sent` counts it once.
    #[serde(skip_serializing_if = "is_none")]
    pub unprocessed: u64,
    /// Connections that were ready for requests after a handshake of their protocol.
    #[serde(skip_serializing_if = "is_none")]
    pub handshakes: u64,
    /// Of them, those that took up an earlier session (TLS).
    #[serde(skip_serializing_if = "is_none")]
    pub handshakes_resumed: u64,
    /// Of the bytes sent, those of handshakes.
    #[serde(skip_serializing_if = "is_none")]
    pub handshake_bytes_sent: u64,
    /// Of the bytes received, those of handshakes.
    #[serde(skip_serializing_if = "is_none")]
    pub handshake_bytes_received: u64,
}

fn is_first(repeat: &u32) -> bool {
    *repeat == 0
}

/// A count of what most protocols have not is written only where it happened.
fn is_none(count: &u64) -> bool {
    *count == 0
}

impl Tally {
    /// All errors together.
    pub fn error_count(&self) -> u64 {
        self.errors.0.values().fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// Adds all counts of another tally; sums end at the largest number there is, since parts come from other hosts.
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
            (&mut self.answer_bytes, o.answer_bytes),
            (&mut self.connects_held_back, o.connects_held_back),
            (&mut self.connects_past_need, o.connects_past_need),
            (&mut self.unprocessed, o.unprocessed),
            (&mut self.handshakes, o.handshakes),
            (&mut self.handshakes_resumed, o.handshakes_resumed),
            (&mut self.handshake_bytes_sent, o.handshake_bytes_sent),
            (&mut self.handshake_bytes_received, o.handshake_bytes_received),
        ] {
            *a = a.saturating_add(b);
        }
        let add = |to: &mut u64, n: &u64| *to = to.saturating_add(*n);
        o.status.iter().for_each(|(class, n)| add(self.status.entry(class.clone()).or_default(), n));
        o.errors.0.iter().for_each(|(kind, n)| add(self.errors.0.entry(*kind).or_default(), n));
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
    /// The server's host answered with a reset to the connect; a unix socket, that nobody listens or its queue is full.
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
    /// The server ended one request of a connection before its response was complete (HTTP/2: RST_STREAM).
    StreamReset,
    /// The server refused one request without looking at it (HTTP/2: REFUSED_STREAM, or a GOAWAY on a connection
    /// of which it looked at none).
    StreamRefused,
    /// A system call failed for another reason.
    Other,
}

impl ErrorKind {
    /// All kinds, in the order of their numbers: shards count into an array of this length.
    pub const ALL: [Self; 13] = [
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
        Self::StreamReset,
        Self::StreamRefused,
        Self::Other,
    ];
}

/// Rates and levels of the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Rates {
    /// What the plan wanted, requests per second (closed loop: what it sent; S-Clients: connection attempts).
    #[serde(with = "Figure")]
    pub offered_rate: f64,
    /// What left, requests per second (S-Clients: connection attempts that left).
    #[serde(with = "Figure")]
    pub sent_rate: f64,
    /// What came back complete and well-formed, per second.
    #[serde(with = "Figure")]
    pub completed_rate: f64,
    /// Completed within the limit asked for and of an expected status, per second.
    #[serde(with = "Figure")]
    pub goodput: f64,
    /// Mean number of requests in flight.
    #[serde(with = "Figure")]
    pub concurrency: f64,
}

/// The measured window in counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Measured {
    /// Where in the recordings it lies.
    pub window: Window,
    /// Its length by the generator's own clock, seconds.
    #[serde(with = "Figure")]
    pub length_s: f64,
    /// Its counts.
    pub tally: Tally,
    /// Completed requests per second in each tenth of a second of the window, or in each step of it.
    #[serde(with = "Figure::<Vec<f64>>")]
    pub series_completed: Vec<f64>,
    /// Width of such a step, seconds, where a window is too long for tenths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series_step_s: Option<f64>,
    /// Completed per second in each slot of an experiment.
    #[serde(with = "Figure::<Vec<f64>>", skip_serializing_if = "Vec::is_empty")]
    pub slot_rates: Vec<f64>,
    /// Counts of each tenth of a second, by the limits of the objective.
    #[serde(skip_serializing_if = "Tenths::is_empty")]
    pub tenths: Tenths,
    /// When a generator's host, or the server's where an observer runs there, stood still; seconds since the load began.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<Window>,
    /// When a thread of a generator woke late or stood still within its work; seconds since the load began.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held_up: Vec<Window>,
    /// How far the windows of several agents are apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apart: Option<WindowsApart>,
    /// What the trial took besides its warm-up and its window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub around: Option<Around>,
}

/// What a trial takes besides its warm-up and its window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Around {
    /// Until the load began: agents, observers, the lead of the common start; seconds.
    #[serde(with = "Figure")]
    pub start_s: f64,
    /// From the end of the window until everything was collected, seconds.
    #[serde(with = "Figure")]
    pub drain_s: f64,
}

/// Whether the rate had settled when measuring began, by the test that `docs/method.md` states.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Steady {
    /// The test's answer.
    pub steady: bool,
    /// Seconds of warm-up that it took.
    #[serde(with = "Figure")]
    pub warmup_s: f64,
    /// The reason, in words with figures.
    pub reason: String,
}

/// Something that happened to the server or to a generator while a trial went on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Incident {
    /// What it was.
    pub kind: IncidentKind,
    /// When it began, seconds since the load began.
    #[serde(with = "Figure")]
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
    /// A process of the server ended, others of it went on.
    WorkerEnded,
    /// The server ended: no process of it was left.
    ServerEnded,
    /// All had ended, and answers came again.
    ServerReturned,
    /// No answer came although some were due, and nothing is known of the server's processes that explains it.
    Silence,
    /// The server, or the way to it, answered nothing any more, not even a single request after the load.
    ServerUnreachable,
    /// A generator was stopped by a signal.
    GeneratorStopped,
    /// A generator ended before its time; what it had counted is lost.
    GeneratorEnded,
    /// The observer on another host is lost, and with it the counters of that host.
    ObserverLost,
}

impl IncidentKind {
    /// Whether figures of a trial in which it happened say nothing of what the server takes under this load.
    pub const fn breaks(self) -> bool {
        match self {
            Self::ServerStopped
            | Self::ServerEnded
            | Self::ServerUnreachable
            | Self::GeneratorStopped
            | Self::GeneratorEnded => true,
            Self::WorkerEnded | Self::ServerReturned | Self::Silence | Self::ObserverLost => false,
        }
    }
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
    /// Whom these processes hold connections to, and who answers there: what a server may wait for. Their counters stand
    /// in the recording; none of them is in `processes`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<crate::Behind>,
    /// Whether client and server share these processors.
    pub shared: bool,
    /// The samples.
    pub recording: Recording,
    /// Derived: each counter over the measured window, summed over this side's instances (gauges: their mean).
    pub counters: BTreeMap<CounterId, Reading>,
    /// Derived: costs per request by id of the `COSTS` table.
    pub costs: BTreeMap<String, Cost>,
}

impl Trial {
    /// Whether client and server use processors of one machine, as far as both are known.
    pub fn one_host(&self) -> bool {
        self.server.as_ref().is_some_and(|s| s.same_processors(&self.client))
    }
}

impl Side {
    /// Whether both sides' `cpu.*` counters are of the same processors. Where no machine is known, the hosts' names tell.
    pub fn same_processors(&self, other: &Self) -> bool {
        let known = !self.machine.is_empty() && !other.machine.is_empty();
        if known { self.machine == other.machine } else { !self.host.is_empty() && self.host == other.host }
    }

    /// Whether both sides' counters of interfaces, listeners and TCP are of the same network namespace.
    pub fn same_network(&self, other: &Self) -> bool {
        !self.host.is_empty() && self.host == other.host
    }
}
