//! What was concluded: types only. Judge fills them, report prints them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Reading;

/// Everything that was concluded from a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Findings {
    /// Highest completed rate that holds the objective.
    pub capacity: Option<Capacity>,
    /// Where more clients stop bringing more throughput.
    pub knee: Option<Knee>,
    /// What stops it.
    pub bottleneck: Bottleneck,
    /// The claims of an experiment, computed.
    pub checks: Vec<Check>,
    /// What an experiment concludes, in sentences; kept when an old run is judged again.
    pub conclusions: Vec<String>,
    /// Fitted curves by name (`usl`, `linear`, …).
    pub fits: BTreeMap<String, Fit>,
    /// Whether the figures can be relied on.
    pub trust: Trust,
    /// The argument, step by step, in sentences.
    pub argument: Vec<String>,
}

/// The highest completed rate that holds the objective.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Capacity {
    /// Requests per second.
    #[serde(deserialize_with = "crate::nan::number")]
    #[schemars(with = "crate::nan::Number")]
    pub rate: f64,
    /// The lowest offered rate at which the objective failed; absent when none was reached.
    pub failed_at: Option<f64>,
    /// How it failed there, in words with figures: `p99 was 30 ms`.
    pub failed_why: Option<String>,
    /// The objective in words: `p99 <= 20 ms and errors <= 0.1 %`.
    pub objective: String,
    /// How it was found, and what limits its accuracy.
    pub method: String,
    /// Whether the objective held at `rate`; false when even the lowest tried load broke it.
    pub held: bool,
}

/// N* = R1 * Xmax (source 0 and 3).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Knee {
    /// N*, requests in flight.
    #[serde(deserialize_with = "crate::nan::number")]
    #[schemars(with = "crate::nan::Number")]
    pub concurrency: f64,
    /// Response time with one client, microseconds.
    #[serde(deserialize_with = "crate::nan::number")]
    #[schemars(with = "crate::nan::Number")]
    pub r1_us: f64,
    /// Highest completed rate, requests per second.
    #[serde(deserialize_with = "crate::nan::number")]
    #[schemars(with = "crate::nan::Number")]
    pub x_max: f64,
    /// The smallest concurrency that was measured to reach 95 % of `x_max`.
    pub reached_at: Option<f64>,
}

/// The verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Bottleneck {
    /// One id of [`BOTTLENECKS`].
    pub id: String,
    /// 0 (a guess) to 1 (every condition shown by counters of the right side).
    #[serde(deserialize_with = "crate::nan::number")]
    #[schemars(with = "crate::nan::Number")]
    pub confidence: f64,
    /// The verdict in one sentence.
    pub sentence: String,
    /// Why, line by line.
    pub evidence: Vec<Evidence>,
    /// What it is not, and why.
    pub ruled_out: Vec<RuledOut>,
    /// What would stop it next.
    pub next: Option<NextBottleneck>,
    /// What could not be read and would have made the verdict surer.
    pub missing: Vec<String>,
    /// What a person can do about it, in sentences.
    pub advice: Vec<String>,
}

impl Default for Bottleneck {
    fn default() -> Self {
        Self {
            id: "unknown".into(),
            confidence: 0.0,
            sentence: String::new(),
            evidence: Vec::new(),
            ruled_out: Vec::new(),
            next: None,
            missing: Vec::new(),
            advice: Vec::new(),
        }
    }
}

/// One line of evidence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Evidence {
    /// The line as a person reads it.
    pub text: String,
    /// The counter or cost id it rests on.
    pub counter: String,
    /// Its value.
    pub value: Option<f64>,
    /// Unit of value and limit.
    pub unit: String,
    /// Which side, host and instance: `server 127.0.0.1 nginx:1234`.
    #[serde(rename = "where")]
    pub place: String,
    /// What the value is held against.
    pub limit: Option<f64>,
}

/// A bottleneck that it is not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RuledOut {
    /// One id of [`BOTTLENECKS`].
    pub id: String,
    /// Why, with figures.
    pub why: String,
}

/// The bottleneck behind the bottleneck.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NextBottleneck {
    /// One id of [`BOTTLENECKS`].
    pub id: String,
    /// The rate at which it would bind, requests per second, where that can be computed.
    pub rate: Option<f64>,
    /// Why, with figures.
    pub why: String,
}

