//! Conclusions of a run. The crate `judge` computes the values of the types in this file, and the crate `report` prints
//! them. The decisive trial of a run is the load that represents the run.

pub(crate) mod bottleneck;
pub(crate) mod capacity;
pub(crate) mod check;
pub(crate) mod classes;
pub(crate) mod compared_figure;
pub(crate) mod comparison;
pub(crate) mod counted;
pub(crate) mod course;
pub(crate) mod decisions;
pub(crate) mod device;
pub(crate) mod drift;
pub(crate) mod effect;
pub(crate) mod elasticity;
pub(crate) mod experiment_report;
pub(crate) mod figure_unit;
pub(crate) mod fit;
pub(crate) mod handshake_cost;
pub(crate) mod history;
pub(crate) mod hot;
pub(crate) mod proof;
pub(crate) mod proof_trials;
pub(crate) mod repeat;
pub(crate) mod span_growth;
pub(crate) mod streams;
pub(crate) mod trust;
pub(crate) mod users;
pub(crate) mod usl;
pub(crate) mod waits;
pub(crate) mod what_if;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    Bottleneck, Capacity, Check, Device, ExpectationResult, Failure, Fit, Knee, Limits, Outcome, Picks, Proof,
    ResourceNeed, Trust, UpstreamLoad,
};

/// All conclusions of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Findings {
    /// The objective as numbers.
    pub limits: Limits,
    /// Indexes of the trials that play a special role in the findings, such as the trial at capacity.
    pub picks: Picks,
    /// Result of each trial, in the order of `trials`.
    pub outcomes: Vec<Outcome>,
    /// Busy devices of each trial, in the order of `trials`, the busiest first. This list is not stored: each reader of
    /// the run computes it again.
    #[serde(skip)]
    pub devices: Vec<Vec<Device>>,
    /// Short name of each cost, by the ID of the cost. `run.json` does not contain this map: each reader of the run
    /// computes it again.
    #[serde(skip)]
    pub cost_names: BTreeMap<String, &'static str>,
    /// Load state of the server in the decisive trial ([`Picks::decisive`]). Absent if the run has no decisive trial,
    /// or if the load was external.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<crate::LoadState>,
    /// Findings for each generator host, if several hosts made the load.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<crate::HostFinding>,
    /// True if client and server share one machine's CPUs in the decisive trial. Absent if the host of the client or of
    /// the server is unknown. loadline itself does not read this field.
    pub one_host: Option<bool>,
    /// Reason for a failed run; absent if the run succeeded.
    pub failure: Option<Failure>,
    /// Highest completed rate at which the server meets the objective.
    pub capacity: Option<Capacity>,
    /// Capacity in users, if the search looked for a number of users.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<crate::UsersFinding>,
    /// Rates up to which the server kept up with a load of changing rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub course: Option<crate::CourseFinding>,
    /// Knee: load beyond which more clients bring no more throughput.
    pub knee: Option<Knee>,
    /// Bottleneck of the run, with its evidence.
    pub bottleneck: Bottleneck,
    /// Upstream services of the server, nearest first, and their utilization.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<UpstreamLoad>,
    /// Result of the experiment that tests the verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// Causes of waits inside the server's processes; the cause with the most waiting threads is first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<crate::WaitFinding>,
    /// Functions with the largest shares of the server's CPU time, the largest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hot: Vec<crate::HotFunction>,
    /// Functions in which most threads of the server wait, the one with most threads first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<crate::WaitingFunction>,
    /// Kind of span whose self time grows most with the load, if the server sent spans.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span_growth: Option<crate::SpanGrowth>,
    /// Resources that must grow to double the capacity, in the order in which they limit the server.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub what_if: Vec<ResourceNeed>,
    /// Result of each repeat.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<crate::Repeat>,
    /// Signs of buffering and of stalls in streams of events.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<crate::StreamFinding>,
    /// The user's expectations and their results.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expected: Vec<ExpectationResult>,
    /// Findings for each class in a mix of requests, in the order of the mix.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<crate::ClassFinding>,
    /// Method and summary of the server's costs per class; absent without these costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class_costs: Option<crate::ClassCosts>,
    /// Quantities that grew throughout a long window under constant load, as in a memory leak, or a throughput that
    /// changed.
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
    /// Conclusions of an experiment, in sentences. The conclusions are kept when an old run is judged again.
    pub conclusions: Vec<String>,
    /// Fitted curves by name (`usl`, `linear`, …).
    pub fits: BTreeMap<String, Fit>,
    /// Reliability of the figures.
    pub trust: Trust,
    /// Argument for the verdict: a list of sentences, each of which follows from the earlier ones or from the data.
    pub argument: Vec<String>,
}
