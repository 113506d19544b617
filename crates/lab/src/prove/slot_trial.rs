//! Choice between two kinds of experiments: many short time slots for all levers, or few long time slots for a single
//! lever. The second kind is for slow servers. A lever is a temporary change that an experiment makes, such as slowing
//! a CPU.

use run::ProofTrial;

use super::operating_point::OperatingPoint;
use super::{schedule, slots, sparse, untried};
use crate::levers::{Lever, LeverTargets};
use crate::{Lab, LabError, TargetSetup};

/// Conducts one load test under the first load of `operating_points` that fits into the time, with as many levers of
/// `rows` as possible. The levers that every experiment uses, and `own`, come first. If the server completes too few
/// requests for all levers, uses only `own`. If there is no time for a lever, the budget that it needs is recorded. The
/// error of the inner `Result` gives the reason why there is no result.
pub(super) fn trial(
    lab: &mut Lab<'_>,
    setup: &TargetSetup,
    operating_points: &[OperatingPoint],
    (rows, own): (&[&'static Lever], Option<&'static Lever>),
    targets: &LeverTargets,
    seconds: f64,
) -> Result<Result<ProofTrial, String>, LabError> {
    let own = own.filter(|own| rows.iter().any(|row| row.id == own.id));
    let is_needed = |row: &Lever| row.always || own.is_some_and(|own| own.id == row.id);
    let fitting = |rows: &[&'static Lever]| {
        let needs = slots::needs(setup, rows);
        let of = |point: &OperatingPoint| schedule::slots(point.speed(), needs, slots::FIRST_S, seconds);
        operating_points.iter().find_map(|point| Some((point, of(point)?)))
    };
    let mut used = rows.to_vec();
    let mut found = fitting(&used);
    while let Some(at) = used.iter().rposition(|row| !is_needed(row)).filter(|_| found.is_none() && used.len() > 1) {
        used.remove(at);
        found = fitting(&used);
    }
    let alone = own.or(rows.first().copied());
    let is_used = |row: &Lever| match found {
        Some(_) => used.iter().any(|one| one.id == row.id),
        None => alone.is_some_and(|one| one.id == row.id),
    };
    let why = too_short(lab, setup, operating_points, rows, seconds);
    rows.iter().filter(|row| !is_used(row)).for_each(|row| untried::note(lab, row, why.clone()));
    match (found, alone) {
        (Some((point, timetable)), _) => slots::one(lab, setup, point, &used, targets, timetable),
        (None, Some(row)) => sparse::trial(lab, setup, operating_points, row, targets, seconds),
        (None, None) => Ok(Err("no lever can be used here".into())),
    }
}

/// Returns a sentence with the budget that the time slots of all levers in `rows` need together.
fn too_short(
    lab: &Lab<'_>,
    setup: &TargetSetup,
    operating_points: &[OperatingPoint],
    rows: &[&'static Lever],
    seconds: f64,
) -> String {
    let needs = slots::needs(setup, rows);
    let least_s = |point: &OperatingPoint| schedule::least_seconds_of_many(point.speed(), needs, slots::FIRST_S);
    match operating_points.iter().filter_map(least_s).reduce(f64::min) {
        Some(least_s) => {
            let budget_s = untried::budget_for(lab, least_s, seconds);
            untried::no_time(&format!("slots of {} levers", rows.len()), least_s, (seconds, budget_s))
        }
        None => "the server completes too few requests for slots of several levers".into(),
    }
}
