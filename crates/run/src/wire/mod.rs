//! What conductor and agent say to each other: JSON lines, nothing shared, no common clock.
//!
//! An agent is `loadline agent`: it says [`Hello`], reads one [`AgentSpec`](crate::AgentSpec) line, then [`AgentCommand`]
//! lines, on standard input, and writes [`AgentReport`] lines on standard output. One that made load waits for another
//! [`AgentSpec`](crate::AgentSpec) behind its part; any other ends. Moments are of the agent's own
//! CLOCK_MONOTONIC, whose offset the conductor measures. Standard input that ends, or is silent for [`SILENCE_S`], means:
//! stop now.

pub(crate) mod agent;
pub(crate) mod lever;
pub(crate) mod observer;
pub(crate) mod sanitize;
pub(crate) mod watch;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::{ColdPart, Incident, LeverFound, LeverPart, LoadPart, Observed, Phase, Recording, Tick, WatchedHost};

/// Version of these lines. Both ends must have the same.
pub const WIRE: u32 = 7;

/// Longest line but those of [`is_long`], bytes.
pub const LINE_BYTES: usize = 64 << 10;

/// Longest line of a part or a recording, bytes.
pub const PART_BYTES: usize = 16 << 20;

/// After so long without a word, seconds, one end takes the other for lost. Signs of life come once a second.
pub const SILENCE_S: f64 = 5.0;

/// Whether a line, by its beginning, is one that may have [`PART_BYTES`].
pub fn is_long(begin: &[u8]) -> bool {
    [&br#"{"is":"part""#[..], br#"{"is":"observed""#, br#"{"is":"rows""#].iter().any(|long| begin.starts_with(long))
}

/// Who an agent is: the first line that it writes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`WIRE`] of its program.
    pub wire: u32,
    /// Version of its program.
    #[serde(default)]
    pub version: String,
    /// Its monotonic clock at that moment, nanoseconds.
    #[serde(default)]
    pub mono_ns: u64,
    /// This boot of its machine: the same for all namespaces of one kernel.
    #[serde(default)]
    pub machine: String,
    /// Processors that it may use.
    #[serde(default)]
    pub cpus: u32,
    /// Descriptors that it may have at most.
    #[serde(default)]
    pub descriptors: u64,
    /// Its process id on its host.
    #[serde(default)]
    pub pid: u32,
}

/// The further lines that an agent reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum AgentCommand {
    /// A sign of life, one a second: an agent that hears nothing for [`SILENCE_S`] ends by itself.
    Beat,
    /// Asks for the agent's clock.
    Ping {
        /// Comes back in the answer.
        n: u32,
    },
    /// The load begins.
    Start {
        /// When, on the agent's monotonic clock, nanoseconds; in the past means now.
        at_ns: u64,
    },
    /// Enter a phase. A load agent hands over its part when its drain is over.
    Enter {
        /// The phase.
        phase: Phase,
        /// When, on the agent's monotonic clock, nanoseconds; absent means as soon as all threads can.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_ns: Option<u64>,
    },
    /// The rate of an open loop is to be so many times that of its plan from now on: somebody changed it by hand. A load of
    /// which the plan says how its rate runs, or that is no open loop, goes on as it was.
    Rate {
        /// Times the plan's rate; taken as 0.001 to 1000.
        factor: f64,
    },
    /// An observer begins to sample for a trial; a lever's slots begin.
    Follow {
        /// Processes besides those of the spec; a lever's are these instead of its plan's, where there are some.
        pids: Vec<u32>,
        /// The moment that times of the trial count from, on the agent's monotonic clock, nanoseconds.
        origin_ns: u64,
        /// Seconds between two samples.
        interval_s: f64,
    },
    /// An observer takes a full sample.
    Edge {
        /// When, on the agent's monotonic clock, nanoseconds; in the past means now.
        at_ns: u64,
    },
    /// An observer says what its newest samples are: somebody looks.
    Glance,
    /// An observer hands over what it saw so far, and goes on.
    SoFar,
    /// An observer ends the trial and hands over what it saw.
    Collect,
    /// A server says what it counted so far; a load agent does nothing.
    Count,
    /// Stop at once and report.
    Stop,
}

/// The lines that an agent writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum AgentReport {
    /// The first line, before anything was read.
    Hello(Hello),
    /// Before the hello, by the script that starts an agent where its program is not yet: the program's bytes are to follow
    /// on standard input.
    Wants {
        /// Kernel and processor of the host, as `uname -sm` says.
        system: String,
    },
    /// A sign of life, one a second.
    Beat,
    /// The answer to a [`AgentCommand::Ping`].
    Pong {
        /// As it was asked.
        n: u32,
        /// The agent's monotonic clock, nanoseconds.
        mono_ns: u64,
    },
    /// An observer is ready: this is its host, and what it found there.
    Watching(Box<WatchedHost>),
    /// What happened to the processes so far, told when it changes.
    Incidents {
        /// All of them.
        incidents: Vec<Incident>,
    },
    /// An observer took the sample that it was asked for.
    Edge {
        /// When, seconds since the origin of the trial.
        t_s: f64,
    },
    /// The newest samples of the counters that tell what is busy, while the trial goes on.
    Glance(Box<Observed>),
    /// The first samples of what an observer saw, where they are too many for one line: the later ones follow, the last of them with
    /// all else in [`AgentReport::Observed`].
    Rows(Box<Recording>),
    /// What an observer saw in a trial.
    Observed(Box<Observed>),
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
    /// A lever can be pulled on the agent's host; where it cannot, that is [`AgentReport::Failed`].
    Found(LeverFound),
    /// The end of an agent that pulled a lever.
    Lever(LeverPart),
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
