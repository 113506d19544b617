//! Capacity of a server, and the knee of its throughput.

use serde::{Deserialize, Serialize};

use crate::Interval;
use crate::figure::Figure;
use crate::number::{Unit, number, quantity};

/// Capacity of a server: the highest completed rate at which it meets the objective.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Capacity {
    /// Capacity, requests per second.
    #[serde(with = "Figure")]
    pub rate: f64,
    /// Lowest offered rate at which the objective was not met; absent if there was no such rate. If loadline estimated
    /// the capacity from many short measurements (windows), failures below the capacity do not count.
    pub failed_at: Option<f64>,
    /// The limit broken at `failed_at`, in words: `p99 was 30 ms`.
    pub failed_why: Option<String>,
    /// The objective in words: `p99 <= 20 ms and errors <= 0.1 %`.
    pub objective: String,
    /// Description of how the capacity was measured, and of what limits its accuracy.
    pub method: String,
    /// True if the objective was met at `rate`. If the objective was not met even with the lowest load, `held` is
    /// false, and the capacity is below `rate`.
    pub held: bool,
    /// Set if `rate` comes from the closed-loop sweep, because no open loop met the objective at this rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_loop: Option<ClosedLoopSource>,
    /// True if the capacity may be far higher than `rate`, because the search ended too early: throughput was still
    /// growing and no load missed the objective, or too few rates below `failed_at` were tried, or the server still
    /// started processes (`growing`).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// Time budget with which the search would not end too early, seconds. Present if the capacity is only a lower
    /// bound because the budget of the run was used up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed_s: Option<f64>,
    /// Windows of the open-loop search; present if the capacity is only a lower bound, and the search had windows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_windows: Option<BoundWindows>,
    /// Lower end of the capacity's 95 % interval, requests per second; absent if the measured windows do not suffice
    /// for an interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of the capacity's 95 % interval, requests per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Number of the search's measured windows from which the capacity was computed.
    #[serde(skip_serializing_if = "no_windows")]
    pub windows: usize,
    /// Coefficient of variation of the capacities that the repeats of the run measured; absent without repeats. With
    /// repeats, the interval of the capacity comes from the capacities of the repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variation: Option<f64>,
    /// Time that loadline left out because of disturbances, and the capacity with this time included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<ExcludedTime>,
    /// Set if the load itself was the limit: the server did not miss the objective, and more connections would have
    /// given a higher rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_limit: Option<OwnLimit>,
    /// Set if `rate` is the rate of a long load, because short windows completed more than the server can keep up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long_run: Option<LongRun>,
    /// Set if the server still started worker processes under the last load. `rate` is then only a lower bound, because
    /// earlier loads had fewer processes than the server may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growing: Option<GrowingProcesses>,
}

/// Worker processes of a program whose number still grew under the last load of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct GrowingProcesses {
    /// Name of the program.
    pub program: String,
    /// Number of its processes under the first load.
    pub first: usize,
    /// Number of its processes under the last load.
    pub last: usize,
}

impl GrowingProcesses {
    /// Describes the growth in words.
    pub fn words(&self) -> String {
        let (program, first, last) = (&self.program, number(self.first as f64), number(self.last as f64));
        format!("{program} still started processes under the last load ({first} at first, {last} at the end)")
    }
}

/// Windows of an open-loop search that found only a lower bound of the capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct BoundWindows {
    /// Number of windows that met the objective.
    pub held: u32,
    /// Number of all windows, including those that other programs disturbed.
    pub all: u32,
}

impl BoundWindows {
    /// Describes in words on how many windows the lower bound rests.
    pub fn words(self) -> String {
        match (self.held, self.all) {
            (_, 1) => "seen in a single window".into(),
            (2.., 2) => "held in both windows".into(),
            (held, all) if held >= all => format!("held in all {all} windows"),
            (held, all) => format!("held in only {held} of {all} windows"),
        }
    }
}

