//! When requests are made: how many clients, or how many a second, and how they are spread in time.

use serde::{Deserialize, Serialize};

/// When requests are made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "loop", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Intensity {
    /// Closed loop: a fixed number of clients, each waits for its answer.
    Closed {
        /// Connections in all threads together (with `new_connections`: simple clients).
        connections: u32,
        /// Requests in flight on one connection.
        #[serde(default = "one")]
        pipeline: u32,
        /// Pause between an answer and the next request.
        #[serde(default)]
        think: ThinkTime,
    },
    /// Open loop: requests start when the arrival process says so, whatever the server does.
    Open {
        /// Requests per second over all threads.
        rate: f64,
        /// How the starts are spread.
        #[serde(default)]
        arrival: Arrival,
        /// Most connections the pool may grow to, over all threads.
        #[serde(default = "pool")]
        max_connections: u32,
    },
    /// S-Clients (source 1): D descriptors always connecting, each for at most T.
    SClients {
        /// D, over all threads.
        descriptors: u32,
        /// T in milliseconds; must exceed the longest round trip.
        connect_timeout_ms: f64,
        /// Pause between a descriptor becoming free and its next connect; none offers the most.
        #[serde(default)]
        think: ThinkTime,
        /// Connects start when this says so, each on one of the D descriptors; absent: as soon as a descriptor is free.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pace: Option<Pace>,
    },
}

/// An arrival process that S-Clients follow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Pace {
    /// Connects per second over all threads; peaks should stay below D/T, or arrivals wait for a descriptor.
    pub rate: f64,
    /// How they are spread.
    #[serde(default)]
    pub arrival: Arrival,
}

/// A time in which the rate of an open loop goes evenly from one value to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// How long it takes, seconds.
    pub seconds: f64,
    /// Requests per second at its begin.
    pub from: f64,
    /// Requests per second at its end; the same for a step.
    pub to: f64,
}

impl Stage {
    /// Requests that are due in it.
    pub fn requests(&self) -> f64 {
        self.seconds * (self.from + self.to) / 2.0
    }

    /// The rate that stages ask for, so many seconds after the first began; the last one's after all of them.
    pub fn rate_at(stages: &[Self], at_s: f64) -> f64 {
        let mut begin_s = 0.0;
        for stage in stages {
            if at_s < begin_s + stage.seconds {
                return stage.from + (stage.to - stage.from) * (at_s - begin_s) / stage.seconds;
            }
            begin_s += stage.seconds;
        }
        stages.last().map_or(0.0, |stage| stage.to)
    }
}

const fn one() -> u32 {
    1
}

pub(crate) const fn pool() -> u32 {
    10_000
}

impl Default for Intensity {
    fn default() -> Self {
        Self::Closed { connections: 1, pipeline: 1, think: ThinkTime::default() }
    }
}

impl Intensity {
    /// What several loads of one trial ask for together: their connections, rates and descriptors added up. What cannot be
    /// added up (pipeline, think time, arrival process, T) is the first one's. Nothing for no load, and for loads of
    /// different kinds.
    pub fn together<'a>(loads: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        let mut loads = loads.into_iter();
        let first = loads.next()?.clone();
        loads.try_fold(first, Self::plus)
    }

    fn plus(mut self, other: &Self) -> Option<Self> {
        match (&mut self, other) {
            (Self::Closed { connections, .. }, Self::Closed { connections: more, .. }) => {
                *connections = connections.saturating_add(*more);
            }
            (
                Self::Open { rate, max_connections, .. },
                Self::Open { rate: more, max_connections: more_connections, .. },
            ) => {
                *rate += more;
                *max_connections = max_connections.saturating_add(*more_connections);
            }
            (Self::SClients { descriptors, pace, .. }, Self::SClients { descriptors: more, pace: more_pace, .. }) => {
                *descriptors = descriptors.saturating_add(*more);
                if let (Some(pace), Some(more)) = (pace, more_pace) {
                    pace.rate += more.rate;
                }
            }
            _ => return None,
        }
        Some(self)
    }

    /// Whether it keeps its own pace as long as it has a CPU: S-Clients wait for neither answers nor connections.
    pub const fn waits_for_cpu_alone(&self) -> bool {
        matches!(self, Self::SClients { .. })
    }

    /// Requests that may be in flight at once by what was asked for; an open loop has no such number.
    pub fn in_flight(&self) -> Option<f64> {
        match self {
            Self::Closed { connections, pipeline, .. } => Some(f64::from(*connections) * f64::from(*pipeline)),
            Self::SClients { descriptors, .. } => Some(f64::from(*descriptors)),
            Self::Open { .. } => None,
        }
    }
}

/// How arrivals of an open loop are spread in time. The rows of the `ARRIVALS` table of the load crate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Arrival {
    /// Equal gaps.
    Constant,
    /// Exponential gaps.
    #[default]
    Poisson,
    /// A mean rate with peaks (source 1): `peak` times the mean for a share `share` of each period.
    Bursty {
        /// Peak rate over mean rate, above 1.
        peak: f64,
        /// Share of time at peak (0 to 1); `peak * share` must not exceed 1.
        share: f64,
        /// Length of one period in seconds.
        period_s: f64,
    },
    /// Self-similar: superposed on-off sources with heavy-tailed periods.
    SelfSimilar {
        /// Hurst parameter, above 0.5 and below 1.
        hurst: f64,
    },
}

/// A pause with a mean and a distribution.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ThinkTime {
    /// Mean in milliseconds; 0 is no pause.
    pub mean_ms: f64,
    /// Exponentially distributed instead of constant.
    pub exponential: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_loads_ask_for_the_sum() {
        let closed = |connections| Intensity::Closed { connections, pipeline: 2, think: ThinkTime::default() };
        assert_eq!(Intensity::together(&[closed(1000), closed(1000), closed(500)]), Some(closed(2500)));
        let open = |rate, max_connections| Intensity::Open { rate, arrival: Arrival::Constant, max_connections };
        assert_eq!(Intensity::together(&[open(10.0, 7), open(2.5, 3)]), Some(open(12.5, 10)));
        let s_clients = |descriptors, rate| Intensity::SClients {
            descriptors,
            connect_timeout_ms: 500.0,
            think: ThinkTime::default(),
            pace: Some(Pace { rate, arrival: Arrival::Constant }),
        };
        assert_eq!(Intensity::together(&[s_clients(3, 1.0), s_clients(4, 2.0)]), Some(s_clients(7, 3.0)));
        assert_eq!(Intensity::together(&[]), None);
        assert_eq!(Intensity::together(&[closed(1000), open(10.0, 7)]), None, "what both are together has no name");
    }

    #[test]
    fn a_closed_loop_has_connections_times_pipeline_in_flight() {
        let closed = Intensity::Closed { connections: 30, pipeline: 2, think: ThinkTime::default() };
        let open = Intensity::Open { rate: 1.0, arrival: Arrival::Constant, max_connections: 9 };
        assert_eq!((closed.in_flight(), open.in_flight()), (Some(60.0), None));
    }
}
