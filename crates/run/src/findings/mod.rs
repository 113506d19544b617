//! Conclusions of a run. Only types: judge fills them, report prints them.

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
    Certainty, Device, ExpectationResult, Failure, FigureUnit, Limits, Outcome, Picks, Proof, Reading, ResourceNeed,
    UpstreamLoad, WaitsFor,
};

/// All conclusions of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Findings {
    /// The objective as numbers.
    pub limits: Limits,
    /// Trials that the other findings describe.
    pub picks: Picks,
    /// Result of each trial, in the order of `trials`.
    pub outcomes: Vec<Outcome>,
    /// Busy devices of each trial, in the order of `trials`, the busiest first. Not stored: each reader judges the run
    /// again.
    #[serde(skip)]
    pub devices: Vec<Vec<Device>>,
    /// Short name of each cost, by cost id. Not stored: each reader judges the run again.
    #[serde(skip)]
    pub cost_names: BTreeMap<String, &'static str>,
    /// Load state of the server in the decisive trial. Absent without such a trial, or if the load was external.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<crate::LoadState>,
    /// Findings for each generator host, if several hosts made the load.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<crate::HostFinding>,
    /// Whether client and server share one machine's CPUs in the decisive trial. Absent if one side is unknown. For
    /// other programs.
    pub one_host: Option<bool>,
    /// Reason for a failed run; absent if the run succeeded.
    pub failure: Option<Failure>,
    /// Highest completed rate that holds the objective.
    pub capacity: Option<Capacity>,
    /// Capacity in users, if the search was for users.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<crate::UsersFinding>,
    /// Load beyond which more clients bring no more throughput.
    pub knee: Option<Knee>,
    /// The bottleneck.
    pub bottleneck: Bottleneck,
    /// Upstream services of the server, nearest first, and how busy they were.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<UpstreamLoad>,
    /// Result of the experiment that tests the verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// Resources needed to double the capacity, in the order in which they limit the server.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub what_if: Vec<ResourceNeed>,
    /// Result of each repeat.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<crate::Repeat>,
    /// The user's expectations and their results.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expected: Vec<ExpectationResult>,
    /// Findings for each class in a mix of requests, in the order of the mix.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<crate::ClassFinding>,
    /// Method behind the server cost per class, if there are such costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class_costs: Option<crate::ClassCosts>,
    /// Server quantities that grew throughout a long window under constant load, as a leak would.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drifts: Vec<crate::Drift>,
    /// CPU cost of a TLS handshake, if it can be measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_handshake_cpu_us: Option<crate::HandshakeCost>,
    /// Tables and charts of an experiment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experiment: Option<crate::ExperimentReport>,
    /// Checks of an experiment.
    pub checks: Vec<Check>,
    /// Conclusions of an experiment, in sentences. Kept when an old run is judged again.
    pub conclusions: Vec<String>,
    /// Fitted curves by name (`usl`, `linear`, …).
    pub fits: BTreeMap<String, Fit>,
    /// Reliability of the figures.
    pub trust: Trust,
    /// The argument for the verdict, one sentence per step.
    pub argument: Vec<String>,
}

/// Highest completed rate that holds the objective.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Capacity {
    /// Requests per second.
    #[serde(with = "Figure")]
    pub rate: f64,
    /// Lowest offered rate that failed the objective; absent if none failed.
    pub failed_at: Option<f64>,
    /// The broken limit there, in words: `p99 was 30 ms`.
    pub failed_why: Option<String>,
    /// The objective in words: `p99 <= 20 ms and errors <= 0.1 %`.
    pub objective: String,
    /// Method, and what limits its accuracy.
    pub method: String,
    /// Whether the objective held at `rate`. False if even the lowest tried load failed.
    pub held: bool,
    /// Lower end of the 95 % interval, requests per second; absent if the windows do not give an interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of the 95 % interval, requests per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Number of search windows behind the capacity.
    #[serde(skip_serializing_if = "no_windows")]
    pub windows: usize,
    /// Coefficient of variation of the repeats' capacities. With repeats, the interval comes from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variation: Option<f64>,
    /// Time left out because a machine stood still, and the capacity with that time included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<ExcludedTime>,
}

impl Capacity {
    /// Returns half the width of the interval as a share of the rate.
    pub fn precision(&self) -> Option<f64> {
        let half = (self.high? - self.low?) / (2.0 * self.rate);
        half.is_finite().then_some(half)
    }
}

fn no_windows(n: &usize) -> bool {
    *n == 0
}

/// Time that the server did not have: pauses of a generator's host, and CPU time taken by a hypervisor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ExcludedTime {
    /// Length of that time within the windows, seconds.
    #[serde(with = "Figure")]
    pub seconds: f64,
    /// Number of pauses.
    pub pauses: usize,
    /// Capacity with that time included, requests per second. Absent if too little time was left without the pauses;
    /// the capacity itself then includes them.
    pub rate: Option<f64>,
    /// Interval of that capacity.
    pub interval: Option<Interval>,
}

