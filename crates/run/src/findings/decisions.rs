//! Decisions about the trials of a run, as data: which trials the findings describe, and whether each one met the
//! objective. The crate `judge` makes the decisions in this file. The report, the terminal output and the exit status
//! all come from these decisions, so they always agree. The decisive trial of a run is the load that represents the
//! run.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::{AnswerTime, Objective, SummaryFigure, TimeLimits};

/// The objective as numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Limits {
    /// Maximum median response time, microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_us: Option<f64>,
    /// Maximum 99th percentile of the response time, microseconds. If the plan limits no response time, loadline
    /// derives this limit and `p50_us` from the unloaded median once it is known.
    pub p99_us: Option<f64>,
    /// Maximum 99.9th percentile of the response time, microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_9_us: Option<f64>,
    /// Maximum mean response time, microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_us: Option<f64>,
    /// Limits on the time to the first byte of the answer.
    #[serde(default, skip_serializing_if = "TimeLimits::is_empty")]
    pub first_byte: TimeLimits,
    /// Limits on the time to the first event of a stream.
    #[serde(default, skip_serializing_if = "TimeLimits::is_empty")]
    pub first_event: TimeLimits,
    /// Limits on the time between two events of a stream.
    #[serde(default, skip_serializing_if = "TimeLimits::is_empty")]
    pub gap: TimeLimits,
    /// Maximum share of failed requests, 0 to 1.
    #[serde(with = "Figure")]
    pub errors: f64,
    /// The limits as text: `p99 <= 20.0 ms and errors <= 0.1 %`.
    pub text: String,
}

impl Limits {
    /// Returns an objective with exactly the given limits.
    pub fn objective(&self) -> Objective {
        let Self { p50_us, p99_us, p99_9_us, mean_us, first_byte, first_event, gap, errors, .. } = *self;
        Objective { p50_us, p99_us, p99_9_us, mean_us, first_byte, first_event, gap, errors }
    }
}

/// Indexes in `trials` (the first is 0) of the trials that the findings describe; absent if there is no such trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Picks {
    /// Trial that the verdict describes. After a closed-loop sweep, the decisive trial is the first step that reaches
    /// 97 % of the highest rate of good responses. In a run without a closed-loop sweep, the decisive trial is usually
    /// the trial with the highest rate.
    pub decisive: Option<usize>,
    /// Trial that shows which CPU is fully used.
    pub full: Option<usize>,
    /// Trial with the fewest clients.
    pub unloaded: Option<usize>,
    /// Trial with the lowest offered rate at which the objective was not met. If loadline estimated the capacity from
    /// many short measurements (windows), failures below the capacity do not count.
    pub failing: Option<usize>,
    /// Trial whose load gave the capacity.
    pub at_capacity: Option<usize>,
    /// Trial with deliberate overload.
    pub overload: Option<usize>,
    /// Trial with the most good responses per second, if this rate is clearly above the capacity.
    pub beyond: Option<usize>,
    /// Trial whose counters a page shows: the decisive trial, or the first trial if no request completed.
    pub shown: Option<usize>,
    /// Trial whose figures represent the run: `at_capacity`, or `shown` if there is no trial at capacity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loaded: Option<usize>,
    /// Step of an open loop that met the objective with the highest offered rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_held: Option<usize>,
    /// Trial whose generator hosts are compared: `loaded` if it has several hosts, otherwise the last trial with
    /// several hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub several_hosts: Option<usize>,
}

/// Result of judging one trial by the objective.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Outcome {
    /// Complete responses with an expected status, per second; absent if no request completed in the measured window.
    pub good_rate: Option<f64>,
    /// Share of failed requests, 0 to 1: errors, unexpected responses and missing responses. Absent if the trial made
    /// no request.
    pub failed_share: Option<f64>,
    /// True if the trial met the objective.
    pub held: bool,
    /// Limit that the trial broke; absent if it broke none.
    pub breach: Option<Breach>,
    /// Probability, 0 to 1, that the server meets the objective at the trial's open-loop rate. The probability comes
    /// only from the measurements of this trial, and not from other trials. A probability of 0.5 means that there is no
    /// evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chance_held: Option<f64>,
}

/// Limit of the objective that was broken. If a trial broke several limits, this is the first broken limit that
/// loadline found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Breach {
    /// Kind of the broken limit.
    pub kind: BreachKind,
    /// Observed value: a share (0 to 1), or a time in microseconds.
    pub value: Option<f64>,
    /// Limit of the observed value, in the unit of this value.
    pub limit: Option<f64>,
    /// True if the value is a lower bound, because too many requests were not answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
}

/// Load state of the server in the decisive trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LoadState {
    /// The user chose the load, which may be too low to saturate any resource.
    #[serde(rename = "asked")]
    Requested,
    /// More load brought no more throughput, broke the objective, or filled the resource that the verdict names.
    Saturated,
    /// The decisive trial has the highest rate that was tried, and no resource was full.
    Highest,
}

impl LoadState {
    /// Returns the words shown beside the figures of the decisive trial.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Requested => "as asked",
            Self::Saturated => "saturated",
            Self::Highest => "highest rate tried",
        }
    }
}

