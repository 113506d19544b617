//! What was concluded: types only. Judge fills them, report prints them.

pub(crate) mod classes;
pub(crate) mod comparison;
pub(crate) mod decisions;
pub(crate) mod device;
pub(crate) mod drift;
pub(crate) mod experiment_report;
pub(crate) mod figure_unit;
pub(crate) mod handshake_cost;
pub(crate) mod proof;
pub(crate) mod repeat;
pub(crate) mod users;
pub(crate) mod usl;
pub(crate) mod what_if;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::{
    BehindLoad, Device, Expected, Failure, FigureUnit, Limits, Needed, Outcome, Picks, Proof, Reading, Sureness,
    WaitsFor,
};

/// Everything that was concluded from a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Findings {
    /// The objective in figures.
    pub limits: Limits,
    /// The trials that the rest speaks of.
    pub picks: Picks,
    /// What each trial came to, in the order of `trials`.
    pub outcomes: Vec<Outcome>,
    /// How busy each device was in each trial, in the order of `trials`, the busiest device first. Not kept: whoever reads
    /// a run judges it again.
    #[serde(skip)]
    pub devices: Vec<Vec<Device>>,
    /// What each cost is, by its id. Not kept: whoever reads a run judges it again.
    #[serde(skip)]
    pub cost_names: BTreeMap<String, &'static str>,
    /// How far the decisive trial took the server; absent where there is none, or its load was somebody else's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<crate::LoadState>,
    /// What each host of generators came to, where several made the load.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<crate::HostFinding>,
    /// Whether client and server of the decisive trial use CPUs of one machine; absent where one side is not known. Other programs
    /// read it.
    pub one_host: Option<bool>,
    /// Why the run did not do what was asked for; absent where it did.
    pub failure: Option<Failure>,
    /// Highest completed rate that holds the objective.
    pub capacity: Option<Capacity>,
    /// The same in users, where the search was for those.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<crate::UsersFinding>,
    /// Where more clients stop bringing more throughput.
    pub knee: Option<Knee>,
    /// What stops it.
    pub bottleneck: Bottleneck,
    /// What stands behind the server, nearest first, and how busy it was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<BehindLoad>,
    /// The verdict held against an experiment on the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// What it would take to double the capacity, in the order in which it stops the server.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub what_if: Vec<Needed>,
    /// What each of several repeats came to by itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<crate::Repeat>,
    /// What the user expected, and what came of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expected: Vec<Expected>,
    /// What is concluded of each class of a mix of requests, in the order of the mix.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<crate::ClassFinding>,
    /// What the estimates of the classes' costs to the server rest on, where there are some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class_costs: Option<crate::ClassCosts>,
    /// What of the server grew all through a long window under one load: a leak looks like this.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drifts: Vec<crate::Drift>,
    /// What a TLS handshake costs, where it can be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_handshake_cpu_us: Option<crate::HandshakeCost>,
    /// Tables and charts of an experiment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experiment: Option<crate::ExperimentReport>,
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Capacity {
    /// Requests per second.
    #[serde(with = "Figure")]
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
    /// Lower end of the 95 % interval, requests per second; absent where the windows do not give one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Windows of the search that it rests on.
    #[serde(skip_serializing_if = "no_windows")]
    pub windows: usize,
    /// Coefficient of variation of the repeats' capacities, where there are repeats: the interval rests on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variation: Option<f64>,
    /// What time of theirs was left out because a machine stood still, seconds, and what the capacity is with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
}

impl Capacity {
    /// Half the interval as a share of the rate.
    pub fn precision(&self) -> Option<f64> {
        let half = (self.high? - self.low?) / (2.0 * self.rate);
        half.is_finite().then_some(half)
    }
}

fn no_windows(n: &usize) -> bool {
    *n == 0
}

/// Time that was not the server's: pauses of a generator's host, and processors that a hypervisor took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LeftOut {
    /// How much of the windows, seconds.
    #[serde(with = "Figure")]
    pub seconds: f64,
    /// Pauses in them.
    pub pauses: usize,
    /// The capacity by all of the time, requests per second; absent where too little was left without the pauses, so that the
    /// capacity itself is by all of the time.
    pub rate: Option<f64>,
    /// Its interval.
    pub interval: Option<Interval>,
}

/// N* = R1 * Xmax (source 0 and 3).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Knee {
    /// N*, requests in flight.
    #[serde(with = "Figure")]
    pub concurrency: f64,
    /// Response time with one client, microseconds.
    #[serde(with = "Figure")]
    pub r1_us: f64,
    /// Highest completed rate, requests per second.
    #[serde(with = "Figure")]
    pub x_max: f64,
    /// The smallest concurrency that was measured to reach 95 % of `x_max`.
    pub reached_at: Option<f64>,
}

/// The verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Bottleneck {
    /// One id of [`BOTTLENECKS`].
    pub id: String,
    /// 0 (a guess) to 1 (every condition shown by counters of the right side).
    #[serde(with = "Figure")]
    pub confidence: f64,
    /// The same as a step of certainty.
    pub sureness: Sureness,
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
    /// What the server waits for, where that was found behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<WaitsFor>,
}

impl Default for Bottleneck {
    fn default() -> Self {
        Self {
            id: "unknown".into(),
            confidence: 0.0,
            sureness: Sureness::Undecided,
            sentence: String::new(),
            evidence: Vec::new(),
            ruled_out: Vec::new(),
            next: None,
            missing: Vec::new(),
            advice: Vec::new(),
            waits_for: None,
        }
    }
}