/// One claim of an experiment, computed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Check {
    /// The claim.
    pub name: String,
    /// What came out.
    #[serde(deserialize_with = "crate::nan::number")]
    #[schemars(with = "crate::nan::Number")]
    pub value: f64,
    /// What it is held against.
    #[serde(deserialize_with = "crate::nan::number")]
    #[schemars(with = "crate::nan::Number")]
    pub limit: f64,
    /// Whether it held.
    pub pass: bool,
    /// How to read the comparison: `at least`, `at most`, `within 2 % of`.
    pub relation: String,
}

/// A fitted curve.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Fit {
    /// The formula, with the names of the coefficients.
    pub formula: String,
    /// Coefficients by name.
    #[serde(deserialize_with = "crate::nan::map")]
    #[schemars(with = "crate::nan::Map")]
    pub coefficients: BTreeMap<String, f64>,
    /// 95 % intervals of the coefficients.
    pub intervals: BTreeMap<String, Interval>,
    /// Share of the variance explained.
    #[serde(deserialize_with = "crate::nan::number")]
    #[schemars(with = "crate::nan::Number")]
    pub r2: f64,
    /// Points fitted.
    pub points: usize,
    /// Whether it can be used, in words.
    pub quality: String,
}

/// A range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Lower end.
    #[serde(deserialize_with = "crate::nan::number")]
    #[schemars(with = "crate::nan::Number")]
    pub low: f64,
    /// Upper end.
    #[serde(deserialize_with = "crate::nan::number")]
    #[schemars(with = "crate::nan::Number")]
    pub high: f64,
}

/// A cost per request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// What one request costs.
    pub per_request: Reading,
    /// Unit of it.
    pub unit: String,
}

/// Whether the figures can be relied on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Trust {
    /// What the generator alone reached with the null driver, requests per second, when it was measured.
    pub generator_ceiling: Option<f64>,
    /// Whether the generator was at its own limit in the decisive trial.
    pub generator_limited: bool,
    /// What makes the figures weaker than they look, in sentences: shared processors, laws broken, lost samples.
    pub warnings: Vec<String>,
    /// What was checked and held, in sentences.
    pub held: Vec<String>,
    /// Processor time of the probe as a share of one processor.
    pub probe_share: Option<f64>,
}

/// One word of the verdict's vocabulary.
#[derive(Clone, Copy, Debug)]
pub struct BottleneckSpec {
    /// The id.
    pub id: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

/// The row of a bottleneck.
pub fn bottleneck(id: &str) -> Option<&'static BottleneckSpec> {
    BOTTLENECKS.iter().find(|b| b.id == id)
}

const fn b(id: &'static str, meaning: &'static str) -> BottleneckSpec {
    BottleneckSpec { id, meaning }
}

/// Every id that a verdict can name.
pub const BOTTLENECKS: &[BottleneckSpec] = &[
    b("server-cpu", "all processors that the server may use are full"),
    b("server-single-thread", "one thread of the server is full while other processors idle"),
    b("server-cpu-quota", "the server's control group is throttled by its processor quota"),
    b(
        "server-concurrency",
        "a fixed number of workers, a lock or a wait downstream: processors idle while the service time stays constant",
    ),
    b("server-fds", "the server has no descriptors left"),
    b("server-disk", "the server waits for its disk"),
    b("server-memory", "the server's host or control group is short of memory"),
    b("server-rate-limit", "the server refuses on purpose (429, 503 or the like)"),
    b("accept-queue", "the server accepts connections too slowly for its listen backlog, and connects are dropped"),
    b("network-medium", "the link is full"),
    b("network-loss", "packets are lost and sent again"),
    b("tcp-window", "a window of TCP is too small for the distance"),
    b("tcp-delayed-ack", "Nagle's algorithm waits for a delayed acknowledgement, about 40 ms a request"),
    b("client-cpu", "the generator has no processor time left"),
    b("client-ports", "the generator has no local ports left"),
    b("client-fds", "the generator has no descriptors left"),
    b("not-saturated", "nothing was at its limit in the range that was tried"),
    b("unknown", "the evidence does not single out one cause"),
];