/// Long load that shows the capacity of a server that stores credit while it is idle, such as a burst that a rate
/// limiter allows, or free room in a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LongRun {
    /// Length of the load, seconds.
    #[serde(with = "Figure")]
    pub length_s: f64,
    /// Capacity by the windows of the search, which is too high, requests per second.
    #[serde(with = "Figure")]
    pub first_rate: f64,
}

impl LongRun {
    /// Describes in words the long load from which the capacity comes.
    pub fn words(&self) -> String {
        format!(
            "kept up for {:.1} s; the first second of a load reached {}, from stored credit such as a burst or a buffer",
            self.length_s,
            quantity(self.first_rate, Unit::PerSecond)
        )
    }
}

/// Closed loop from which the capacity comes, if no open loop met the objective. Closed-loop clients send less while
/// the server is slow, so independent users may get slow answers at the same rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ClosedLoopSource {
    /// Highest rate at which an open loop met the objective, requests per second; absent if there was no such rate.
    pub open_held: Option<f64>,
}

impl ClosedLoopSource {
    /// Describes in words the closed loop from which the capacity comes.
    pub fn words(&self) -> String {
        match self.open_held {
            Some(rate) => format!("closed loop: in an open loop only {} was held", quantity(rate, Unit::PerSecond)),
            None => "closed loop: no rate was held in an open loop".into(),
        }
    }
}

/// An open-loop load that had too few connections, while the server answered about as fast as without load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct OwnLimit {
    /// Offered rate, requests per second.
    #[serde(with = "Figure")]
    pub offered_rate: f64,
    /// Maximum number of connections of the load. Nearly all connections of the load were in use.
    pub connections: u32,
    /// Mean time for which a request occupied a connection, microseconds.
    #[serde(with = "Figure")]
    pub response_us: f64,
}

impl Capacity {
    /// Returns half the width of the capacity's 95 % interval, divided by the capacity.
    pub fn precision(&self) -> Option<f64> {
        let half = (self.high? - self.low?) / (2.0 * self.rate);
        half.is_finite().then_some(half)
    }
}

fn no_windows(n: &usize) -> bool {
    *n == 0
}

/// Time left out of the estimate because of disturbances. Disturbances are pauses of a generator's host, and an unusual
/// share of CPU time taken by other programs or other virtual machines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ExcludedTime {
    /// Length of the left-out time within the measured windows, seconds.
    #[serde(with = "Figure")]
    pub seconds: f64,
    /// Number of pauses of a generator's host.
    pub pauses: usize,
    /// Time in which other programs took an unusual share of the CPUs, seconds.
    #[serde(with = "Figure", skip_serializing_if = "crate::skip_empty::is_zero")]
    pub others_s: f64,
    /// CPU time that the other programs took in `others_s`, divided by the number of the machine's CPUs, seconds.
    #[serde(with = "Figure", skip_serializing_if = "crate::skip_empty::is_zero")]
    pub others_cpu_s: f64,
    /// Capacity with the left-out time included, requests per second. Absent if the remaining time was too short for an
    /// estimate. If the rate is absent, the capacity itself includes the left-out time.
    pub rate: Option<f64>,
    /// Confidence interval of `rate`.
    pub interval: Option<Interval>,
}

/// Knee of the throughput curve: N* = R1 × Xmax, the response time with one client times the maximum throughput (R.
/// Blake, Optimizing Windows NT, 1993).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Knee {
    /// Number of requests in flight at the knee (N*).
    #[serde(with = "Figure")]
    pub concurrency: f64,
    /// Response time with one client, microseconds.
    #[serde(with = "Figure")]
    pub r1_us: f64,
    /// Highest completed rate, requests per second.
    #[serde(with = "Figure")]
    pub x_max: f64,
    /// Smallest measured number of requests in flight with which the throughput reached 95 % of `x_max`.
    pub reached_at: Option<f64>,
}