/// One line of evidence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Evidence {
    /// The line as a person reads it.
    pub text: String,
    /// The counter or cost id it rests on.
    pub counter: String,
    /// Its value.
    pub value: Option<f64>,
    /// Unit of value and limit.
    pub unit: FigureUnit,
    /// Which side, host and instance: `server 127.0.0.1 nginx:1234`.
    #[serde(rename = "where")]
    pub place: String,
    /// What the value is held against.
    pub limit: Option<f64>,
}

/// A bottleneck that it is not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RuledOut {
    /// One id of [`BOTTLENECKS`].
    pub id: String,
    /// Why, with figures.
    pub why: String,
}

/// The bottleneck behind the bottleneck.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Check {
    /// The claim.
    pub name: String,
    /// What came out.
    #[serde(with = "Figure")]
    pub value: f64,
    /// What it is held against.
    #[serde(with = "Figure")]
    pub limit: f64,
    /// Whether it held.
    pub pass: bool,
    /// How the value is held against the limit.
    pub relation: Relation,
}

impl Check {
    /// A claim, computed: what is not a number passes nothing.
    pub fn of(name: impl Into<String>, value: f64, relation: Relation, limit: f64) -> Self {
        let pass = match relation {
            Relation::AtLeast => value >= limit,
            Relation::AtMost => value <= limit,
            Relation::Equals => value == limit,
        };
        Self { name: name.into(), value, limit, pass, relation }
    }
}

/// How a value is held against a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Relation {
    /// It must not be below it.
    #[serde(rename = "at least")]
    AtLeast,
    /// It must not be above it.
    #[serde(rename = "at most")]
    AtMost,
    /// It must be that; older runs say so in any other word.
    #[default]
    #[serde(rename = "equals", other)]
    Equals,
}

impl std::fmt::Display for Relation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::AtLeast => "at least",
            Self::AtMost => "at most",
            Self::Equals => "equals",
        })
    }
}

/// A fitted curve.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Fit {
    /// The formula, with the names of the coefficients.
    pub formula: String,
    /// Coefficients by name.
    #[serde(with = "Figure::<BTreeMap<String, f64>>")]
    pub coefficients: BTreeMap<String, f64>,
    /// 95 % intervals of the coefficients.
    pub intervals: BTreeMap<String, Interval>,
    /// Share of the variance explained.
    #[serde(with = "Figure")]
    pub r2: f64,
    /// Points fitted.
    pub points: usize,
    /// Whether it can be used, in words.
    pub quality: String,
}

/// A range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Interval {
    /// Lower end.
    #[serde(with = "Figure")]
    pub low: f64,
    /// Upper end.
    #[serde(with = "Figure")]
    pub high: f64,
}

/// A cost per request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Cost {
    /// What one request costs.
    pub per_request: Reading,
    /// Unit of it.
    pub unit: FigureUnit,
}

/// Whether the figures can be relied on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Trust {
    /// What the generator alone reached with the null driver, requests per second, when it was measured.
    pub generator_ceiling: Option<f64>,
    /// What the decisive trial completed as a share of that, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceiling_used: Option<f64>,
    /// Whether the generator was at its own limit in the decisive trial.
    pub generator_limited: bool,
    /// What makes the figures weaker than they look, in sentences: shared processors, laws broken, lost samples.
    pub warnings: Vec<String>,
    /// What was checked and held, in sentences.
    pub held: Vec<String>,
    /// Processor time of the probe as a share of one processor.
    pub probe_share: Option<f64>,
    /// Share of the run's time, 0 to 1, in which a trial was measured; the rest started, settled, drained and judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_share: Option<f64>,
    /// Where the run's time went.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spent>,
}

/// Where a run's time went, seconds. Only `measured_s` tells anything of the server under load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Spent {
    /// Windows of trials.
    #[serde(with = "Figure")]
    pub measured_s: f64,
    /// A look at both sides without load.
    #[serde(with = "Figure")]
    pub at_rest_s: f64,
    /// Agents, observers and the lead of the common start.
    #[serde(with = "Figure")]
    pub start_s: f64,
    /// Warm-ups.
    #[serde(with = "Figure")]
    pub settle_s: f64,
    /// From the end of a window until everything was collected.
    #[serde(with = "Figure")]
    pub drain_s: f64,
    /// All else: starting a server, first requests, judging, saving.
    #[serde(with = "Figure")]
    pub other_s: f64,
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
    b("server-cpu", "all CPUs that the server may use are full"),
    b("server-single-thread", "one thread of the server is full while other CPUs idle"),
    b("server-cpu-quota", "the server's control group is throttled by its CPU quota"),
    b(
        "server-concurrency",
        "a fixed number of workers, a lock or a wait downstream: CPUs idle while the service time stays the same",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_relation_are_those_of_older_runs() {
        for relation in [Relation::AtLeast, Relation::AtMost, Relation::Equals] {
            assert_eq!(serde_json::to_value(relation).unwrap(), relation.to_string());
            assert_eq!(serde_json::from_value::<Relation>(relation.to_string().into()).unwrap(), relation);
        }
        assert_eq!(serde_json::from_str::<Relation>(r#""within 2 % of""#).unwrap(), Relation::Equals);
    }

    #[test]
    fn what_is_no_number_passes_nothing() {
        for relation in [Relation::AtLeast, Relation::AtMost, Relation::Equals] {
            assert!(!Check::of("x", f64::NAN, relation, 1.0).pass && Check::of("x", 1.0, relation, 1.0).pass);
        }
        assert!(!Check::of("x", 0.9, Relation::AtLeast, 1.0).pass && !Check::of("x", 1.1, Relation::AtMost, 1.0).pass);
    }
}
