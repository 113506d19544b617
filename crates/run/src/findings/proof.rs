//! What an experiment on the server showed: the slots as they were measured, and what was concluded from them.

use serde::{Deserialize, Serialize};

use crate::SlotHist;
use crate::figure::Figure;

/// How the experiment on the verdict ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProofOutcome {
    /// What was predicted came out.
    Proven,
    /// Something else came out, and it is named.
    Refuted,
    /// No experiment was made, or it showed nothing; `why` says which.
    #[default]
    NotTried,
}

/// What the ratios of an experiment are of: with a lever over without it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProofOf {
    /// Requests completed per second, of clients that wait for their answers.
    #[default]
    Throughput,
    /// Median of the response time, at a rate that is offered whatever the server does; the others likewise.
    P50,
    /// Mean of it.
    Mean,
    /// 99th percentile of it.
    P99,
    /// 99.9th percentile of it.
    #[serde(rename = "p99.9")]
    P999,
}

impl ProofOf {
    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::P50 => "p50",
            Self::Mean => "mean response time",
            Self::P99 => "p99",
            Self::P999 => "p99.9",
        }
    }

    /// Whether it is the throughput.
    pub fn is_throughput(&self) -> bool {
        *self == Self::Throughput
    }
}

/// The verdict held against an experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Proof {
    /// How it ended.
    pub outcome: ProofOutcome,
    /// Why, in one sentence with figures.
    pub why: String,
    /// What the ratios are of; absent for the throughput.
    #[serde(skip_serializing_if = "ProofOf::is_throughput")]
    pub of: ProofOf,
    /// Written down before the experiment.
    pub prediction: Option<Effect>,
    /// Of response times: the share that the prediction's lever was said to have in what they grow by when everything is slower.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted_share: Option<f64>,
    /// The same, measured.
    pub measured: Option<Effect>,
    /// The same of what would stop the server next, where a lever slows that; absent where the counters name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runner_up: Option<RunnerUp>,
    /// How much of a change of each resource's speed goes into throughput; where the ratios are of the response time, the share of
    /// each in what that grows by when everything is slower by the same.
    pub elasticities: Vec<Elasticity>,
    /// 1 less the sum of the elasticities: what no lever touched.
    pub remainder: Option<Estimate>,
    /// What the experiment rests on.
    pub trials: Vec<ProofTrial>,
    /// How steady throughput was by itself meanwhile, and whether it came back; absent where no lever was switched in slots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steadiness: Option<Steadiness>,
    /// Loads with and without a lever, in turns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub switched: Vec<SwitchTrial>,
    /// What each of those did to throughput, the last of a lever last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<Effect>,
    /// Levers that were not pulled, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub untried: Vec<Untried>,
}

/// What comes second: predicted before the experiment, and measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RunnerUp {
    /// Row of `BOTTLENECKS`.
    pub bottleneck: String,
    /// Written down before: what it lets through with less of it, where that is less than was completed.
    pub prediction: Effect,
    /// What its lever did; absent where it was not pulled.
    pub measured: Option<Effect>,
}

/// What of throughput was not the levers' doing, in the slots of the last trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Steadiness {
    /// How far single slots scatter when what the levers did is taken off: a standard deviation, as a share.
    #[serde(with = "Figure")]
    pub noise: f64,
    /// Throughput at the end over that at the begin of the slots, by a straight line through what the levers left.
    pub drift: Estimate,
    /// Throughput after all levers were off over that of before, with the interval that noise leaves open; absent where the slots do
    /// not end with some without levers.
    pub back: Option<Estimate>,
    /// Whether that is 1 as far as the noise can tell; where it is not, the levers prove nothing.
    pub is_back: Option<bool>,
}

/// A lever that was not pulled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Untried {
    /// Row of `LEVERS`.
    pub lever: String,
    /// Why, in a sentence.
    pub why: String,
}

