//! `lab connections`: load generators and loadline's own servers keep many connections open on this machine, and
//! exchange messages on randomly chosen connections. The experiment measures the cost of a connection that is mostly
//! idle, and follows no published paper.

mod conclude;
mod figures;
mod layout;
mod memory;
mod room;
mod stage;
mod text;
mod trial;
mod values;

pub(super) use figures::FIGURES;
pub(super) use text::CONNECTIONS;

use lab::{Lab, LabError};

use self::stage::Stage;
use crate::Parameters;

/// Default number of connections of the small trial, to which the large trial is compared.
const FEW: u32 = 1000;

/// Returns the planned time of the experiment, seconds.
pub(super) fn planned_s(parameters: &Parameters) -> f64 {
    let connections = parameters.count("connections", 10_000).max(2);
    let few = parameters.count("few", FEW).clamp(1, connections / 2);
    [few, connections].into_iter().map(|n| trial::planned_s(parameters, n)).sum()
}

/// Runs the experiment `lab connections`.
pub(super) fn run(lab: &mut Lab<'_>, parameters: &Parameters) -> Result<(), LabError> {
    let connections = parameters.count("connections", 10_000).max(2);
    let processes = room::processes(connections, parameters.count("processes", 0), sys::limits::descriptors().0)?;
    room::check(connections, processes, &room::has())?;
    let few = parameters.count("few", FEW).clamp(1, connections / 2).max(processes);
    let stage = Stage::build(lab);
    for n in [few, connections] {
        if lab.stopped() {
            return Ok(());
        }
        let held = trial::conduct(lab, &stage, parameters, layout::pairs(n, processes))?;
        let held = match lab.run.trials.last() {
            Some(few) => memory::put(held, few),
            None => held,
        };
        lab.keep(held)?;
    }
    conclude::conclude(&mut lab.run, parameters);
    Ok(())
}
