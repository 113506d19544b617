//! What was decided about the trials of a run, as data: which of them the findings speak of, and what each came to under
//! the objective. Judge decides; report, terminal and exit status read it here, so that no two of them can differ.

use serde::{Deserialize, Serialize};

use crate::Objective;
use crate::figure::Figure;

/// The objective in figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Limits {
    /// Longest median of the response time, microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_us: Option<f64>,
    /// Longest 99th percentile of the response time, microseconds; absent while the unloaded median is not known.
    pub p99_us: Option<f64>,
    /// Longest 99.9th percentile, microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_9_us: Option<f64>,
    /// Longest mean, microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_us: Option<f64>,
    /// Largest share of failed requests allowed, 0 to 1.
    #[serde(with = "Figure")]
    pub errors: f64,
    /// All in words: `p99 <= 20.0 ms and errors <= 0.100 %`.
    pub text: String,
}

impl Limits {
    /// The objective that names just these limits.
    pub fn objective(&self) -> Objective {
        let Self { p50_us, p99_us, p99_9_us, mean_us, errors, .. } = *self;
        Objective { p50_us, p99_us, p99_9_us, mean_us, errors }
    }
}

/// The trials that the findings speak of, as places in `trials` (the first is 0); absent where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Picks {
    /// The one at the limit, by good answers: the verdict is about it.
    pub decisive: Option<usize>,
    /// The one that shows which processor is full.
    pub full: Option<usize>,
    /// The one with the fewest clients.
    pub unloaded: Option<usize>,
    /// The one of the lowest offered rate at which the objective failed.
    pub failing: Option<usize>,
    /// The one that the capacity is of.
    pub at_capacity: Option<usize>,
    /// The one past the capacity on purpose.
    pub overload: Option<usize>,
    /// The one with the most good answers a second, where that is another figure than the capacity.
    pub beyond: Option<usize>,
    /// The one whose counters a page shows: the decisive one, or where nothing was completed the first that was tried.
    pub shown: Option<usize>,
    /// The one whose figures stand for the run: that at the capacity, else the one that is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loaded: Option<usize>,
    /// The open-loop step of the highest offered rate that held the objective.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_held: Option<usize>,
    /// The one whose hosts of generators stand beside one another: `loaded` where it has several, else the last that has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub several_hosts: Option<usize>,
}

/// What one trial came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Outcome {
    /// Completed and expected answers per second; absent where nothing was measured.
    pub good_rate: Option<f64>,
    /// Share of the requests that failed, 0 to 1: errors, unexpected answers, and none at all; absent where none was made.
    pub failed_share: Option<f64>,
    /// Whether the objective held.
    pub held: bool,
    /// How it was broken.
    pub breach: Option<Breach>,
    /// Chance, 0 to 1, that the objective holds at this rate, by this trial alone (0.5 where it says nothing): of an
    /// open loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chance_held: Option<f64>,
}

/// How a trial broke the objective: the first of these that was found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Breach {
    /// What was beyond its limit.
    pub kind: BreachKind,
    /// What was seen: a share (0 to 1), or microseconds of a response time.
    pub value: Option<f64>,
    /// What it was held against, in the same unit.
    pub limit: Option<f64>,
}

/// How far the decisive trial took the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LoadState {
    /// The user fixed the load, which need not saturate anything.
    Asked,
    /// More load brought no more: throughput stopped growing, an objective broke, or the verdict names what was at its limit.
    Saturated,
    /// The highest rate of those tried, with nothing seen at its limit.
    Highest,
}

impl LoadState {
    /// As it is named beside figures of that trial.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Asked => "as asked",
            Self::Saturated => "saturated",
            Self::Highest => "highest rate tried",
        }
    }
}

/// Ways to break an objective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum BreachKind {
    /// Nothing was completed.
    NothingCompleted,
    /// Too large a share of the requests failed.
    Errors,
    /// Too small a share of the offered load was completed.
    Behind,
    /// So many requests were never answered that the 99th percentile is of one of them.
    Unanswered,
    /// The median was too long.
    P50,
    /// The 99th percentile was too long.
    P99,
    /// The 99.9th percentile was too long.
    #[serde(rename = "p99.9")]
    P999,
    /// The mean was too long.
    Mean,
}

/// Why a run did not do what was asked for: its exit status is then that of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Failure {
    /// The server or a generator stopped or ended while a trial went on.
    Died,
    /// No request was completed, and no call was timed.
    NothingCompleted,
    /// A claim of an experiment did not hold.
    Check,
    /// The objective held at no load that was tried.
    Objective,
    /// What the user expects was not met.
    Expectation,
}

/// How sure a verdict is, in steps; the one place where a confidence becomes a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sureness {
    /// Nothing is known for it.
    #[default]
    Undecided,
    /// Below 0.4.
    Guess,
    /// From 0.4 on.
    Possible,
    /// From 0.7 on.
    Likely,
    /// From 0.9 on.
    Sure,
}

impl Sureness {
    /// The step of a confidence, 0 to 1.
    pub fn of(confidence: f64) -> Self {
        match confidence {
            c if c >= 0.9 => Self::Sure,
            c if c >= 0.7 => Self::Likely,
            c if c >= 0.4 => Self::Possible,
            c if c > 0.0 => Self::Guess,
            _ => Self::Undecided,
        }
    }

    /// In a word, as it stands behind a verdict.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Sure => "sure",
            Self::Likely => "likely",
            Self::Possible => "possible",
            Self::Guess | Self::Undecided => "a guess",
        }
    }

    /// The beginning of the sentence that ends an argument.
    pub const fn therefore(self) -> &'static str {
        match self {
            Self::Sure => "Therefore",
            Self::Likely => "Most likely",
            Self::Possible | Self::Guess => "It may be that",
            Self::Undecided => "Undecided",
        }
    }
}
