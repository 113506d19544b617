//! Conclusions of an experiment on the server. In the experiment, levers (temporary changes) change the amount or the
//! speed of resources.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::{Effect, Elasticity, Estimate, ProofTrial, SwitchTrial, Tally};

/// Outcome of the experiment that tests the verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProofOutcome {
    /// The lever of the bottleneck that the verdict names changed throughput (or the response time) as predicted.
    Proven,
    /// The experiment agrees with the verdict, or found a cause that was unknown. A cause that the experiment found is
    /// not proven: loadline predicted no effect, or no lever tests the cause directly.
    Supported,
    /// The experiment contradicts the verdict: the bottleneck's lever had hardly any effect, or another cause has the
    /// effect. The field `why` of the experiment's result contains the measurements.
    Refuted,
    /// The experiment ran, but decided nothing; `why` has the reason.
    Inconclusive,
    /// No experiment tested the verdict itself; `why` has the reason.
    #[default]
    #[serde(alias = "not-tried")]
    NotTested,
}

/// Quantity that an experiment measures. A ratio of the experiment is the value of this quantity with the lever on,
/// divided by its value with the lever off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProofMetric {
    /// Requests completed per second, with closed-loop clients.
    #[default]
    Throughput,
    /// Median response time at a fixed offered rate. loadline measures the mean and the other percentiles at a fixed
    /// rate, too.
    P50,
    /// Mean response time.
    Mean,
    /// 99th percentile of the response time.
    P99,
    /// 99.9th percentile of the response time.
    #[serde(rename = "p99.9")]
    P999,
}

impl ProofMetric {
    /// Returns the name that reports show to people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::P50 => "p50",
            Self::Mean => "mean response time",
            Self::P99 => "p99",
            Self::P999 => "p99.9",
        }
    }

    /// Returns true if the measured quantity is the throughput.
    pub fn is_throughput(&self) -> bool {
        *self == Self::Throughput
    }
}

/// Experiment that tests the verdict.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Proof {
    /// Outcome of the experiment.
    pub outcome: ProofOutcome,
    /// Reason for the outcome, in one sentence with figures.
    pub why: String,
    /// Quantity that the ratios compare; absent for throughput.
    #[serde(skip_serializing_if = "ProofMetric::is_throughput")]
    pub of: ProofMetric,
    /// Predicted effect, recorded before the experiment.
    pub prediction: Option<Effect>,
    /// Predicted effects of further levers that test the verdict, each recorded before the lever was used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub predictions: Vec<Effect>,
    /// Predicted share (0 to 1) of the resource in `prediction` in the growth of the response time, if every resource
    /// became slower by the same factor. The share is absent for throughput.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted_share: Option<f64>,
    /// Measured effect of the lever that `prediction` names.
    pub measured: Option<Effect>,
    /// Prediction and result for the next bottleneck. Absent if the counters name no next bottleneck, or if no lever
    /// slows this bottleneck.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runner_up: Option<RunnerUp>,
    /// Elasticity for each resource: the effect of the resource's speed. For throughput, the elasticity is the relative
    /// change of throughput divided by the relative change of the resource's speed. For response times, the elasticity
    /// is the resource's share of the growth of the response time if every resource became slower by the same factor.
    pub elasticities: Vec<Elasticity>,
    /// 1 minus the sum of the elasticities: the part that no lever explains.
    pub remainder: Option<Estimate>,
    /// Measurements of the experiment.
    pub trials: Vec<ProofTrial>,
    /// Stability of throughput apart from the effects of the levers, and recovery after the levers were switched off.
    /// Absent if the experiment switched no lever on and off in slots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steadiness: Option<Steadiness>,
    /// Measurements of one load, alternately with and without a lever.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub switched: Vec<SwitchTrial>,
    /// Sum of the request counts of all loads in `switched`, exact. The loads of `switched` are not among the run's
    /// `trials`. Absent if no such load ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switched_counts: Option<Tally>,
    /// Effect of each lever in `switched`, in the order of measurement. If `effects` has several entries for one lever,
    /// the last of these entries counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<Effect>,
    /// Levers that were not used, with the reasons.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub untried: Vec<UnusedLever>,
}

impl Proof {
    /// Returns the elasticities that, together with the unexplained remainder, add up to 1.
    pub fn parts(&self) -> impl Iterator<Item = &Elasticity> {
        self.elasticities.iter().filter(|elasticity| elasticity.is_part())
    }

    /// Returns the last entry for a lever in `effects`; `None` if the lever has no entry.
    pub fn effect(&self, lever: &str) -> Option<&Effect> {
        self.effects.iter().rfind(|effect| effect.lever == lever)
    }
}

/// The next bottleneck: prediction before the experiment, and measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RunnerUp {
    /// ID of the bottleneck, a row of `BOTTLENECKS`.
    pub bottleneck: String,
    /// Predicted effect of slowing the bottleneck, recorded before the experiment.
    pub prediction: Effect,
    /// Measured effect of the lever that slows the bottleneck; absent if the lever was not used.
    pub measured: Option<Effect>,
}

/// Changes of throughput that the levers did not cause, in the slots (periods of equal length) of the last trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Steadiness {
    /// Scatter of the throughput in single slots as a relative standard deviation, after the effects of the levers are
    /// subtracted.
    #[serde(with = "Figure")]
    pub noise: f64,
    /// Throughput at the end of the slots of the trial, divided by the throughput at their start. The throughput at the
    /// start and at the end comes from a straight line, fitted to the throughput of the slots without the effects of
    /// the levers.
    pub drift: Estimate,
    /// Throughput after all levers were switched off, divided by the mean throughput before, from which the effects of
    /// the levers are subtracted. Absent if too few slots follow the last use of a lever.
    pub back: Option<Estimate>,
    /// True if throughput returned to its level before the levers acted, within the noise. If throughput did not
    /// return, the effects of the levers prove nothing.
    pub is_back: Option<bool>,
}

/// A lever that was not used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct UnusedLever {
    /// ID of the lever, a row of `LEVERS`.
    pub lever: String,
    /// Reason why the lever was not used, in one sentence.
    pub why: String,
}
