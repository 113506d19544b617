//! Loads of an experiment on the server: turns with and without a lever (a temporary change), and slots (periods of
//! equal length) in which levers are switched on and off.

use serde::{Deserialize, Serialize};

use crate::SlotHist;
use crate::figure::Figure;

/// ID of the lever that takes whole CPUs away from the server. The lever that takes whole CPUs away is tested in a
/// separate trial.
pub const CPU_COUNT_LEVER: &str = "server-cpu-count";

/// One load, measured with and without a lever that cannot be switched during the load. Each pair of turns (short
/// measurements) has one turn with and one without the lever, in random order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SwitchTrial {
    /// ID of the lever, a row of `LEVERS`.
    pub lever: String,
    /// Host of the resource that the lever changes.
    pub host: String,
    /// Target and load of the trial, in words.
    pub label: String,
    /// Length of one turn, seconds.
    #[serde(with = "Figure")]
    pub turn_s: f64,
    /// Share of the resource that the lever removes, 0 to 1; below 0 if the lever adds some.
    #[serde(with = "Figure")]
    pub dose: f64,
    /// Values without the lever, one for each pair of turns: good responses per second, or a response time in
    /// microseconds.
    #[serde(with = "Figure::<Vec<f64>>")]
    pub off: Vec<f64>,
    /// Values with the lever, one for each pair of turns.
    #[serde(with = "Figure::<Vec<f64>>")]
    pub on: Vec<f64>,
}

/// One steady load, during which levers were switched on and off in slots (periods of equal length).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ProofTrial {
    /// Target and load of the trial, in words.
    pub label: String,
    /// Length of one slot, seconds.
    #[serde(with = "Figure")]
    pub slot_s: f64,
    /// Requests completed per second in each slot, without the time right after a lever was switched.
    #[serde(with = "Figure::<Vec<f64>>")]
    pub completed_rate: Vec<f64>,
    /// Response times of the requests due in each slot, without the time right after a lever was switched. Each pair
    /// contains the index of a histogram bucket and the bucket's count. Every 64 buckets of a histogram of response
    /// times cover a factor of two, and the first bucket ends at 1.024 us. Only open-loop loads record response times
    /// per slot.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slot_times: Vec<SlotHist>,
    /// Levers, with their state and effect per slot.
    pub levers: Vec<LeverSlots>,
    /// Measured value after all levers were switched off, divided by its value in the slots in which no lever was on.
    /// For a closed loop, the measured value is the throughput. For an open loop, the measured value is the median
    /// response time.
    pub after: Option<f64>,
}

impl ProofTrial {
    /// Returns the last trial without [`CPU_COUNT_LEVER`], in which the levers slowed resources.
    pub fn of_speeds(trials: &[Self]) -> Option<&Self> {
        trials.iter().rfind(|trial| trial.lever(CPU_COUNT_LEVER).is_none())
    }

    /// Returns the last trial that used a lever; `None` if no trial used it.
    pub fn of_lever<'a>(trials: &'a [Self], lever: &str) -> Option<&'a Self> {
        trials.iter().rfind(|trial| trial.lever(lever).is_some())
    }

    /// Returns the slots of a lever; `None` if this trial did not use the lever.
    pub fn lever(&self, id: &str) -> Option<&LeverSlots> {
        self.levers.iter().find(|lever| lever.lever == id)
    }

    /// Returns the mean throughput of the slots in which a lever was off; `None` if there were no such slots.
    pub fn rate_without(&self, lever: &LeverSlots) -> Option<f64> {
        let off = lever.on.iter().zip(&self.completed_rate).filter(|(on, rate)| !**on && rate.is_finite());
        let (sum, n) = off.fold((0.0, 0_u32), |(sum, n), (_, rate)| (sum + rate, n + 1));
        (n > 0).then(|| sum / f64::from(n))
    }
}

/// One lever in the slots of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LeverSlots {
    /// ID of the lever, a row of `LEVERS`.
    pub lever: String,
    /// Host of the resource that the lever slows.
    pub host: String,
    /// One flag per slot: true if the lever was on.
    pub on: Vec<bool>,
    /// Measured speed of the resource per slot; 1 is full speed.
    #[serde(with = "Figure::<Vec<f64>>")]
    pub speed: Vec<f64>,
    /// Share of the resource that loadline told the lever to take, 0 to 1. The field is absent in runs before 26
    /// November 2026.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ordered: Option<f64>,
    /// Share of the resource that a CPU thief (a lever that takes CPU time) took while the thief was on, 0 to 1. Absent
    /// for levers that are no CPU thieves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken: Option<f64>,
    /// Upper bound on the share of time in which the server used or waited for the resource while the thief was off, 0
    /// to 1. The measured bound includes the time in which any user of the resource ran or waited. The bound is absent
    /// if the share of time was not measured. Runs before 25 November 2026 store a share of all CPUs in this field,
    /// which is a smaller number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wanted: Option<f64>,
    /// Work of the resource for all its users, such as bytes per second, while the lever was on, divided by the work
    /// while it was off. Above 1, the resource had room for more work. Absent if the lever cannot measure the work, and
    /// in runs before 29 November 2026.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trial_with_fewer_cpus_is_not_the_trial_of_speeds() {
        let trial = |label: &str, levers: &[&str]| {
            let lever = |id: &&str| LeverSlots { lever: (*id).into(), ..LeverSlots::default() };
            ProofTrial { label: label.into(), levers: levers.iter().map(lever).collect(), ..ProofTrial::default() }
        };
        let speeds = trial("speeds", &["server-cpu", "client-cpu"]);
        let all = [speeds.clone(), trial("count", &[CPU_COUNT_LEVER])];
        assert_eq!(ProofTrial::of_speeds(&all), Some(&speeds));
        assert_eq!(ProofTrial::of_lever(&all, CPU_COUNT_LEVER), Some(&all[1]));
        assert_eq!(ProofTrial::of_lever(&all, "client-cpu"), Some(&speeds));
        assert_eq!(ProofTrial::of_lever(&all, "disk"), None);
    }
}
