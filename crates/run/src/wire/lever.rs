//! Levers: what an experiment switches on and off while a load is on, slot by slot.

use serde::{Deserialize, Serialize};

use crate::unsaid;

/// Slots of equal length, counted from the start of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SlotPlan {
    /// When the first one begins, seconds after the load's start.
    pub first_s: f64,
    /// Length of one, seconds.
    pub slot_s: f64,
    /// What of it is left out at its begin, seconds: queues of the slot before are served then.
    pub settle_s: f64,
    /// How many.
    pub count: u32,
}

impl SlotPlan {
    /// The part of a slot that is measured: begin and end in nanoseconds after the load's start.
    pub fn measured_ns(&self, slot: u32) -> (u64, u64) {
        let begin_s = self.first_s + f64::from(slot) * self.slot_s;
        let ns = |s: f64| (s.max(0.0) * 1e9) as u64;
        (ns(begin_s + self.settle_s), ns(begin_s + self.slot_s))
    }

    /// The slot in whose measured part a moment lies, nanoseconds after the load's start.
    pub fn slot_at(&self, ns: u64) -> Option<u32> {
        let since_s = ns as f64 / 1e9 - self.first_s;
        if since_s < 0.0 || self.slot_s <= 0.0 {
            return None;
        }
        let slot = (since_s / self.slot_s) as u32;
        (slot < self.count && since_s - f64::from(slot) * self.slot_s >= self.settle_s).then_some(slot)
    }

    /// When the last one ends, seconds after the load's start.
    pub fn end_s(&self) -> f64 {
        self.first_s + f64::from(self.count) * self.slot_s
    }
}

/// A lever to be pulled by an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct LeverPlan {
    /// Row of `LEVERS`.
    pub lever: String,
    /// The load's start, nanoseconds since the epoch; 0: it comes with [`crate::AgentCommand::Follow`].
    pub start_at_ns: u64,
    /// The slots of the load.
    pub slots: SlotPlan,
    /// In which of them it is on.
    pub on: Vec<bool>,
    /// CPUs that it acts on; empty for those that its processes may use.
    pub cpus: Vec<u32>,
    /// Length of its turns where it takes a share of each, nanoseconds; 0: half a millisecond.
    #[serde(skip_serializing_if = "unsaid::is_no_count")]
    pub turn_ns: u64,
    /// Share of each CPU that it takes; 0: a quarter.
    #[serde(skip_serializing_if = "unsaid::is_zero")]
    pub share: f64,
    /// Processes whose speed is measured, or that it acts on.
    pub pids: Vec<u32>,
    /// What it acts on in the file system: a control group, a directory, the socket of a testbed's keeper.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<std::path::PathBuf>,
}

/// What was found on the host of a lever before it is pulled there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LeverFound {
    /// Descriptors that its processes may hold together while it is held; 0 where it is not about them.
    pub descriptors: u64,
}

/// What a lever did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LeverPart {
    /// Speed of the resource in each slot, 1 for all of it.
    pub speed: Vec<f64>,
    /// Share of the CPUs that it took in each slot.
    pub taken: Vec<f64>,
    /// Share of the time in which any of its victims wanted its resource in each slot, at most.
    pub wanted: Vec<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_belongs_to_the_measured_part_of_one_slot() {
        let plan = SlotPlan { first_s: 1.0, slot_s: 0.5, settle_s: 0.1, count: 2 };
        let at = |s: f64| plan.slot_at((s * 1e9) as u64);
        assert_eq!(
            [0.5, 1.05, 1.2, 1.49, 1.55, 1.7, 2.01].map(at),
            [None, None, Some(0), Some(0), None, Some(1), None]
        );
        assert_eq!(SlotPlan::default().slot_at(5), None);
    }
}
