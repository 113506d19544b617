//! Choice of levers that are allowed, can be used on their host, and test the verdict (the named bottleneck). A lever
//! is a temporary change that an experiment makes, such as slowing a CPU.

use run::{LeverCheck, Prove};

use super::host_questions::check;
use super::lever_targets::lever_targets;
use super::offered_rate;
use super::operating_point::OperatingPoint;
use crate::levers::{LEVERS, Lever, LeverTargets, LoadPair, Pull};
use crate::{Lab, TargetSetup};

/// A lever (change of an experiment) that cannot be used, with the reason.
pub(super) type Refused = (&'static Lever, String);

/// Returns the first usable lever that tests the verdict, and the levers that were refused before this lever was found.
/// If no lever can be used, returns the first lever, and the refused levers after it.
pub(super) fn own(
    lab: &Lab<'_>,
    setup: &TargetSetup,
    operating_point: &OperatingPoint,
) -> (Option<&'static Lever>, Vec<Refused>) {
    let suspects = judge::prove::suspects_of(&lab.run.findings.bottleneck);
    let rows: Vec<&Lever> = suspects.filter_map(|s| LEVERS.iter().find(|row| row.id == s.lever)).collect();
    let load = operating_point.load(setup);
    let mut refused = Vec::new();
    for row in &rows {
        match allowed(lab, row).and_then(|()| possible(lab, setup, (row, operating_point), &load)) {
            Ok(()) => return (Some(row), refused),
            Err(why) => refused.push((*row, why)),
        }
    }
    // If no lever can be used, the experiment tries the first lever, and then reports why this lever fails.
    (rows.first().copied(), refused.split_off(refused.len().min(1)))
}

/// Checks that a lever (change of an experiment) can be used on its host. The error gives the reason why the lever
/// cannot be used.
fn possible(
    lab: &Lab<'_>,
    setup: &TargetSetup,
    (row, operating_point): (&Lever, &OperatingPoint),
    load: &run::LoadPlan,
) -> Result<(), String> {
    match row.pull {
        Pull::Slots { .. } => switchable(lab, setup, (row, operating_point), &lever_targets(lab, setup)).map(drop),
        Pull::Offered => Err("it needs an offered rate (--rate)".into()),
        Pull::Turns(_) | Pull::TurnsWithChange { .. } => load_pair(lab, setup, row, load).map(drop),
    }
}

/// Asks the lever's host whether a lever can be used that is switched on and off in time slots. Returns the facts that
/// were found on the host.
pub(super) fn switchable(
    lab: &Lab<'_>,
    setup: &TargetSetup,
    (row, operating_point): (&Lever, &OperatingPoint),
    targets: &LeverTargets,
) -> Result<LeverCheck, String> {
    let Pull::Slots { plan, check: asks, .. } = row.pull else { return Err("it is switched in turns".into()) };
    let plan = plan(targets)?;
    if let Some(at_rate) = operating_point.at_rate.filter(|_| plan.share == 0.0) {
        offered_rate::leaves_room(&at_rate, row)?;
    }
    asks.map_or_else(|| Ok(LeverCheck::default()), |_| check(lab, setup, row, &plan))
}

/// Returns an error if the lever needs the permission `--prove=intrusive` and the user has not given it.
pub(super) fn allowed(lab: &Lab<'_>, row: &Lever) -> Result<(), String> {
    if row.needs == Prove::Intrusive && lab.run.plan.search.prove != Prove::Intrusive {
        return Err("it changes the server's own limits or processes; allow that with --prove=intrusive".into());
    }
    Ok(())
}

/// Returns the two loads of a lever that is used in turns: without and with the lever. `change` is the change that is
/// kept in place during the load with the lever.
pub(super) fn load_pair(
    lab: &Lab<'_>,
    setup: &TargetSetup,
    row: &Lever,
    load: &run::LoadPlan,
) -> Result<LoadPair, String> {
    let targets = lever_targets(lab, setup);
    match row.pull {
        Pull::Turns(alter) => alter(&targets, load),
        Pull::TurnsWithChange { plan, load: shown, .. } => {
            let change = plan(&targets)?;
            let load = shown(&check(lab, setup, row, &change)?, load);
            Ok(LoadPair { off: load.clone(), on: load, dose: row.planned, change: Some(change) })
        }
        Pull::Slots { .. } | Pull::Offered => Err("it is switched in slots".into()),
    }
}
