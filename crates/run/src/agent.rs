//! What conductor and agent say to each other: JSON lines, nothing shared, no common clock but the start time.
//!
//! An agent is `loadline agent`: it reads one [`AgentSpec`] line, then [`AgentCommand`] lines, on standard input, and
//! writes [`AgentReport`] lines on standard output. Standard input that ends means: stop now and report.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ColdPart, ColdPlan, Hist, LoadPlan, Tally};

/// The first line that an agent reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "agent", rename_all = "kebab-case")]
pub enum AgentSpec {
    /// Generate load.
    Load {
        /// The share of the load that this agent makes.
        plan: LoadPlan,
        /// The server.
        addr: SocketAddr,
        /// Start of the load, nanoseconds since the epoch (CLOCK_REALTIME); in the past means now.
        start_at_ns: u64,
    },
    /// Serve.
    Serve(ServePlan),
    /// Hold cold connections until told to stop.
    Cold {
        /// How many, and how they come about.
        plan: ColdPlan,
        /// The server.
        addr: SocketAddr,
    },
}

/// How a reference server is to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServePlan {
    /// Row of `SERVICES`: `http`, `echo`, …
    pub service: String,
    /// Row of `MODELS`: `epoll`, `uring`, …; `auto` takes the one that needs the least processor where it is allowed.
    pub model: String,
    /// Row of `STRATEGIES`; empty for none.
    pub strategy: String,
    /// Address to listen on; port 0 picks one, which the report names.
    pub listen: String,
    /// Worker threads.
    pub threads: u32,
    /// Listen backlog.
    pub backlog: u32,
    /// Files are served from here; absent serves the built-in page of `body_bytes`.
    pub root: Option<String>,
    /// Length of the built-in page.
    pub body_bytes: u64,
    /// Processors the server may run on; empty for all.
    pub cpus: Vec<u32>,
    /// Further options of service, model and strategy by name, as text.
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

/// Where an agent's load is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Phase {
    /// Load is on, nothing is kept.
    #[default]
    WarmUp = 0,
    /// Load is on, everything is kept.
    Measure = 1,
    /// No new requests, answers are awaited.
    Drain = 2,
}

/// The further lines that an agent reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum AgentCommand {
    /// Enter a phase. A load agent ends by itself when its drain is over.
    Enter {
        /// The phase.
        phase: Phase,
    },
    /// A server says what it counted so far; a load agent does nothing.
    Count,
    /// Stop at once and report.
    Stop,
}

/// The lines that an agent writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum AgentReport {
    /// Ready: a server listens, a generator has its sockets and memory.
    Ready {
        /// Process id.
        pid: u32,
        /// The address that a server listens on.
        listening: Option<SocketAddr>,
        /// The driver or model that is really used.
        io: String,
        /// What the user should know: a fallback, a limit that was raised or could not be.
        notes: Vec<String>,
    },
    /// A sign of life, ten a second while load is on.
    Tick(Tick),
    /// The end of a load agent.
    Part(Box<LoadPart>),
    /// The end of an agent that held cold connections.
    Held(ColdPart),
    /// What a server counted since it started, by name of its `Stats`, and why threads of it ended early.
    Counts {
        /// Counts and levels by name.
        counts: BTreeMap<String, u64>,
        /// Failures in sentences, the first few.
        failures: Vec<String>,
    },
    /// The agent cannot go on.
    Failed {
        /// What was tried, what happened and what to do.
        error: String,
    },
}

/// Progress of a load agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tick {
    /// Seconds since the load started.
    pub t_s: f64,
    /// Phase at that moment.
    pub phase: Phase,
    /// Requests sent so far.
    pub sent: u64,
    /// Responses completed so far.
    pub completed: u64,
    /// Failures so far.
    pub errors: u64,
    /// Established connections now.
    pub open: u64,
    /// Requests in flight now.
    pub in_flight: u64,
}

/// What one load agent found; parts of several agents merge into one trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LoadPart {
    /// Counts from first connect to end of drain.
    pub total: Tally,
    /// Counts of the measured window.
    pub measured: Tally,
    /// Length of the measured window, seconds.
    pub measured_s: f64,
    /// Begin of the measured window, seconds since the load started.
    pub measured_at_s: f64,
    /// Offered requests in the measured window, as the plan wanted it (fractions: the plan's rate times the time).
    pub offered: f64,
    /// Sum over time of requests in flight during the window, request-seconds: divided by its length, the concurrency.
    pub in_flight_s: f64,
    /// Processor time of the generator's threads in the measured window, microseconds: user, system.
    pub cpu_us: (f64, f64),
    /// Histograms of the measured window: `response`, `service`, `blocked`, `start_error`, `connect`.
    pub histograms: BTreeMap<String, Hist>,
    /// Notes in sentences.
    pub notes: Vec<String>,
}

impl LoadPart {
    /// Adds another agent's or thread's part. Lengths are kept as the longest; counts, sums and histograms add up.
    pub fn merge(&mut self, other: &Self) {
        self.total.merge(&other.total);
        self.measured.merge(&other.measured);
        self.measured_s = self.measured_s.max(other.measured_s);
        self.measured_at_s = self.measured_at_s.max(other.measured_at_s);
        self.offered += other.offered;
        self.in_flight_s += other.in_flight_s;
        self.cpu_us = (self.cpu_us.0 + other.cpu_us.0, self.cpu_us.1 + other.cpu_us.1);
        for (name, hist) in &other.histograms {
            self.histograms.entry(name.clone()).or_default().merge(hist);
        }
        for note in &other.notes {
            if !self.notes.contains(note) {
                self.notes.push(note.clone());
            }
        }
    }
}
