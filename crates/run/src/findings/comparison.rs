//! What the comparison of two sets of runs came to: types only. Judge fills them, report prints them.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::{Estimate, FigureUnit};

/// Old against new.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Comparison {
    /// What the old runs are called.
    pub old: String,
    /// What the new runs are called.
    pub new: String,
    /// What else differs than what is compared: machines, plans, versions. To be read first.
    pub differences: Vec<String>,
    /// What TLS takes of a request, where one of both speaks it and the other does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsShare>,
    /// What weakens it, in sentences: windows in which nothing came back, a budget that was too short.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// How two live servers took turns; absent for runs that were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<Turns>,
    /// One entry a figure.
    pub comparisons: Vec<Compared>,
    /// Both as curves.
    pub curves: ComparedCurves,
    /// A change below this share is none to act on.
    #[serde(with = "Figure")]
    pub threshold: f64,
    /// The word for all figures together.
    pub verdict: ComparedWord,
    /// Figure that decided it; absent where none did.
    pub decided_by: Option<String>,
    /// A figure became worse by more than the threshold.
    pub regression: bool,
}

/// The order of the windows of two live servers: pairs of one window each, the same for the same seed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Turns {
    /// Seed that the order was drawn from; that of a pair's arrivals and think times is so many pairs later.
    pub seed: u64,
    /// Whether the new one's window came first, pair by pair; of each two pairs in one.
    pub new_first: Vec<bool>,
}

/// Both sides as curves, each empty where there is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ComparedCurves {
    /// Good answers per second against clients, where several numbers of clients were tried.
    pub rates: Vec<BothAt>,
    /// Response time in microseconds against the share of requests that were as quick, of all windows of one load.
    pub response_us: Vec<BothAt>,
}

/// Both curves at one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct BothAt {
    /// Where: clients, or a share of the requests, 0 to 1.
    #[serde(with = "Figure")]
    pub at: f64,
    /// The old one there.
    #[serde(with = "Figure")]
    pub old: f64,
    /// The new one there.
    #[serde(with = "Figure")]
    pub new: f64,
}

/// One figure of both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Compared {
    /// Name of the figure.
    pub figure: String,
    /// Its unit; empty for counts.
    pub unit: FigureUnit,
    /// Whether more of it is better.
    pub more_is_better: bool,
    /// The old figure.
    #[serde(with = "Figure")]
    pub old: f64,
    /// The new one.
    #[serde(with = "Figure")]
    pub new: f64,
    /// New over old.
    #[serde(with = "Figure")]
    pub ratio: f64,
    /// Lower end of the ratio's 95 % interval; absent where there is too little to tell.
    pub low: Option<f64>,
    /// Upper end of it.
    pub high: Option<f64>,
    /// Chance that two equal servers are so far apart, two-sided: the larger of Student's and that of ranks (Mann-Whitney and its
    /// relatives), or Student's where so few looks, none of which overlap, let ranks say no more.
    pub p: Option<f64>,
    /// What it comes to.
    pub word: ComparedWord,
    /// Windows of the old and of the new that it rests on.
    pub windows: (usize, usize),
    /// A cost of the server that is listed for completeness: worth showing where it differs.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub beside: bool,
    /// How many times as much would decide it, where it is not decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more: Option<f64>,
    /// As much of what.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_of: Option<MoreOf>,
    /// New less old, with its 95 % interval, of a share that may be 0: there is no ratio to nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<Estimate>,
    /// What the figures of this line do not say, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
}

/// What more of would decide a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MoreOf {
    /// Windows, by a longer run.
    Windows,
    /// Runs or repeats: no window of the same run tells what runs differ by.
    Runs,
}

/// What a comparison comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ComparedWord {
    /// The new one is better.
    Faster,
    /// The new one is worse.
    Slower,
    /// They differ by less than the threshold.
    Same,
    /// Neither can be told.
    #[default]
    NotEnough,
}

impl ComparedWord {
    /// As it stands in JSON and in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Same => "same",
            Self::NotEnough => "not-enough",
        }
    }
}

/// What TLS takes of a request on a kept connection, by the same server without it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TlsShare {
    /// Of the server's CPU time of a request within TLS, the share that it does not take without, 0 to 1; below 0 where
    /// it takes more without.
    #[serde(with = "Figure")]
    pub share: f64,
    /// Lower end of its 95 % interval; absent where there is too little to tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// The same in microseconds a request.
    #[serde(with = "Figure")]
    pub us: f64,
    /// All of it in a sentence.
    pub sentence: String,
}
