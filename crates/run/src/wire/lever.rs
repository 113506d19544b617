//! Levers: changes of resources that an experiment switches on and off during a load. The experiment divides the load
//! into slots (periods of equal length).

use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::skip_empty;

/// Slots of equal length, relative to the start of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SlotPlan {
    /// Start of the first slot, seconds after the start of the load.
    pub first_s: f64,
    /// Length of a slot, seconds.
    pub slot_s: f64,
    /// Time at the start of each slot that is not measured, seconds. At the start of a slot, the queues that the
    /// previous slot caused drain.
    pub settle_s: f64,
    /// Number of slots in this plan.
    pub count: u32,
}

impl SlotPlan {
    /// Returns start and end of a slot's measured part, nanoseconds after the start of the load.
    pub fn measured_ns(&self, slot: u32) -> (u64, u64) {
        let begin_s = self.first_s + f64::from(slot) * self.slot_s;
        let ns = |s: f64| (s.max(0.0) * 1e9) as u64;
        (ns(begin_s + self.settle_s), ns(begin_s + self.slot_s))
    }

    /// Returns the slot whose measured part contains a time, nanoseconds after the start of the load; `None` outside
    /// all measured parts.
    pub fn slot_at(&self, ns: u64) -> Option<u32> {
        let since_s = ns as f64 / 1e9 - self.first_s;
        if since_s < 0.0 || self.slot_s <= 0.0 {
            return None;
        }
        let slot = (since_s / self.slot_s) as u32;
        (slot < self.count && since_s - f64::from(slot) * self.slot_s >= self.settle_s).then_some(slot)
    }

    /// Returns the end of the last slot, seconds after the start of the load.
    pub fn end_s(&self) -> f64 {
        self.first_s + f64::from(self.count) * self.slot_s
    }
}

/// Task of a lever agent, which changes a resource in some slots of a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct LeverPlan {
    /// ID of the lever, a row of `LEVERS`.
    pub lever: String,
    /// Start of the load, nanoseconds since the epoch; 0 if the command [`crate::AgentCommand::Follow`] gives the start
    /// time.
    pub start_at_ns: u64,
    /// Slots of the load.
    pub slots: SlotPlan,
    /// One flag per slot: true if the lever is on.
    pub on: Vec<bool>,
    /// CPUs that the lever slows; if empty, the CPUs on which the processes in `pids` may run.
    pub cpus: Vec<u32>,
    /// Length of a turn (period of the lever), nanoseconds; 0 means half a millisecond. In each turn, the lever takes
    /// its share of the CPU once.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub turn_ns: u64,
    /// Share of each CPU that the lever takes; 0 means a quarter.
    #[serde(skip_serializing_if = "skip_empty::is_zero")]
    pub share: f64,
    /// True if the processes that the lever slows are mostly idle. If the processes are idle, only the lever's own
    /// measurement shows how much CPU time the lever took.
    #[serde(skip_serializing_if = "skip_empty::is_false")]
    pub victims_idle: bool,
    /// Processes that the lever slows or measures.
    pub pids: Vec<u32>,
    /// Path that the lever needs: a control group, a directory, or the socket of the process that maintains a testbed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<std::path::PathBuf>,
    /// Name of the disk that the lever tests; if absent, any disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
}

/// Facts that loadline finds about a lever and its host before it uses the lever.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LeverCheck {
    /// Number of file descriptors that the processes may have while the lever is on; 0 for levers on other resources.
    pub descriptors: u64,
    /// Kernel files of the resources that the lever changes. Two levers that change the same resource exclude each
    /// other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
}

/// Results of a lever. If the lever could not measure a slot, the slot's value in a list is not-a-number.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LeverPart {
    /// Speed of the resource in each slot; 1 is full speed.
    #[serde(with = "Figure::<Vec<f64>>")]
    pub speed: Vec<f64>,
    /// Share of the CPUs that the lever took in each slot, 0 to 1.
    #[serde(with = "Figure::<Vec<f64>>")]
    pub taken: Vec<f64>,
    /// Share of the resource that the lever tries to take while it is on; absent if the plan already states this share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ordered: Option<f64>,
    /// Upper bounds, one per slot, on the share of time in which at least one of the slowed processes needed the
    /// resource.
    #[serde(with = "Figure::<Vec<f64>>")]
    pub wanted: Vec<f64>,
    /// Work of the resource for all its users in each slot, such as bytes per second. Empty if the lever cannot measure
    /// the work.
    #[serde(with = "Figure::<Vec<f64>>")]
    pub work: Vec<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_belongs_to_a_slot_only_after_the_slot_settled() {
        let plan = SlotPlan { first_s: 1.0, slot_s: 0.5, settle_s: 0.1, count: 2 };
        let at = |s: f64| plan.slot_at((s * 1e9) as u64);
        assert_eq!(
            [0.5, 1.05, 1.2, 1.49, 1.55, 1.7, 2.01].map(at),
            [None, None, Some(0), Some(0), None, Some(1), None]
        );
        assert_eq!(SlotPlan::default().slot_at(5), None);
    }
}
