//! Tasks of agents (processes that loadline starts), and the results that a load agent reports at its end.
//! `wire/mod.rs` describes the protocol between loadline and its agents. A lever is a temporary change that an
//! experiment makes, such as slowing a CPU.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

use crate::figure::Figure;
use crate::{
    Address, AddressPart, ClassPart, CoarseHist, ColdPlan, ConnectionOpening, EndsTogether, Errors, FirstFailure, Hist,
    LeverPlan, LoadPlan, MAX_ADDRESSES, MAX_CLASSES, MAX_FIRST_FAILURES, MAX_TRACES, QuicPaths, ServerQuestion,
    SlotHist, StreamCounts, Summary, Tally, Tenths, TimeFigure, TracedRequest, UnansweredTimes, WatchSpec, Window,
    skip_empty,
};

/// Task of an agent, which loadline sends as the first line of the agent's input. A load agent may get another task
/// after it has reported its results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "agent", rename_all = "kebab-case")]
pub enum AgentSpec {
    /// Task to generate load.
    Load {
        /// Plan of this agent's share of the load.
        plan: Box<LoadPlan>,
        /// Address of the server.
        addr: Address,
        /// True to start as soon as possible, without waiting for [`crate::AgentCommand::Start`].
        #[serde(default)]
        at_once: bool,
        /// Contents of the files named in the plan, by path, in base64. The task includes the contents of the plan's
        /// files, because the agent may run on another host.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        files: BTreeMap<String, String>,
        /// True to add [`TickDetail`] to some progress reports, for a live display.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        detailed: bool,
        /// True to send every [`Tick`] (progress report) that the load produces, and not only ten per second. The
        /// conductor sets this flag only for loads with few agents.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        fine: bool,
    },
    /// Task to observe the agent's host during trials, one trial after the other.
    Watch(WatchSpec),
    /// Task to run a reference server, one of loadline's own servers.
    Serve {
        /// Settings of the server.
        plan: ServePlan,
        /// True if the conductor (the loadline process that the user started) is on another host. If the conductor is
        /// on another host, the agent also ends if it gets no input for a time, because the connection may be broken.
        /// On the conductor's own host, a server without input keeps running, because the conductor may only be
        /// suspended.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        far: bool,
    },
    /// Task to run a shell command that starts a server. All processes that the command starts end when the agent ends.
    Command {
        /// Shell command that the agent runs.
        shell: String,
        /// True if the parent process is another agent with an equal task. If one of the two agents is killed, the
        /// other agent ends the processes of the server.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        guarded: bool,
        /// CPUs that the processes may use; empty for all.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cpus: Vec<u32>,
    },
    /// Task to answer a question about the server, by one connection or one request.
    Ask {
        /// Question to answer.
        question: ServerQuestion,
        /// Plan of the load whose server the question concerns. If the question needs a request, the agent sends the
        /// first request of this plan.
        plan: Box<LoadPlan>,
        /// Address of the server.
        addr: Address,
        /// Contents of the files named in the plan, by path, in base64.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        files: BTreeMap<String, String>,
    },
    /// Task to look up the addresses of a host name on the agent's host.
    LookUp {
        /// Host name to look up.
        host: String,
        /// Port that the answer combines with each address.
        port: u16,
    },
    /// Task to switch a lever (a change of a resource) on and off during a load.
    Lever(LeverPlan),
    /// Task to check that a lever (a change of a resource) works on the agent's host.
    CheckLever(LeverPlan),
    /// Task to undo the changes that killed lever agents left on the agent's host.
    RestoreLevers,
    /// Task to hold cold (unused) connections until the conductor stops the agent.
    Cold {
        /// Number of connections, and the way in which they are opened.
        plan: ColdPlan,
        /// Address of the server.
        addr: Address,
    },
}

impl AgentSpec {
    /// Returns the task with secret values in place of their placeholders, for the agent's standard input.
    pub fn revealed(&self) -> Self {
        let mut spec = self.clone();
        if let Self::Load { plan, .. } | Self::Ask { plan, .. } = &mut spec {
            **plan = plan.revealed();
        }
        spec
    }
}

