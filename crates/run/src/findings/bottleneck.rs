//! Bottlenecks and the evidence for them.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::{Certainty, FigureUnit, WaitsFor};

/// Verdict on the bottleneck, with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Bottleneck {
    /// ID of the bottleneck, one of [`BOTTLENECKS`].
    pub id: String,
    /// Confidence, from 0 (a guess) to 1 (counters on the side of the bottleneck show every condition of the verdict).
    #[serde(with = "Figure")]
    pub confidence: f64,
    /// Level of certainty (a word) for the number in `confidence`.
    pub sureness: Certainty,
    /// The verdict in one sentence.
    pub sentence: String,
    /// Evidence for the verdict. Each entry is one line of text.
    pub evidence: Vec<Evidence>,
    /// Ruled-out bottlenecks, with the reasons.
    pub ruled_out: Vec<RuledOut>,
    /// Bottleneck that would limit the server if this bottleneck were removed; absent if it is unknown.
    pub next: Option<NextBottleneck>,
    /// Missing data that would have made the verdict more certain.
    pub missing: Vec<String>,
    /// Advice for the reader, in sentences.
    pub advice: Vec<String>,
    /// Upstream service that the server waits for, if one was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<WaitsFor>,
    /// True if requests use the CPU only one at a time, although different threads handle them. A lock, for example the
    /// global lock of an interpreter, lets only one thread at a time use the CPU.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub serial: bool,
    /// Decisive signals, each with the value at which the verdict would change. The signal that is closest to its
    /// threshold comes first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub margins: Vec<Margin>,
    /// Counts of processes, threads or connections that match the server's number of concurrent requests.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counted: Vec<crate::Counted>,
    /// Reasons that lowered the confidence in the verdict. loadline appends the reasons to the verdict's sentence only
    /// at the end of its analysis, because an experiment may still raise the confidence.
    #[serde(skip)]
    pub caveats: Vec<Caveat>,
}

/// A reason that lowers the confidence of a verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Caveat {
    /// Highest confidence that the verdict may have while this reason applies, 0 to 1.
    pub most: f64,
    /// Words that describe this reason, and that loadline appends to the sentence of the verdict.
    pub words: String,
    /// True if loadline appends `words` to the verdict's sentence at any confidence.
    pub always_told: bool,
}

impl Default for Bottleneck {
    fn default() -> Self {
        Self {
            id: "unknown".into(),
            confidence: 0.0,
            sureness: Certainty::Undecided,
            sentence: String::new(),
            evidence: Vec::new(),
            ruled_out: Vec::new(),
            next: None,
            missing: Vec::new(),
            advice: Vec::new(),
            waits_for: None,
            serial: false,
            margins: Vec::new(),
            counted: Vec::new(),
            caveats: Vec::new(),
        }
    }
}

/// One line of evidence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Evidence {
    /// The line of evidence as text.
    pub text: String,
    /// ID of the counter or cost that the evidence comes from.
    pub counter: String,
    /// Value of the counter or cost.
    pub value: Option<f64>,
    /// Unit of `value` and `limit`.
    pub unit: FigureUnit,
    /// Side, host and counter instance, for example `server 127.0.0.1 nginx:1234`.
    #[serde(rename = "where")]
    pub place: String,
    /// Limit that the value is compared with.
    pub limit: Option<f64>,
}

/// A signal that decided the verdict, and the value at which the verdict would change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Margin {
    /// Name of the signal that decided the verdict.
    pub signal: String,
    /// Measured value of the signal.
    #[serde(with = "Figure")]
    pub value: f64,
    /// Lower end of the 95 % interval of `value`.
    #[serde(with = "Figure")]
    pub low: f64,
    /// Upper end of the 95 % interval of `value`.
    #[serde(with = "Figure")]
    pub high: f64,
    /// Value beyond which the verdict would be a different one.
    #[serde(with = "Figure")]
    pub threshold: f64,
    /// Verdict that loadline would give if the value were beyond `threshold`, one ID of [`BOTTLENECKS`].
    pub would_be: String,
}

/// A ruled-out bottleneck.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RuledOut {
    /// ID of the bottleneck that was ruled out, one of [`BOTTLENECKS`].
    pub id: String,
    /// Reason why the bottleneck was ruled out, with figures.
    pub why: String,
}

/// The bottleneck that would limit the server if the current bottleneck were removed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct NextBottleneck {
    /// ID of the next bottleneck, one of [`BOTTLENECKS`].
    pub id: String,
    /// Rate at which this bottleneck would limit the server, requests per second; absent if it cannot be computed.
    pub rate: Option<f64>,
    /// Reason why this bottleneck would be the next one, with figures.
    pub why: String,
}

/// A bottleneck that a verdict can name.
#[derive(Clone, Copy, Debug)]
pub struct BottleneckSpec {
    /// Identifier of the bottleneck in run.json.
    pub id: &'static str,
    /// Meaning of the verdict, in words.
    pub meaning: &'static str,
}

/// Returns the row of [`BOTTLENECKS`] with this ID; `None` if there is no such row.
pub fn bottleneck(id: &str) -> Option<&'static BottleneckSpec> {
    BOTTLENECKS.iter().find(|b| b.id == id)
}

const fn b(id: &'static str, meaning: &'static str) -> BottleneckSpec {
    BottleneckSpec { id, meaning }
}

/// All bottlenecks that a verdict can name.
pub const BOTTLENECKS: &[BottleneckSpec] = &[
    b("server-cpu", "all CPUs that the server may use are full"),
    b("server-single-thread", "one thread of the server is full while other CPUs idle"),
    b("server-interrupts", "one CPU of the server's host handles all packets and is full of interrupts"),
    b("server-cpu-quota", "the server's control group is throttled by its CPU quota"),
    b(
        "server-concurrency",
        "a fixed number of workers, a lock or a wait for an upstream: CPUs idle while the service time stays constant",
    ),
    b("server-fds", "the server has no descriptors left"),
    b("server-disk", "the server waits for its disk"),
    b("server-memory", "the server's host or control group is short of memory"),
    b("server-rate-limit", "the server refuses on purpose (429, 503 or the like)"),
    b("accept-queue", "the server accepts connections too slowly for its listen backlog, and connects are dropped"),
    b("network-medium", "the link is full"),
    b("network-loss", "packets are lost and sent again"),
    b("tcp-window", "a window of TCP is too small for the distance"),
    b("tcp-delayed-ack", "Nagle's algorithm waits for a delayed acknowledgement, about 40 ms per request"),
    b("client-cpu", "the generator has no CPU time left"),
    b("client-ports", "the generator has no local ports left"),
    b("client-fds", "the generator has no descriptors left"),
    b("client-connects", "the generator itself opens a storm of connections that its load does not need"),
    b("not-saturated", "nothing was at its limit in the range that was tried"),
    b("unknown", "the evidence does not single out one cause"),
];
