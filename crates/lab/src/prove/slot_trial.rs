//! Choice of the slots: many short ones for all levers, or few long ones for a single lever of a slow server.

use run::ProofTrial;

use super::operating_point::OperatingPoint;
use super::{schedule, slots, sparse};
use crate::levers::{Lever, LeverTargets};
use crate::{Lab, LabError, TargetSetup};

/// Conducts one trial with these levers, under the first of the loads for which the time suffices. For a server that
/// completes too few requests for all of them, `own` is used alone. The inner error says why there is no trial.
pub(super) fn trial(
    lab: &mut Lab<'_>,
    setup: &TargetSetup,
    operating_points: &[OperatingPoint],
    (rows, own): (&[&'static Lever], Option<&'static Lever>),
    targets: &LeverTargets,
    seconds: f64,
) -> Result<Result<ProofTrial, String>, LabError> {
    let needs = slots::needs(setup, rows);
    let fitting = |point: &&OperatingPoint| schedule::slots(point.speed(), needs, slots::FIRST_S, seconds);
    let found = operating_points.iter().find_map(|point| Some((point, fitting(&point)?)));
    let own = own.filter(|own| rows.iter().any(|row| row.id == own.id));
    match (found, own.or(rows.first().copied())) {
        (Some((point, timetable)), _) => slots::one(lab, setup, point, rows, targets, timetable),
        (None, Some(row)) => sparse::trial(lab, setup, operating_points, row, targets, seconds),
        (None, None) => Ok(Err("no lever can be used here".into())),
    }
}
