//! Levers (temporary changes of the experiment) that are switched on and off in the time slots of one load.

use std::collections::BTreeMap;

use run::LeverCheck;

use super::choose::{allowed, switchable};
use super::lever_targets::lever_targets;
use super::operating_point::OperatingPoint;
use super::{offered_rate, slot_trial, untried};
use crate::levers::{LEVERS, Lever, LeverTargets, Pull};
use crate::trial::put_back;
use crate::{Lab, LabError, TargetSetup};

/// Uses levers in time slots until `end_s`, in seconds since the start of the run.
pub(super) fn in_slots(
    lab: &mut Lab<'_>,
    setup: &TargetSetup,
    (operating_points, own): (&[OperatingPoint], Option<&'static Lever>),
    wanted: impl Fn(&Lever) -> bool,
    end_s: f64,
) -> Result<(), LabError> {
    let Some(operating_point) = operating_points.first().filter(|_| !lab.stopped()) else { return Ok(()) };
    let targets = targets(lab, setup, operating_points);
    let rows = usable_levers(lab, setup, operating_point, &targets, wanted);
    let answer = lab.run.findings.proof.as_ref().map(|proof| proof.of).unwrap_or_default();
    // The agents of levers need as long to start as the agents of generators, so the starting time is subtracted twice
    // from the remaining time.
    let seconds = end_s - lab.elapsed_s() - 2.0 * lab.clock.starting_s();
    let found = match operating_point.at_rate {
        Some(at_rate) => {
            offered_rate::trial(lab, setup, (operating_point, &at_rate, answer), &rows, &targets, seconds)?
        }
        None => slot_trial::trial(lab, setup, operating_points, (&rows, own), &targets, seconds)?,
    };
    match found {
        Ok(trial) => lab.run.findings.proof.iter_mut().for_each(|proof| proof.trials.push(trial.clone())),
        Err(why) => match own.filter(|row| row.is_alone()) {
            Some(row) => untried::note(lab, row, why),
            None => lab.run.findings.proof.iter_mut().for_each(|proof| note_no_slots(proof, &why)),
        },
    }
    put_back(lab, setup.server_host());
    Ok(())
}

/// Returns the targets of the levers for the given loads. The first load is the preferred one.
fn targets(lab: &Lab<'_>, setup: &TargetSetup, operating_points: &[OperatingPoint]) -> LeverTargets {
    let mut targets = lever_targets(lab, setup);
    let at_rate = operating_points.first().and_then(|point| point.at_rate);
    targets.at_rate = at_rate.is_some();
    targets.share = at_rate.and_then(|at_rate| offered_rate::dose(&at_rate).ok()).unwrap_or(0.0);
    // At an offered rate, a lever that takes CPU time delays each response by one piece of this time, whatever the
    // response time is. The pieces therefore have the shortest possible length, as for a response time of 0.
    let response_s = |point: &OperatingPoint| if point.at_rate.is_some() { 0.0 } else { point.response_s };
    targets.response_s = operating_points.iter().map(response_s).fold(f64::INFINITY, f64::min);
    targets
}

/// Returns the wanted levers that can be used in time slots, and records the reasons for the others. A lever that needs
/// its own load test is not checked here, because the caller has already checked it.
fn usable_levers(
    lab: &mut Lab<'_>,
    setup: &TargetSetup,
    operating_point: &OperatingPoint,
    targets: &LeverTargets,
    wanted: impl Fn(&Lever) -> bool,
) -> Vec<&'static Lever> {
    let (mut rows, mut taken) = (Vec::new(), BTreeMap::new());
    for row in LEVERS.iter().filter(|row| wanted(row) && matches!(row.pull, Pull::Slots { .. })) {
        let found = match row.is_alone() {
            true => Ok(LeverCheck::default()),
            false => allowed(lab, row).and_then(|()| switchable(lab, setup, (row, operating_point), targets)),
        };
        match found.and_then(|found| take_resources(row, found, &mut taken)) {
            Ok(()) => rows.push(row),
            Err(why) => untried::note(lab, row, why),
        }
    }
    rows
}

/// Reserves the resource that a lever changes. If another lever already changes the resource, the error names this
/// other lever.
fn take_resources(row: &Lever, found: LeverCheck, taken: &mut BTreeMap<String, &'static str>) -> Result<(), String> {
    if let Some((resource, other)) = found.resources.iter().find_map(|resource| taken.get_key_value(resource)) {
        return Err(format!("the lever {other} changes {resource} already"));
    }
    taken.extend(found.resources.into_iter().map(|resource| (resource, row.id)));
    Ok(())
}

/// Records the reason for an experiment without time slots, unless turns have already tested the throughput.
pub(super) fn note_no_slots(proof: &mut run::Proof, why: &str) {
    if proof.switched.is_empty() || !proof.of.is_throughput() {
        proof.why = why.to_owned();
    }
}
