//! What to do, complete and checked before any load is sent. Flags and TOML files end in this one type.

use std::collections::BTreeMap;
use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Blocks, ColdPlan};

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

/// When requests are made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "loop", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Intensity {
    /// Closed loop: a fixed number of clients, each waits for its answer.
    Closed {
        /// Connections in all threads together (with `new_connections`: simple clients).
        connections: u32,
        /// Requests in flight on one connection.
        #[serde(default = "one")]
        pipeline: u32,
        /// Pause between an answer and the next request.
        #[serde(default)]
        think: ThinkTime,
    },
    /// Open loop: requests start when the arrival process says so, whatever the server does.
    Open {
        /// Requests per second over all threads.
        rate: f64,
        /// How the starts are spread.
        #[serde(default)]
        arrival: Arrival,
        /// Most connections the pool may grow to, over all threads.
        #[serde(default = "pool")]
        max_connections: u32,
    },
    /// S-Clients (source 1): D descriptors always connecting, each for at most T.
    SClients {
        /// D, over all threads.
        descriptors: u32,
        /// T in milliseconds; must exceed the longest round trip.
        connect_timeout_ms: f64,
        /// Pause between a descriptor becoming free and its next connect; none offers the most.
        #[serde(default)]
        think: ThinkTime,
        /// Connects start when this says so, each on one of the D descriptors; absent: as soon as a descriptor is free.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pace: Option<Pace>,
    },
}

/// An arrival process that S-Clients follow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pace {
    /// Connects per second over all threads; peaks should stay below D/T, or arrivals wait for a descriptor.
    pub rate: f64,
    /// How they are spread.
    #[serde(default)]
    pub arrival: Arrival,
}

fn is_zero(n: &f64) -> bool {
    *n == 0.0
}

const fn one() -> u32 {
    1
}

const fn pool() -> u32 {
    10_000
}

impl Default for Intensity {
    fn default() -> Self {
        Self::Closed { connections: 1, pipeline: 1, think: ThinkTime::default() }
    }
}

/// How arrivals of an open loop are spread in time. The rows of the `ARRIVALS` table of the load crate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Arrival {
    /// Equal gaps.
    Constant,
    /// Exponential gaps.
    #[default]
    Poisson,
    /// A mean rate with peaks (source 1): `peak` times the mean for a share `share` of each period.
    Bursty {
        /// Peak rate over mean rate, above 1.
        peak: f64,
        /// Share of time at peak (0 to 1); `peak * share` must not exceed 1.
        share: f64,
        /// Length of one period in seconds.
        period_s: f64,
    },
    /// Self-similar: superposed on-off sources with heavy-tailed periods.
    SelfSimilar {
        /// Hurst parameter, above 0.5 and below 1.
        hurst: f64,
    },
}

/// A pause with a mean and a distribution.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ThinkTime {
    /// Mean in milliseconds; 0 is no pause.
    pub mean_ms: f64,
    /// Exponentially distributed instead of constant.
    pub exponential: bool,
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

/// What is wrong with a plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The TOML text does not fit the plan.
    #[error("{file}: {message}")]
    Toml {
        /// File that was read.
        file: String,
        /// What does not fit, where, and the nearest right key.
        message: String,
    },
    /// A value is out of its range.
    #[error("{what} is {value}: {advice}")]
    Range {
        /// Which value, by its path in the plan.
        what: &'static str,
        /// What was given.
        value: String,
        /// What is possible.
        advice: &'static str,
    },
}

impl Plan {
    /// Reads a plan from TOML text. `file` is only named in errors.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, PlanError> {
        let plan: Self = toml::from_str(text)
            .map_err(|e| PlanError::Toml { file: file.into(), message: crate::suggest::toml_message(text, &e) })?;
        plan.check()?;
        Ok(plan)
    }

    /// Checks every range before any load is sent.
    pub fn check(&self) -> Result<(), PlanError> {
        self.load.check()?;
        let range = |ok: bool, what, value: f64, advice| {
            if ok { Ok(()) } else { Err(PlanError::Range { what, value: value.to_string(), advice }) }
        };
        range(
            (0.0..=1.0).contains(&self.objective.errors),
            "objective.errors",
            self.objective.errors,
            "give a share from 0 to 1, such as 0.1%",
        )?;
        let p99 = self.objective.p99_us.unwrap_or(1.0);
        range(p99 > 0.0 && p99.is_finite(), "objective.p99_us", p99, "give a time above zero, such as 20ms")?;
        range(
            (1.0..=86_400.0).contains(&self.search.budget_s),
            "search.budget_s",
            self.search.budget_s,
            "give 1 second to 24 hours",
        )?;
        let cold = &self.cold;
        let pace = if cold.connections == 0 { 1.0 } else { cold.rate };
        range((0.1..=1e6).contains(&pace), "cold.rate", pace, "give 0.1 to 1,000,000 connects a second")?;
        range(
            (0.0..=3.6e6).contains(&cold.trickle_ms),
            "cold.trickle_ms",
            cold.trickle_ms,
            "give a time up to one hour, or 0 for silence",
        )?;
        let interval = self.observe.interval_s;
        range((0.01..=3600.0).contains(&interval), "observe.interval_s", interval, "give 10 ms to 1 hour")
    }
}