/// Settings of a reference server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServePlan {
    /// ID of the service, a row of `SERVICES`: `http`, `echo`, …
    pub service: String,
    /// ID of the I/O model, a row of `MODELS`: `epoll`, `uring`, …; with `auto`, the server selects a model. The server
    /// selects an io_uring model if the kernel and the options allow it.
    pub model: String,
    /// ID of the strategy, a row of `STRATEGIES`; empty for no strategy.
    pub strategy: String,
    /// Address to listen on. If the port is 0, the kernel picks a port, and the agent reports this port.
    pub listen: String,
    /// Number of worker threads.
    pub threads: u32,
    /// Length of the accept queue (listen backlog).
    pub backlog: u32,
    /// Directory of the served files; absent for a built-in page of `body_bytes`.
    pub root: Option<String>,
    /// Length of the built-in page, bytes.
    pub body_bytes: u64,
    /// CPUs that the server may use; empty for all.
    pub cpus: Vec<u32>,
    /// Additional options of service, model and strategy, by name, as text.
    pub options: BTreeMap<String, String>,
}

impl Default for ServePlan {
    fn default() -> Self {
        Self {
            service: "http".into(),
            model: "auto".into(),
            strategy: String::new(),
            listen: "127.0.0.1:0".into(),
            threads: 1,
            backlog: 4096,
            root: None,
            body_bytes: 1294,
            cpus: Vec::new(),
            options: BTreeMap::new(),
        }
    }
}

/// Phase of an agent's load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Phase {
    /// The agent sends requests, but discards the results.
    #[default]
    WarmUp = 0,
    /// The agent sends requests and records the results.
    Measure = 1,
    /// The agent sends no new requests and waits for responses.
    Drain = 2,
}

/// Interval between progress reports of a load agent.
pub const TICK_INTERVAL: Duration = Duration::from_millis(100);
/// Interval between two progress reports with details: failures, statuses and response times.
pub const DETAIL_INTERVAL: Duration = Duration::from_millis(200);

/// Progress report of a load agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tick {
    /// Seconds since the load started.
    pub t_s: f64,
    /// Phase of the load at the time `t_s`.
    pub phase: Phase,
    /// Number of requests sent so far.
    pub sent: u64,
    /// Number of responses completed so far.
    pub completed: u64,
    /// Number of failures so far.
    pub errors: u64,
    /// Number of responses with an unexpected status so far.
    #[serde(default, skip_serializing_if = "skip_empty::is_no_count")]
    pub refused: u64,
    /// Number of connections that are established now.
    pub open: u64,
    /// Number of requests in flight.
    pub in_flight: u64,
    /// Details for a live display; absent in most progress reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Box<TickDetail>>,
}

/// Details of a load agent's progress, for a live display.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TickDetail {
    /// Failures so far, by kind.
    pub errors: Errors,
    /// Number of responses with an unexpected status so far.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub unexpected: u64,
    /// Number of responses among `unexpected`, by status. For gRPC, the key is the status plus [`crate::GRPC_STATUS`].
    #[serde(skip_serializing_if = "BTreeMap::is_empty", with = "super::pairs")]
    pub unexpected_statuses: BTreeMap<u16, u64>,
    /// Response times so far, including the warm-up.
    pub responses: CoarseHist,
    /// Times until the failure of the requests that were never answered so far, including the warm-up. An agent of an
    /// earlier version of loadline sends no such times.
    #[serde(skip_serializing_if = "CoarseHist::is_empty")]
    pub unanswered: CoarseHist,
}

impl TickDetail {
    /// Returns the number of requests that failed: all failures except failures of connects.
    pub fn failed_requests(&self) -> u64 {
        self.errors.requests()
    }

    /// Adds the counts and times of another agent.
    pub fn merge(&mut self, other: &Self) {
        for (kind, n) in &other.errors.0 {
            let sum = self.errors.0.entry(*kind).or_default();
            *sum = sum.saturating_add(*n);
        }
        self.unexpected = self.unexpected.saturating_add(other.unexpected);
        for (status, n) in &other.unexpected_statuses {
            let sum = self.unexpected_statuses.entry(*status).or_default();
            *sum = sum.saturating_add(*n);
        }
        self.responses.merge(&other.responses);
        self.unanswered.merge(&other.unanswered);
    }

    /// Returns the `q` quantile (0 to 1) of the response times. A request that was never answered counts as taking at
    /// least the time until its failure.
    pub fn percentile(&self, q: f64) -> TimeFigure {
        self.responses.percentile(q, &self.unanswered, self.failed_requests())
    }

    /// Returns the share of the ended requests that were never answered, 0 to 1.
    pub fn unanswered_share(&self) -> f64 {
        let unanswered = self.failed_requests().max(self.unanswered.len()) as f64;
        let all = self.responses.len() as f64 + unanswered;
        if all > 0.0 { unanswered / all } else { 0.0 }
    }

    /// Returns the summary of the response times, in which unanswered requests count as in [`TickDetail::percentile`].
    pub fn summary(&self) -> Summary {
        self.responses.summary(&self.unanswered, self.failed_requests())
    }
}

