//! Usable time slots of a trial, with the throughput and the speeds in each of them.

use run::{LeverSlots, ProofTrial};

/// Minimum number of time slots per parameter: one for each lever, and one for the level of the throughput.
const SLOTS_OF_A_LEVER: usize = 8;

/// Returns the minimum number of time slots for an estimate with `levers` levers.
pub fn fewest_slots(levers: usize) -> usize {
    // The first time slot is not usable, because it has no preceding slot.
    SLOTS_OF_A_LEVER * (levers + 1) + 1
}

/// Returns the indexes of all time slots in which a request completed and all speeds are known. Leaves out the first
/// time slot, because it has no preceding slot. If too few time slots are usable, the error message says how many are
/// needed.
pub(crate) fn usable(trial: &ProofTrial) -> Result<Vec<usize>, String> {
    let n = trial.completed_rate.len();
    if trial.levers.is_empty() {
        return Err("no lever was used".into());
    }
    if trial.levers.iter().any(|l| l.on.len() != n || l.speed.len() != n) {
        return Err("the slots of the levers and of the load do not match".into());
    }
    let completed = |t: &usize| trial.completed_rate[*t].is_finite() && trial.completed_rate[*t] > 0.0;
    let read = |t: &usize| trial.levers.iter().all(|l| l.speed[*t].is_finite());
    let slots: Vec<usize> = (1..n).filter(|t| completed(t) && read(t)).collect();
    let needed = fewest_slots(trial.levers.len());
    match slots.len() + 1 >= needed {
        true => Ok(slots),
        false => Err(format!("only {} of {n} slots are usable, {needed} are needed", slots.len() + 1)),
    }
}

/// Returns the logarithm of the throughput in each of `slots`.
pub(crate) fn throughput(trial: &ProofTrial, slots: &[usize]) -> Vec<f64> {
    slots.iter().map(|t| trial.completed_rate[*t].ln()).collect()
}

/// Returns the logarithm of the speed of each lever's resource in each of `slots`.
pub(super) fn speeds(levers: &[LeverSlots], slots: &[usize]) -> Vec<Vec<f64>> {
    levers.iter().map(|l| slots.iter().map(|t| l.speed[*t].max(1e-3).ln()).collect()).collect()
}