impl LoadPlan {
    /// The phase of share `i` of `of` equal shares. Shares of shares come out even, too.
    pub fn phase_of(&self, i: u32, of: u32) -> f64 {
        (self.phase + f64::from(i)) / f64::from(of.max(1))
    }

    fn check_blocks(&self) -> Result<(), PlanError> {
        let Some(blocks) = &self.blocks else { return Ok(()) };
        let fits = matches!(self.intensity, Intensity::Closed { .. }) && matches!(self.protocol, Protocol::Echo { .. });
        let wrong = |what, value: String, advice| Err(PlanError::Range { what, value, advice });
        let rate = blocks.block_rate_bytes_per_s;
        match () {
            () if !fits || self.new_connections => wrong(
                "load.blocks",
                format!("for {}", self.protocol.name()),
                "blocks belong to a closed loop (--connections) of echo:// without --new-connections",
            ),
            () if !(1..=1_000_000).contains(&blocks.block) => {
                wrong("load.blocks.block", blocks.block.to_string(), "give 1 to 1,000,000 connections")
            }
            () if !(0.0..=1e12).contains(&rate) => {
                wrong("load.blocks.block_rate_bytes_per_s", rate.to_string(), "give bytes a second, 0 for no limit")
            }
            () => Ok(()),
        }
    }

    /// Checks every range of the load part.
    pub fn check(&self) -> Result<(), PlanError> {
        let range = |ok: bool, what, value: f64, advice| {
            if ok { Ok(()) } else { Err(PlanError::Range { what, value: value.to_string(), advice }) }
        };
        range((1..=1024).contains(&self.threads), "load.threads", f64::from(self.threads), "give 1 to 1024")?;
        range(
            (0.001..=86_400.0).contains(&self.duration_s),
            "load.duration_s",
            self.duration_s,
            "give 1 ms to 24 hours",
        )?;
        range(
            self.timeout_s > 0.0 && self.timeout_s.is_finite(),
            "load.timeout_s",
            self.timeout_s,
            "give a time above zero",
        )?;
        range((0.0..1.0).contains(&self.phase), "load.phase", self.phase, "give a share of a gap, 0 to below 1")?;
        self.check_blocks()?;
        let a_rate = |rate: f64| {
            range(
                rate > 0.0 && rate <= 1e8,
                "rate",
                rate,
                "give a rate above 0 and at most 100,000,000 requests a second",
            )
        };
        match &self.intensity {
            Intensity::Closed { connections, pipeline, .. } => {
                range(
                    (1..=1_000_000).contains(connections),
                    "connections",
                    f64::from(*connections),
                    "give 1 to 1,000,000",
                )?;
                range((1..=4096).contains(pipeline), "pipeline", f64::from(*pipeline), "give 1 to 4096")
            }
            Intensity::Open { rate, .. } => a_rate(*rate),
            Intensity::SClients { descriptors, connect_timeout_ms, think, pace } => {
                pace.as_ref().map_or(Ok(()), |pace| a_rate(pace.rate))?;
                range(
                    pace.is_none() || think.mean_ms == 0.0,
                    "think.mean_ms",
                    think.mean_ms,
                    "leave it out: S-Clients follow either think times or an arrival process",
                )?;
                range(
                    (1..=1_000_000).contains(descriptors),
                    "descriptors",
                    f64::from(*descriptors),
                    "give 1 to 1,000,000",
                )?;
                let t = *connect_timeout_ms;
                range(
                    (1.0..=600_000.0).contains(&t),
                    "connect_timeout_ms",
                    t,
                    "give 1 ms to 10 minutes; it must exceed the round trip",
                )
            }
        }
    }
}