impl TickDetail {
    /// Returns how much each count has grown since `earlier`, an earlier copy of these details.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            errors: Errors(grown(&self.errors.0, &earlier.errors.0)),
            unexpected: self.unexpected.saturating_sub(earlier.unexpected),
            unexpected_statuses: grown(&self.unexpected_statuses, &earlier.unexpected_statuses),
            responses: self.responses.since(&earlier.responses),
            unanswered: self.unanswered.since(&earlier.unanswered),
        }
    }
}

/// Returns how much each count has grown. Leaves out counts that did not grow.
fn grown<K: Ord + Copy>(now: &BTreeMap<K, u64>, earlier: &BTreeMap<K, u64>) -> BTreeMap<K, u64> {
    let before = |key: &K| earlier.get(key).copied().unwrap_or(0);
    now.iter().map(|(key, n)| (*key, n.saturating_sub(before(key)))).filter(|(_, n)| *n > 0).collect()
}

/// Maximum number of histograms per agent. An agent of this version of loadline sends fewer histograms than this
/// maximum.
const MAX_HISTOGRAMS: usize = 24;
/// Maximum number of an experiment's slots for which response times are stored.
const MAX_SLOTS: usize = 1024;
/// Maximum number of classes per agent: the classes of a plan, and the class `other`.
const MAX_CLASS_PARTS: usize = MAX_CLASSES + 1;

/// Results of one load agent. loadline merges the results of all load agents of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadPart {
    /// Counts from the first connect to the end of the drain.
    pub total: Tally,
    /// Counts of the measured window.
    pub measured: Tally,
    /// Length of the measured window, seconds.
    pub measured_s: f64,
    /// Start of the measured window, seconds since the load began.
    pub measured_at_s: f64,
    /// Delay of the window's start, seconds. The delay is positive if the command to start the window came too late.
    #[serde(skip_serializing_if = "skip_empty::is_zero")]
    pub late_s: f64,
    /// Number of requests planned for the measured window: the planned rate times the window's length, possibly with a
    /// fraction.
    pub offered: f64,
    /// Integral of the number of requests in flight over the measured window, request-seconds. The mean concurrency is
    /// `in_flight_s` divided by the length of the window.
    pub in_flight_s: f64,
    /// CPU time of the generator's threads in the measured window, microseconds: first user time, then system time.
    pub cpu_us: (f64, f64),
    /// Completed requests per second in each slot of the plan's `slots`; NaN if the generator did not run during a
    /// slot.
    #[serde(with = "Figure::<Vec<f64>>", skip_serializing_if = "Vec::is_empty")]
    pub slot_rates: Vec<f64>,
    /// Response times of the open-loop requests due in each slot of the plan's `slots`.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MAX_SLOTS, _, _>")]
    pub slot_times: Vec<SlotHist>,
    /// Information about the opening of the connections; absent unless the load opened them one after the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opened: Option<ConnectionOpening>,
    /// Server's limit on concurrent requests per connection, the smallest of all connections (HTTP/2); absent if the
    /// server gave none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_limit: Option<u32>,
    /// Figures of the paths of QUIC connections; absent for other protocols.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quic: Option<QuicPaths>,
    /// Shortest idle time after which the server closed a connection, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closes_idle_after_s: Option<f64>,
    /// Connections that the server closed at one moment. The server closed more connections at this moment than at any
    /// other moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_together: Option<EndsTogether>,
    /// Completed, failed and late requests in each tenth of a second of the measured window, if the plan has limits.
    #[serde(skip_serializing_if = "Tenths::is_empty")]
    pub tenths: Tenths,
    /// Pauses of the agent's host, seconds since the load began. A thread that only sleeps measures the pauses of the
    /// host by its late wake-ups.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<Window>,
    /// Periods in which a generator thread woke up late or stalled during its work, seconds since the load began.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held_up: Vec<Window>,
    /// Histograms of the measured window: `response`, `first_byte`, `wait`, `transfer`, `service`, `blocked`,
    /// `start_error`, `connect`. If connections have a handshake, there is also `handshake`, and `handshake_resumed`
    /// for resumed sessions. `unanswered` holds the time until the failure of each failed request. `refused` holds the
    /// time until each answer with an unexpected status. `under_way` holds the ages of requests without a response at
    /// the end of the window. `carried_in` holds the ages of requests in flight at the start of the window.
    /// `under_way_begun` and `carried_in_begun` hold the ages of those requests in `under_way` and `carried_in` whose
    /// first byte had arrived. `unanswered_begun` and `refused_begun` hold the times of those requests in `unanswered`
    /// and `refused` whose first byte came earlier, and `first_byte_no_good_answer` their times to the first byte. If
    /// the answers are streams of events, there are also `first_event` and `gap`.
    #[serde(deserialize_with = "crate::bounded::map::<MAX_HISTOGRAMS, _, _>")]
    pub histograms: BTreeMap<String, Hist>,
    /// Service times, counted from the send, of requests without an answer in the measured window. The field is empty
    /// if the generator sends every request when it is due.
    #[serde(skip_serializing_if = "UnansweredTimes::is_empty")]
    pub service_unanswered: UnansweredTimes,
    /// Results of each class in a mix of requests; empty if all requests belong to one class.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MAX_CLASS_PARTS, _, _>")]
    pub classes: Vec<ClassPart>,
    /// Counts of the streams of events in the measured window; absent if the answers are no streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams: Option<StreamCounts>,
    /// Slowest requests with a trace context in the measured window, the slowest first.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MAX_TRACES, _, _>")]
    pub slowest_traces: Vec<TracedRequest>,
    /// Results for each address of the server; empty if the server has only one address.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MAX_ADDRESSES, _, _>")]
    pub addresses: Vec<AddressPart>,
    /// First failure of each kind with its reason.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "crate::bounded::list::<MAX_FIRST_FAILURES, _, _>"
    )]
    pub first_failures: Vec<FirstFailure>,
    /// Notes about this agent's part of the load, in sentences.
    pub notes: Vec<String>,
}

