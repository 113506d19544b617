//! Protocol between the conductor (the loadline process that the user started) and its agents. Conductor and agents
//! exchange JSON lines, without shared memory or a common clock. A lever is a temporary change that an experiment
//! makes, such as slowing a CPU.
//!
//! An agent is a process `loadline agent`. The agent writes [`Hello`], reads one [`AgentSpec`](crate::AgentSpec) line
//! and then [`AgentCommand`] lines from standard input, and writes [`AgentReport`] lines to standard output. After its
//! last report, a load agent waits for another [`AgentSpec`](crate::AgentSpec); other agents end. Times refer to the
//! agent's own CLOCK_MONOTONIC, and the conductor measures the offset of this clock. An agent stops when its standard
//! input ends. An agent also stops when it gets no input for [`SILENCE_TIMEOUT_S`], unless it is a server on the
//! conductor's own host.

pub(crate) mod agent;
pub(crate) mod lever;
pub(crate) mod load_part;
pub(crate) mod observer;
mod pairs;
pub(crate) mod progress;
pub(crate) mod question;
pub(crate) mod sanitize;
pub(crate) mod watch;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::{
    ColdPart, Incident, LeverCheck, LeverPart, LoadPart, Observed, Phase, Recording, ServerAnswer, Tick, WatchedHost,
};

/// Version of the protocol. The conductor and its agents must have the same version of the protocol.
pub const WIRE_VERSION: u32 = 12;

/// Maximum length of a line in bytes, except for lines that [`is_long_line`] accepts.
pub const MAX_LINE_BYTES: usize = 64 << 10;

/// Maximum length of a line with results, a recording or an answer about a server, bytes.
pub const MAX_LONG_LINE_BYTES: usize = 16 << 20;

/// Time without input, in seconds, after which a conductor and its agent each consider the other one lost. Conductor
/// and agent each send a heartbeat every second.
pub const SILENCE_TIMEOUT_S: f64 = 5.0;

/// Returns true if the beginning of a line shows that the line may be as long as [`MAX_LONG_LINE_BYTES`].
pub fn is_long_line(begin: &[u8]) -> bool {
    const LONG: [&[u8]; 4] = [br#"{"is":"part""#, br#"{"is":"observed""#, br#"{"is":"rows""#, br#"{"is":"server""#];
    LONG.iter().any(|long| begin.starts_with(long))
}

/// First line of an agent, which describes the agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`WIRE_VERSION`] of the agent's program.
    pub wire: u32,
    /// Version of the agent's program.
    #[serde(default)]
    pub version: String,
    /// Time on the agent's monotonic clock when the agent wrote this line, nanoseconds.
    #[serde(default)]
    pub mono_ns: u64,
    /// Boot id of the machine, equal for all namespaces of one kernel.
    #[serde(default)]
    pub machine: String,
    /// Number of CPUs that the agent may use.
    #[serde(default)]
    pub cpus: u32,
    /// Maximum number of file descriptors of the agent.
    #[serde(default)]
    pub descriptors: u64,
    /// Process ID of the agent on its host.
    #[serde(default)]
    pub pid: u32,
}

