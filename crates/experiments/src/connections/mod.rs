//! `lab connections`: as many connections as are asked for, held by generators and reference servers of this machine, with
//! messages on random ones of them. Not from a source: what a connection that says little costs here.

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

/// Connections of the trial that the large one is held against.
const FEW: u32 = 1000;

/// Conducts the experiment.
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