impl LoadPart {
    /// Adds the results of another agent or thread. Of two values for the measured window, such as its length, keeps
    /// the larger. Counts and histograms are added.
    pub fn merge(&mut self, other: Self) {
        self.total.merge(&other.total);
        self.measured.merge(&other.measured);
        self.measured_s = self.measured_s.max(other.measured_s);
        self.measured_at_s = self.measured_at_s.max(other.measured_at_s);
        self.late_s = self.late_s.max(other.late_s);
        self.offered += other.offered;
        self.in_flight_s += other.in_flight_s;
        self.cpu_us = (self.cpu_us.0 + other.cpu_us.0, self.cpu_us.1 + other.cpu_us.1);
        let slots = self.slot_rates.len().max(other.slot_rates.len());
        self.slot_rates.resize(slots, 0.0);
        self.slot_rates.iter_mut().zip(&other.slot_rates).for_each(|(a, b)| *a += b);
        let slots = self.slot_times.len().max(other.slot_times.len());
        self.slot_times.resize(slots, SlotHist::default());
        self.slot_times.iter_mut().zip(&other.slot_times).for_each(|(a, b)| a.merge(b));
        if let Some(opened) = other.opened {
            self.opened.get_or_insert_default().merge(opened);
        }
        self.stream_limit = self.stream_limit.into_iter().chain(other.stream_limit).min();
        if let Some(quic) = other.quic {
            self.quic.get_or_insert_default().merge(quic);
        }
        let shortest = |a: f64, b: f64| a.min(b);
        self.closes_idle_after_s =
            self.closes_idle_after_s.into_iter().chain(other.closes_idle_after_s).reduce(shortest);
        match (&mut self.ended_together, other.ended_together) {
            (Some(own), Some(other)) => own.merge(other),
            (own, other) => *own = own.or(other),
        }
        self.tenths.merge(&other.tenths);
        self.pauses.extend(other.pauses);
        self.held_up.extend(other.held_up);
        for (name, hist) in other.histograms {
            match self.histograms.entry(name) {
                Entry::Vacant(place) => drop(place.insert(hist)),
                Entry::Occupied(mut place) => place.get_mut().absorb(hist),
            }
        }
        self.service_unanswered.merge(&other.service_unanswered);
        // Moves the histograms of the other agent where possible, instead of copying them, because each histogram is
        // large.
        let mut classes = other.classes.into_iter();
        self.classes.iter_mut().zip(classes.by_ref()).for_each(|(a, b)| a.merge(b));
        self.classes.extend(classes);
        if let Some(streams) = other.streams {
            self.streams.get_or_insert_default().merge(streams);
        }
        TracedRequest::merge(&mut self.slowest_traces, other.slowest_traces);
        let mut addresses = other.addresses.into_iter();
        self.addresses.iter_mut().zip(addresses.by_ref()).for_each(|(a, b)| a.merge(b));
        self.addresses.extend(addresses);
        FirstFailure::merge(&mut self.first_failures, other.first_failures);
        for note in other.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }
}