/// Kinds of broken limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum BreachKind {
    /// No request got a good answer.
    NothingCompleted,
    /// The objective limits a time of events, but no answer had enough events to measure it, or too many answers had no
    /// event; `value` is then the share of these answers.
    NoEvents,
    /// Too many requests of the trial failed.
    Errors,
    /// Throughput was too far below the offered load.
    Behind,
    /// Too many requests stayed without a response, so the 99th percentile is unknown.
    Unanswered,
    /// The median response time exceeded its limit.
    P50,
    /// The 99th percentile of the response time exceeded its limit.
    P99,
    /// The 99.9th percentile of the response time exceeded its limit.
    #[serde(rename = "p99.9")]
    P999,
    /// The mean response time exceeded its limit.
    Mean,
    /// The median time to the first byte exceeded its limit.
    FirstByteP50,
    /// The 99th percentile of the time to the first byte exceeded its limit.
    FirstByteP99,
    /// The 99.9th percentile of the time to the first byte exceeded its limit.
    #[serde(rename = "first-byte-p99.9")]
    FirstByteP999,
    /// The median time to the first event exceeded its limit.
    FirstEventP50,
    /// The 99th percentile of the time to the first event exceeded its limit.
    FirstEventP99,
    /// The 99.9th percentile of the time to the first event exceeded its limit.
    #[serde(rename = "first-event-p99.9")]
    FirstEventP999,
    /// The median gap between events exceeded its limit.
    GapP50,
    /// The 99th percentile of the gaps between events exceeded its limit.
    GapP99,
    /// The 99.9th percentile of the gaps between events exceeded its limit.
    #[serde(rename = "gap-p99.9")]
    GapP999,
}

/// Kinds of broken limits whose time is not the response time, but for example the time to the first byte. Each row has
/// the kind, the limited time, and the limited figure of this time.
const TIMED: [(BreachKind, AnswerTime, SummaryFigure); 9] = {
    use SummaryFigure::{P50, P99, P999};
    [
        (BreachKind::FirstByteP50, AnswerTime::FirstByte, P50),
        (BreachKind::FirstByteP99, AnswerTime::FirstByte, P99),
        (BreachKind::FirstByteP999, AnswerTime::FirstByte, P999),
        (BreachKind::FirstEventP50, AnswerTime::FirstEvent, P50),
        (BreachKind::FirstEventP99, AnswerTime::FirstEvent, P99),
        (BreachKind::FirstEventP999, AnswerTime::FirstEvent, P999),
        (BreachKind::GapP50, AnswerTime::Gap, P50),
        (BreachKind::GapP99, AnswerTime::Gap, P99),
        (BreachKind::GapP999, AnswerTime::Gap, P999),
    ]
};

impl BreachKind {
    /// Returns the kind of broken limit that belongs to a figure of a time, such as the median time to the first byte.
    /// Returns `None` if an objective cannot limit this figure.
    pub fn of_time(time: AnswerTime, figure: SummaryFigure) -> Option<Self> {
        TIMED.into_iter().find(|row| (row.1, row.2) == (time, figure)).map(|row| row.0)
    }

    /// Returns the name of the limited figure, such as `p99 of the time to the first byte`. Returns `None` for limits
    /// on the response time or on errors.
    pub fn timed_figure(self) -> Option<String> {
        TIMED.into_iter().find(|row| row.0 == self).map(|(_, time, figure)| time.figure_name(figure))
    }
}

/// Reasons why a run fails, which lead to an exit status other than 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Failure {
    /// The server or a generator stopped or ended during a trial.
    Died,
    /// No request completed in any trial. Runs that only watch external load, or that only time calls, do not fail
    /// because of missing answers.
    NothingCompleted,
    /// Every request failed during one period of the run, whatever the load was. A run with such a period measured two
    /// different states of the server.
    FailedStretch,
    /// A check of an experiment failed.
    Check,
    /// No tried load met the objective.
    Objective,
    /// An expectation of the user was not met.
    Expectation,
}

/// Levels of confidence in a verdict. Only this type turns a confidence into a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// There is no evidence of the server's load state.
    #[default]
    Undecided,
    /// Confidence below 0.4.
    Guess,
    /// Confidence from 0.4.
    Possible,
    /// Confidence from 0.7.
    Likely,
    /// Confidence from 0.9.
    Sure,
}

impl Certainty {
    /// Returns the level for a confidence from 0 to 1.
    pub fn from_confidence(confidence: f64) -> Self {
        match confidence {
            c if c >= 0.9 => Self::Sure,
            c if c >= 0.7 => Self::Likely,
            c if c >= 0.4 => Self::Possible,
            c if c > 0.0 => Self::Guess,
            _ => Self::Undecided,
        }
    }

    /// Returns the word that loadline shows after a verdict for its certainty, such as `likely`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Sure => "sure",
            Self::Likely => "likely",
            Self::Possible => "possible",
            Self::Guess | Self::Undecided => "a guess",
        }
    }

    /// Returns the first words of the sentence that concludes an argument, such as `Therefore`.
    pub const fn therefore(self) -> &'static str {
        match self {
            Self::Sure => "Therefore",
            Self::Likely => "Most likely",
            Self::Possible | Self::Guess => "It may be that",
            Self::Undecided => "Undecided",
        }
    }
}
