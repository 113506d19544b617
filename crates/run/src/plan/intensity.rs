//! Load intensity: the number of clients or the request rate, and the distribution of requests over time.

use serde::{Deserialize, Serialize};

/// Kind of loop and amount of load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "loop", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Intensity {
    /// Closed loop: a fixed number of clients. Each client waits for the response to its request.
    Closed {
        /// Number of connections over all threads. With `new_connections`, number of clients that open a connection for
        /// each request.
        connections: u32,
        /// Maximum number of requests in flight per connection.
        #[serde(default = "default_pipeline")]
        pipeline: u32,
        /// Pause between a response and the next request.
        #[serde(default)]
        think: ThinkTime,
    },
    /// Open loop: the arrival process starts requests, even if the server does not keep up.
    Open {
        /// Requests per second over all threads.
        rate: f64,
        /// Distribution of the starts of requests over time.
        #[serde(default)]
        arrival: Arrival,
        /// Maximum number of connections in the pool, over all threads.
        #[serde(default = "default_pool")]
        max_connections: u32,
        /// Maximum number of requests in flight per connection. While a request is in flight on a connection, the
        /// connection gets another one only if the pool of connections cannot grow.
        #[serde(default = "default_pipeline", skip_serializing_if = "is_one")]
        pipeline: u32,
    },
    /// S-Clients: D descriptors (sockets) connect again and again. Each connect may take at most the time T.
    SClients {
        /// Number of descriptors D, over all threads.
        descriptors: u32,
        /// Connect timeout T in milliseconds; must exceed the longest round trip.
        connect_timeout_ms: f64,
        /// Pause from the moment when a descriptor becomes free to the descriptor's next connect. A pause of 0 gives
        /// the maximum load.
        #[serde(default)]
        think: ThinkTime,
        /// Arrival process that starts connects, each on one of the D descriptors. Without an arrival process, each
        /// descriptor starts its next connect after the pause `think`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pace: Option<Pace>,
    },
}

/// Arrival process of the connects of S-Clients.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Pace {
    /// Connects per second over all threads. Peaks should stay below D/T (see [`Intensity::SClients`]). At a rate above
    /// D/T, connects would have to wait for a free descriptor.
    pub rate: f64,
    /// Distribution of the connects over time.
    #[serde(default)]
    pub arrival: Arrival,
}

/// Period of an open loop in which the rate changes linearly or stays constant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Length of the stage, seconds.
    pub seconds: f64,
    /// Requests per second at the start of the stage.
    pub from: f64,
    /// Requests per second at the end; equal to `from` if the rate stays constant.
    pub to: f64,
}

impl Stage {
    /// Returns the number of requests that are due in this stage of the load.
    pub fn requests(&self) -> f64 {
        self.seconds * (self.from + self.to) / 2.0
    }

    /// Returns the lowest and the highest rate of all stages; `None` without stages.
    pub fn range(stages: &[Self]) -> Option<(f64, f64)> {
        let rates = || stages.iter().flat_map(|stage| [stage.from, stage.to]);
        rates().reduce(f64::min).zip(rates().reduce(f64::max))
    }

    /// Returns the rate at `at_s` seconds after the start of the first stage. After the last stage, the final rate of
    /// that stage continues.
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

const fn default_pipeline() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_one(n: &u32) -> bool {
    *n == 1
}

pub(crate) const fn default_pool() -> u32 {
    10_000
}

impl Default for Intensity {
    fn default() -> Self {
        Self::Closed { connections: 1, pipeline: 1, think: ThinkTime::default() }
    }
}

impl Intensity {
    /// Returns the sum of several loads of one trial. Adds the connections, rates and descriptors of the loads. Takes
    /// all other settings, such as pipeline and think time, from the first load. Returns `None` if there are no loads,
    /// or if the loads are of different kinds.
    pub fn sum<'a>(loads: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
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

    /// Returns true if the load generator needs only CPU time to keep to its plan. The result is true only for
    /// S-Clients, because they do not wait for responses or connections.
    pub const fn waits_for_cpu_alone(&self) -> bool {
        matches!(self, Self::SClients { .. })
    }

    /// Returns the maximum number of requests in flight on one connection.
    pub const fn pipeline(&self) -> u32 {
        match self {
            Self::Closed { pipeline, .. } | Self::Open { pipeline, .. } => *pipeline,
            Self::SClients { .. } => 1,
        }
    }

    /// Returns this load with at most one request in flight on each connection.
    #[must_use]
    pub fn without_pipeline(mut self) -> Self {
        if let Self::Closed { pipeline, .. } | Self::Open { pipeline, .. } = &mut self {
            *pipeline = 1;
        }
        self
    }

    /// Returns the maximum number of requests in flight; `None` for an open loop.
    pub fn in_flight(&self) -> Option<f64> {
        match self {
            Self::Closed { connections, pipeline, .. } => Some(f64::from(*connections) * f64::from(*pipeline)),
            Self::SClients { descriptors, .. } => Some(f64::from(*descriptors)),
            Self::Open { .. } => None,
        }
    }
}

/// Arrival process of an open loop. Each variant has a row in the table `ARRIVALS` of the crate `load`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Arrival {
    /// All intervals between requests are equal.
    Constant,
    /// Intervals between requests are exponentially distributed.
    #[default]
    Poisson,
    /// Mean rate with peaks: during the share `share` of each period, the rate is `peak` times the mean.
    Bursty {
        /// Peak rate divided by the mean rate, above 1.
        peak: f64,
        /// Share of time at peak (0 to 1); `peak * share` must not exceed 1.
        share: f64,
        /// Length of one period in seconds.
        period_s: f64,
    },
    /// Self-similar traffic: the sum of on-off sources whose periods have heavy-tailed lengths.
    SelfSimilar {
        /// Hurst parameter, above 0.5 and below 1.
        hurst: f64,
    },
}

/// Pause with a mean and a distribution.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ThinkTime {
    /// Mean length of the pause in milliseconds; 0 for no pause.
    pub mean_ms: f64,
    /// True if the pause is exponentially distributed, false if it is constant.
    pub exponential: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_loads_ask_for_the_sum() {
        let closed = |connections| Intensity::Closed { connections, pipeline: 2, think: ThinkTime::default() };
        assert_eq!(Intensity::sum(&[closed(1000), closed(1000), closed(500)]), Some(closed(2500)));
        let open =
            |rate, max_connections| Intensity::Open { rate, arrival: Arrival::Constant, max_connections, pipeline: 1 };
        assert_eq!(Intensity::sum(&[open(10.0, 7), open(2.5, 3)]), Some(open(12.5, 10)));
        let s_clients = |descriptors, rate| Intensity::SClients {
            descriptors,
            connect_timeout_ms: 500.0,
            think: ThinkTime::default(),
            pace: Some(Pace { rate, arrival: Arrival::Constant }),
        };
        assert_eq!(Intensity::sum(&[s_clients(3, 1.0), s_clients(4, 2.0)]), Some(s_clients(7, 3.0)));
        assert_eq!(Intensity::sum(&[]), None);
        assert_eq!(Intensity::sum(&[closed(1000), open(10.0, 7)]), None, "what both are together has no name");
    }

    #[test]
    fn a_closed_loop_has_connections_times_pipeline_in_flight() {
        let closed = Intensity::Closed { connections: 30, pipeline: 2, think: ThinkTime::default() };
        let open = Intensity::Open { rate: 1.0, arrival: Arrival::Constant, max_connections: 9, pipeline: 1 };
        assert_eq!((closed.in_flight(), open.in_flight()), (Some(60.0), None));
    }
}