/// Knee of the throughput curve: N* = R1 × Xmax (sources 0 and 3).
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
    /// Lowest measured concurrency that reached 95 % of `x_max`.
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
    /// Confidence as a step.
    pub sureness: Certainty,
    /// The verdict in one sentence.
    pub sentence: String,
    /// Evidence, one entry per line.
    pub evidence: Vec<Evidence>,
    /// Ruled-out bottlenecks, with the reasons.
    pub ruled_out: Vec<RuledOut>,
    /// Bottleneck that would follow.
    pub next: Option<NextBottleneck>,
    /// Missing data that would have made the verdict more certain.
    pub missing: Vec<String>,
    /// Advice for the reader, in sentences.
    pub advice: Vec<String>,
    /// Upstream service that the server waits for, if one was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<WaitsFor>,
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
        }
    }
}

/// One line of evidence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Evidence {
    /// The line as text.
    pub text: String,
    /// Id of the counter or cost behind it.
    pub counter: String,
    /// Value of the counter or cost.
    pub value: Option<f64>,
    /// Unit of value and limit.
    pub unit: FigureUnit,
    /// Side, host and instance: `server 127.0.0.1 nginx:1234`.
    #[serde(rename = "where")]
    pub place: String,
    /// Limit that the value is compared with.
    pub limit: Option<f64>,
}

/// A ruled-out bottleneck.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RuledOut {
    /// One id of [`BOTTLENECKS`].
    pub id: String,
    /// Reason, with figures.
    pub why: String,
}

/// The bottleneck that would follow the current one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct NextBottleneck {
    /// One id of [`BOTTLENECKS`].
    pub id: String,
    /// Rate at which it would limit the server, requests per second, if that can be computed.
    pub rate: Option<f64>,
    /// Reason, with figures.
    pub why: String,
}

/// One check of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Check {
    /// The claim that is checked.
    pub name: String,
    /// Computed value.
    #[serde(with = "Figure")]
    pub value: f64,
    /// ExpectationResult value or bound.
    #[serde(with = "Figure")]
    pub limit: f64,
    /// Whether the check passed.
    pub pass: bool,
    /// Required relation between value and limit.
    pub relation: Relation,
}

impl Check {
    /// Makes a check. A value that is not a number never passes.
    pub fn new(name: impl Into<String>, value: f64, relation: Relation, limit: f64) -> Self {
        let pass = match relation {
            Relation::AtLeast => value >= limit,
            Relation::AtMost => value <= limit,
            Relation::Equals => value == limit,
        };
        Self { name: name.into(), value, limit, pass, relation }
    }
}

/// Relation between a value and a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Relation {
    /// The value must not be below the limit.
    #[serde(rename = "at least")]
    AtLeast,
    /// The value must not be above the limit.
    #[serde(rename = "at most")]
    AtMost,
    /// The value must equal the limit. Unknown words of older runs also mean this.
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
    /// Number of fitted points.
    pub points: usize,
    /// Usability of the fit, in words.
    pub quality: String,
}

/// An interval.
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

/// Cost per request of one resource.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Cost {
    /// Cost of one request.
    pub per_request: Reading,
    /// Unit of the cost.
    pub unit: FigureUnit,
}

/// Reliability of the figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Trust {
    /// Rate of the generator alone with the null driver, requests per second, if measured.
    pub generator_ceiling: Option<f64>,
    /// Throughput of the decisive trial as a share of that rate, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceiling_used: Option<f64>,
    /// Whether the generator was at its own limit in the decisive trial.
    pub generator_limited: bool,
    /// Weaknesses of the figures, in sentences: shared CPUs, broken laws, lost samples.
    pub warnings: Vec<String>,
    /// Successful checks, in sentences.
    pub held: Vec<String>,
    /// CPU time of the probe as a share of one CPU.
    pub probe_share: Option<f64>,
    /// Share of the run's time, 0 to 1, in measured windows. The rest is start, warm-up, drain and judging.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_share: Option<f64>,
    /// Division of the run's time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spent: Option<TimeSpent>,
}

/// Division of a run's time, seconds. Only `measured_s` describes the server under load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TimeSpent {
    /// Measured windows of trials.
    #[serde(with = "Figure")]
    pub measured_s: f64,
    /// Observation of both sides without load.
    #[serde(with = "Figure")]
    pub at_rest_s: f64,
    /// Starting agents and observers, and the lead time of the common start.
    #[serde(with = "Figure")]
    pub start_s: f64,
    /// Warm-ups.
    #[serde(with = "Figure")]
    pub settle_s: f64,
    /// From the end of a window until all data was collected.
    #[serde(with = "Figure")]
    pub drain_s: f64,
    /// Everything else: starting a server, first requests, judging, saving.
    #[serde(with = "Figure")]
    pub other_s: f64,
}

/// One possible verdict.
#[derive(Clone, Copy, Debug)]
pub struct BottleneckSpec {
    /// The id.
    pub id: &'static str,
    /// Meaning of the verdict.
    pub meaning: &'static str,
}

/// Returns the row of a bottleneck.
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
            assert!(!Check::new("x", f64::NAN, relation, 1.0).pass && Check::new("x", 1.0, relation, 1.0).pass);
        }
        assert!(
            !Check::new("x", 0.9, Relation::AtLeast, 1.0).pass && !Check::new("x", 1.1, Relation::AtMost, 1.0).pass
        );
    }
}