/// The same load with and without a lever that cannot be switched while it is on, in turns of random order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SwitchTrial {
    /// Row of `LEVERS`.
    pub lever: String,
    /// The host whose resource it changes.
    pub host: String,
    /// What was loaded how, in words.
    pub label: String,
    /// Length of a turn, seconds.
    #[serde(with = "Figure")]
    pub turn_s: f64,
    /// Share of the resource that is taken away; below 0 where it is added.
    #[serde(with = "Figure")]
    pub dose: f64,
    /// Good answers per second without it, a figure a pair of turns; of the response time, microseconds.
    #[serde(with = "Figure::<Vec<f64>>")]
    pub off: Vec<f64>,
    /// The same with it, of the same pair.
    #[serde(with = "Figure::<Vec<f64>>")]
    pub on: Vec<f64>,
}

/// A lever pulled, and what it does to what the ratios are of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Effect {
    /// Row of `LEVERS`.
    pub lever: String,
    /// Share of the resource that is taken away; below 0 where it is added.
    #[serde(with = "Figure")]
    pub dose: f64,
    /// With the lever on over with it off: throughput, or what `of` says.
    #[serde(with = "Figure")]
    pub ratio: f64,
    /// Lower end of the 95 % interval of `ratio`.
    #[serde(with = "Figure")]
    pub low: f64,
    /// Upper end of it.
    #[serde(with = "Figure")]
    pub high: f64,
    /// When this was written down, RFC 3339.
    pub at: String,
}

/// A figure with its 95 % interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Estimate {
    /// The figure.
    #[serde(with = "Figure")]
    pub value: f64,
    /// Lower end.
    #[serde(with = "Figure")]
    pub low: f64,
    /// Upper end.
    #[serde(with = "Figure")]
    pub high: f64,
}

impl Estimate {
    /// A figure and the half of its interval.
    pub fn around(value: f64, half: f64) -> Self {
        Self { value, low: value - half, high: value + half }
    }

    /// Half the width of the interval.
    pub fn half(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

/// d ln(throughput) / d ln(speed) of what a lever slows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Elasticity {
    /// Row of `LEVERS`.
    pub lever: String,
    /// The host whose resource it is.
    pub host: String,
    /// Near 1: the bottleneck; near 0: not.
    #[serde(flatten)]
    pub estimate: Estimate,
}

/// One steady load under which levers were switched on and off in slots.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ProofTrial {
    /// What was loaded how, in words.
    pub label: String,
    /// Length of a slot, seconds.
    #[serde(with = "Figure")]
    pub slot_s: f64,
    /// Requests completed per second in each slot, the part after a switch left out.
    #[serde(with = "Figure::<Vec<f64>>")]
    pub completed_rate: Vec<f64>,
    /// Response times of the requests that were due in each slot, the part after a switch left out: pairs of a bucket and how many
    /// (64 buckets to a factor of two, the first up to 1.024 us); of an open loop alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slot_times: Vec<SlotHist>,
    /// The levers, with what they did in each slot.
    pub levers: Vec<LeverSlots>,
    /// Throughput (the median response time of an open loop) after all levers were off over that in the slots without any.
    pub after: Option<f64>,
}

impl ProofTrial {
    /// Mean throughput of the slots in which a lever was off; absent where there were none.
    pub fn rate_without(&self, lever: &LeverSlots) -> Option<f64> {
        let off = lever.on.iter().zip(&self.completed_rate).filter(|(on, rate)| !**on && rate.is_finite());
        let (sum, n) = off.fold((0.0, 0_u32), |(sum, n), (_, rate)| (sum + rate, n + 1));
        (n > 0).then(|| sum / f64::from(n))
    }
}

/// One lever through the slots of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LeverSlots {
    /// Row of `LEVERS`.
    pub lever: String,
    /// The host whose resource it changes.
    pub host: String,
    /// Whether it was on.
    pub on: Vec<bool>,
    /// Speed of the resource as it was measured, 1 for all of it.
    #[serde(with = "Figure::<Vec<f64>>")]
    pub speed: Vec<f64>,
    /// Share of the resource that a thief got in the slots in which it was on; absent where the lever is no thief.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken: Option<f64>,
    /// Share of the time in which any of the resource's users had or waited for it in the slots in which a thief was off, at most,
    /// 0 to 1; absent where that was not measured. Runs of before 25 November 2026 have a share of all CPUs here, which is less.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wanted: Option<f64>,
}
