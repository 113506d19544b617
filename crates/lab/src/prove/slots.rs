//! One steady load during which an experiment switches levers on and off. A lever is a temporary change, such as
//! slowing a CPU. Each lever has its own random sequence, in which it is on in about half of the time slots.

use run::number::prose::counted;
use run::{LoadPlan, ProofTrial, SlotPlan, Trial, TrialKind};
use sys::clock::Origin;

use super::active_levers::ActiveLevers;
use super::operating_point::OperatingPoint;
use super::schedule;
use crate::agents::AgentGroup;
use crate::levers::{Lever, LeverTargets};
use crate::{Lab, LabError, Point, TargetSetup};

/// Time from the start of the load to the first time slot, seconds. Before the first time slot, connections are
/// established and caches are filled.
pub(super) const FIRST_S: f64 = 0.4;

/// Returns what the levers in `rows` require of the experiment's time slots, such as a minimum length.
pub(super) fn needs(setup: &TargetSetup, rows: &[&'static Lever]) -> schedule::SlotNeeds {
    let far = rows.iter().any(|row| setup.hosts_of(row.place).iter().any(|host| host.is_remote()));
    schedule::SlotNeeds::new(rows, far)
}

/// Conducts one load test with the given time slots.
pub(super) fn one(
    lab: &mut Lab<'_>,
    setup: &TargetSetup,
    operating_point: &OperatingPoint,
    rows: &[&'static Lever],
    targets: &LeverTargets,
    slots: SlotPlan,
) -> Result<Result<ProofTrial, String>, LabError> {
    let load = operating_point.load(setup);
    let mut random = fastrand::Rng::with_seed(sys::clock::realtime_ns());
    let recovery = schedule::recovery_slots(slots.count, rows);
    let on = rows.iter().map(|_| schedule::sequence(slots.count, recovery, &mut random)).collect();
    let table = Timetable {
        slots,
        on,
        load,
        label: format!("proof, {}", counted(f64::from(operating_point.connections), "connection")),
    };
    let found = conduct(lab, setup, rows, targets, table)?;
    Ok(found.and_then(|(trial, levers)| proof_trial(&trial, slots, levers, recovery)))
}

/// A load, and the time slots in which each lever is on.
pub(super) struct Timetable {
    pub(super) slots: SlotPlan,
    /// For each lever, one flag per time slot: true if the lever is on.
    pub(super) on: Vec<Vec<bool>>,
    pub(super) load: LoadPlan,
    pub(super) label: String,
}

/// Conducts one load with the levers in `rows` and returns its results. The error of the inner `Result` gives the
/// reason why there is no result.
pub(super) fn conduct(
    lab: &mut Lab<'_>,
    setup: &TargetSetup,
    rows: &[&'static Lever],
    targets: &LeverTargets,
    table: Timetable,
) -> Result<Result<(Trial, Vec<run::LeverSlots>), String>, LabError> {
    let slots = table.slots;
    let plan = LoadPlan { warmup_s: FIRST_S, duration_s: slots.end_s() - FIRST_S, slots: Some(slots), ..table.load };
    let point = Point { label: table.label, kind: TrialKind::Proof, ..Point::default() };
    let loads = setup.single_load(plan);
    let mut active = ActiveLevers::prepare(setup, lab.program(), rows, targets, (slots, &table.on));
    let mut start = |generators: &AgentGroup, origin: Origin| active.announce(generators, origin);
    // The lever `worker` stops a worker on purpose, so its load is not observed: the worker must not be reported as
    // failed.
    let stops = rows.iter().any(|row| row.id == "worker");
    let observation = if stops { setup.observation.blind() } else { setup.observation.clone() };
    let trial = lab.conduct_beside(&observation, &loads, &point, &mut start)?;
    let found = match lab.stopped() {
        true => Err("it was interrupted".into()),
        false => active.finish().map(|levers| (trial.clone(), levers)),
    };
    lab.keep(trial)?;
    Ok(found)
}

fn proof_trial(
    trial: &Trial,
    slots: SlotPlan,
    levers: Vec<run::LeverSlots>,
    recovery_slots: usize,
) -> Result<ProofTrial, String> {
    let completed_rate = trial.measured.slot_rates.clone();
    if completed_rate.len() != slots.count as usize {
        return Err(format!("the load was seen in {} of {} slots", completed_rate.len(), slots.count));
    }
    let label = trial.label.clone();
    let mean = |slots: &[usize]| {
        let rates: Vec<f64> = slots.iter().map(|t| completed_rate[*t]).filter(|rate| rate.is_finite()).collect();
        (!rates.is_empty()).then(|| judge::average(&rates))
    };
    let after = recovery(&levers, completed_rate.len(), mean).filter(|_| recovery_slots > 0);
    Ok(ProofTrial { label, slot_s: slots.slot_s, levers, completed_rate, after, ..ProofTrial::default() })
}

/// Returns the throughput or response time after the last time slot with a lever, divided by the value in the time
/// slots without any lever. `answer` computes the throughput or response time of several time slots together.
pub(super) fn recovery(
    levers: &[run::LeverSlots],
    count: usize,
    answer: impl Fn(&[usize]) -> Option<f64>,
) -> Option<f64> {
    let end = count.saturating_sub(schedule::RECOVERY_SLOTS);
    let without: Vec<usize> = (0..end).filter(|slot| levers.iter().all(|lever| !lever.on[*slot])).collect();
    // In the first time slot after a lever, the server still works on requests that the lever delayed.
    let after: Vec<usize> = (end + 1..count).collect();
    Some(answer(&after)? / answer(&without)?)
}
