//! Objective, search and observation of a run.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::{AnswerTime, SummaryFigure};

/// Limits on the response time and on the share of failed requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Objective {
    /// Maximum median response time, microseconds. If the user limits no response time, loadline derives limits on the
    /// median and on the 99th percentile from the median without load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_us: Option<f64>,
    /// Maximum 99th percentile of the response time, microseconds.
    pub p99_us: Option<f64>,
    /// Maximum 99.9th percentile of the response time, microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_9_us: Option<f64>,
    /// Maximum mean response time, microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_us: Option<f64>,
    /// Limits on the time to the first byte of the answer.
    #[serde(skip_serializing_if = "TimeLimits::is_empty")]
    pub first_byte: TimeLimits,
    /// Limits on the time to the first event of a stream.
    #[serde(skip_serializing_if = "TimeLimits::is_empty")]
    pub first_event: TimeLimits,
    /// Limits on the time between two events of a stream.
    #[serde(skip_serializing_if = "TimeLimits::is_empty")]
    pub gap: TimeLimits,
    /// Maximum share of failed requests (0 to 1).
    pub errors: f64,
}

impl Objective {
    /// Returns the limits on each time other than the response time.
    pub const fn timed(&self) -> [(AnswerTime, TimeLimits); 3] {
        [
            (AnswerTime::FirstByte, self.first_byte),
            (AnswerTime::FirstEvent, self.first_event),
            (AnswerTime::Gap, self.gap),
        ]
    }

    /// Returns true if the time to the first event or the gap between events is limited.
    pub fn limits_events(&self) -> bool {
        !self.first_event.is_empty() || !self.gap.is_empty()
    }
}

/// Limits on a time other than the response time, such as the time to the first byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct TimeLimits {
    /// Maximum median of the time that these limits concern, microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_us: Option<f64>,
    /// Maximum 99th percentile of the time that these limits concern, microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<f64>,
    /// Maximum 99.9th percentile of the time that these limits concern, microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_9_us: Option<f64>,
}

impl TimeLimits {
    /// Returns true if no figure of this time has a limit.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns each limit, in microseconds, together with the limited figure.
    pub fn each(&self) -> impl Iterator<Item = (SummaryFigure, f64)> {
        use SummaryFigure::{P50, P99, P999};
        [(P50, self.p50_us), (P99, self.p99_us), (P999, self.p99_9_us)]
            .into_iter()
            .filter_map(|(figure, limit)| Some((figure, limit?)))
    }

    /// Returns the shortest of the limits, microseconds; `None` if there is no limit.
    pub fn shortest_us(&self) -> Option<f64> {
        self.each().map(|(_, us)| us).reduce(f64::min)
    }

    /// Sets the limit of a figure. Returns false if [`TimeLimits`] has no field for a limit on this figure.
    pub fn set(&mut self, figure: SummaryFigure, limit_us: f64) -> bool {
        let limit = match figure {
            SummaryFigure::P50 => &mut self.p50_us,
            SummaryFigure::P99 => &mut self.p99_us,
            SummaryFigure::P999 => &mut self.p99_9_us,
            _ => return false,
        };
        *limit = Some(limit_us);
        true
    }
}

impl Default for Objective {
    fn default() -> Self {
        Self {
            p50_us: None,
            p99_us: None,
            p99_9_us: None,
            mean_us: None,
            first_byte: TimeLimits::default(),
            first_event: TimeLimits::default(),
            gap: TimeLimits::default(),
            errors: 0.001,
        }
    }
}

/// Exponent for the length of a search's measured windows. The length of a measured window is proportional to the time
/// budget raised to this power. Because the exponent is below 1, a larger time budget gives longer windows and also
/// more windows.
pub const WINDOW_GROWTH: f64 = 0.25;

/// Settings of the search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct SearchPlan {
    /// Maximum duration of the whole search in seconds.
    pub budget_s: f64,
    /// Maximum number of connections in the closed-loop sweep and in the open-loop search. The open-loop search may use
    /// fewer connections: as many as its rate needs at the longest response time that meets the objective.
    pub max_connections: u32,
    /// True if the closed-loop sweep must try `max_connections` connections, because the user chose this number. The
    /// sweep then tries the number even if throughput stopped growing at fewer connections.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reach_max: bool,
    /// Relative precision at which the search ends early: half the width of the capacity's 95 % interval, divided by
    /// the capacity.
    pub precision: f64,
    /// True to search for the maximum number of users for which the server meets the objective. Each user pauses for a
    /// think time between requests. In a search for users, the load is a closed loop with at most `max_connections`
    /// users.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub users: bool,
    /// Changes that an experiment may make to test the verdict.
    #[serde(skip_serializing_if = "Prove::is_default")]
    pub prove: Prove,
    /// Directory in which an experiment may write, on the server's host and on the disk that the server uses. If no
    /// directory is given, no experiment tests the disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prove_dir: Option<std::path::PathBuf>,
}

/// Changes that an experiment may make to test the verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Prove {
    /// Runs no experiment.
    Off,
    /// Makes only changes that are possible with the user's own rights and processes.
    #[default]
    Default,
    /// Makes all changes of `Default`, and also changes the server's own processes and limits: its quota, one of its
    /// workers, its descriptors.
    Intrusive,
}

impl Prove {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for SearchPlan {
    fn default() -> Self {
        Self {
            budget_s: 30.0,
            max_connections: 1024,
            reach_max: false,
            precision: 0.03,
            users: false,
            prove: Prove::Default,
            prove_dir: None,
        }
    }
}

/// Settings of the observation during the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ObservePlan {
    /// Seconds between two samples.
    pub interval_s: f64,
    /// Length of the observation without load before the first trial, seconds.
    pub at_rest_s: f64,
    /// True to sample the places in the code where the threads of the server and of its upstream services wait.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub waits: bool,
    /// True to sample the threads of the server and of its upstream services without reading their stacks.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_stacks: bool,
    /// Databases behind the server to sample, as URLs without passwords.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "crate::bounded::list::<{ crate::MAX_BEHIND }, _, _>"
    )]
    pub behind: Vec<crate::Behind>,
    /// Loopback address at which loadline receives the server's spans during the run; absent if loadline receives no
    /// spans.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spans: Option<SocketAddr>,
}

impl Default for ObservePlan {
    fn default() -> Self {
        Self { interval_s: 0.5, at_rest_s: 1.0, waits: false, no_stacks: false, behind: Vec::new(), spans: None }
    }
}