/// Commands to an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum AgentCommand {
    /// Heartbeat, once a second. Most agents end after [`SILENCE_TIMEOUT_S`] without any input.
    Heartbeat,
    /// Request for the time on the agent's clock.
    Ping {
        /// Number that the agent's response repeats.
        n: u32,
    },
    /// Start of the load.
    Start {
        /// Start time on the agent's monotonic clock, nanoseconds; a time in the past means now.
        at_ns: u64,
    },
    /// Tells a load agent to change the phase of its load. A load agent reports its results when its drain phase ends.
    Enter {
        /// Phase of the load that begins now.
        phase: Phase,
        /// Time of the change on the agent's monotonic clock, nanoseconds; absent to change as soon as possible.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_ns: Option<u64>,
    },
    /// New rate of an open loop, chosen by the user during the load. An agent ignores the command if its load is not an
    /// open loop, or has planned stages.
    Rate {
        /// Factor by which the planned rate is multiplied. The agent limits the factor to the range from 0.001 to 1000.
        factor: f64,
    },
    /// Switches a lever on or off between two measurements. After each switch, the lever agent answers with
    /// [`AgentReport::Ready`].
    Switch {
        /// True to switch the lever on, false to switch it off.
        on: bool,
    },
    /// Tells an observer to start the samples of a trial, or a lever agent to start its slots.
    Follow {
        /// For an observer: additional processes to observe. For a lever agent: processes that replace the processes in
        /// the lever's plan.
        pids: Vec<u32>,
        /// Zero point of the trial's times on the agent's monotonic clock, nanoseconds: the start of the load.
        origin_ns: u64,
        /// Seconds between two samples.
        interval_s: f64,
    },
    /// Request to an observer for a sample of all counters.
    Edge {
        /// Time of the sample on the agent's monotonic clock, nanoseconds; a time in the past means now.
        at_ns: u64,
    },
    /// Request to an observer for its newest samples, for a live display.
    Latest,
    /// Request to an observer for its data so far. The observer answers, and continues to observe.
    SoFar,
    /// Tells an observer that the trial has ended; the observer then reports its data.
    Collect,
    /// Request to a server for its counts so far. Load agents ignore a request for counts.
    Count,
    /// Request to an agent to stop at once and to report.
    Stop,
}

/// Reports of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum AgentReport {
    /// First line of an agent, which the agent sends before it reads any input.
    Hello(Hello),
    /// Request for the bytes of the program loadline on standard input, before [`Hello`]. The script that starts an
    /// agent on a host without a copy of the program sends this request.
    Wants {
        /// Kernel and machine type of the host, from `uname -sm`.
        system: String,
    },
    /// Heartbeat, once a second.
    Heartbeat,
    /// Response to [`AgentCommand::Ping`].
    Pong {
        /// Number in the request to which this report responds.
        n: u32,
        /// Time on the agent's monotonic clock when the agent responded, nanoseconds.
        mono_ns: u64,
    },
    /// Report that an observer is ready. The report contains facts about the observer's host, and about the server that
    /// the observer found there.
    Watching(Box<WatchedHost>),
    /// All incidents of the watched processes so far. The observer sends all incidents again after each change.
    Incidents {
        /// All incidents of the watched processes so far.
        incidents: Vec<Incident>,
    },
    /// Report that an observer took the requested sample.
    Edge {
        /// Time of the sample, seconds since the start of the load.
        t_s: f64,
    },
    /// Newest samples of a running trial, only of the counters that show how busy resources are.
    Latest(Box<Observed>),
    /// Next part of a recording that is too long for one line. The report [`AgentReport::Observed`] contains the last
    /// part of the recording.
    Rows(Box<Recording>),
    /// Observations of one trial.
    Observed(Box<Observed>),
    /// Report that the agent is ready: a server listens, or a generator has its sockets and memory.
    Ready {
        /// ID of the process that is ready.
        pid: u32,
        /// Address that a server listens on.
        listening: Option<SocketAddr>,
        /// I/O driver or I/O model that the agent uses.
        io: String,
        /// Notes for the user, for example about another driver than requested, or about a limit that could not be
        /// raised.
        notes: Vec<String>,
    },
    /// Progress, ten times a second during a load.
    Tick(Tick),
    /// Final results of a load agent.
    Part(Box<LoadPart>),
    /// Answer to a question about the server.
    Server(Box<ServerAnswer>),
    /// Report that a lever works on the agent's host. If the lever does not work, the agent reports
    /// [`AgentReport::Failed`] instead.
    LeverWorks(LeverCheck),
    /// Final results of a lever agent.
    Lever(LeverPart),
    /// Final results of an agent with cold connections.
    Held(ColdPart),
    /// Counts of a server since its start, with the names in the type `Stats` of the crate `serve`, and the reasons why
    /// threads ended early.
    Counts {
        /// Counts and gauges by name.
        counts: BTreeMap<String, u64>,
        /// The first few failures, in sentences.
        failures: Vec<String>,
    },
    /// Report that the agent failed.
    Failed {
        /// Attempted operation, error, and advice to the user.
        error: String,
    },
}
