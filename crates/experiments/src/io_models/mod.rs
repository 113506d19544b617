//! `lab io-models`: measures an echo server with each I/O model, under the three loads (entries) of a published table.
//! The table is by A. Jones and A. Deshpande (source 4).

mod conclude;
mod contender;
mod entry;
mod figures;
mod growth;
mod held;
mod loads;
mod other_hosts;
mod rows;
mod servers;
mod stage;
mod text;
mod threads;
mod turns;
mod values;
mod words;

pub(super) use figures::FIGURES;
pub(super) use text::IO_MODELS;

use lab::{Lab, LabError};

use self::contender::Contender;
use self::entry::one;
use self::stage::Stage;
use crate::Parameters;

/// Runs the experiment.
pub(super) fn run(lab: &mut Lab<'_>, parameters: &Parameters) -> Result<(), LabError> {
    text::NOTES.iter().for_each(|note| lab.note(*note));
    let stage = Stage::build(lab, parameters)?;
    let all: Vec<&str> = serve::MODELS.iter().map(|m| m.name).filter(|n| *n != "workers").collect();
    for name in parameters.texts("models", &all) {
        let contender = Contender::read(&name);
        for entry in parameters.numbers("entries", &[1.0, 2.0, 3.0]) {
            if lab.stopped() {
                return Ok(());
            }
            let trial = one(lab, &stage, parameters, &contender, entry as u32)?;
            lab.keep(trial)?;
        }
    }
    turns::play(lab, &stage, parameters)?;
    conclude::conclude(&mut lab.run, parameters);
    Ok(())
}
