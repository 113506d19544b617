//! `lab io-models`: measures an echo server with each I/O model, under the three loads (entries) of a published table.
//! The published table of I/O models is by A. Jones and A. Deshpande (source 4).

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
use crate::experiment::AROUND_TRIAL_S;

/// Returns the planned time of the experiment, seconds.
pub(super) fn planned_s(parameters: &Parameters) -> f64 {
    let of_entry = |parameters: &Parameters, entry: u32| {
        let loads = loads::loads(parameters, entry, 1, &[]);
        loads.iter().map(|load| load.warmup_s + load.duration_s).fold(0.0, f64::max) + AROUND_TRIAL_S
    };
    let entries: f64 = entries(parameters).into_iter().map(|entry| of_entry(parameters, entry)).sum();
    let turns = f64::from(turns::trials(parameters)) * of_entry(&turns::short(parameters), 1);
    models(parameters).len() as f64 * entries + turns
}

fn models(parameters: &Parameters) -> Vec<String> {
    let all: Vec<&str> = serve::MODELS.iter().map(|m| m.name).filter(|n| *n != "workers").collect();
    parameters.texts("models", &all)
}

fn entries(parameters: &Parameters) -> Vec<u32> {
    parameters.numbers("entries", &[1.0, 2.0, 3.0]).into_iter().map(|entry| entry as u32).collect()
}

/// Runs the experiment `lab io-models`.
pub(super) fn run(lab: &mut Lab<'_>, parameters: &Parameters) -> Result<(), LabError> {
    text::NOTES.iter().for_each(|note| lab.note(*note));
    let stage = Stage::build(lab, parameters)?;
    for name in models(parameters) {
        let contender = Contender::read(&name);
        for entry in entries(parameters) {
            if lab.stopped() {
                return Ok(());
            }
            let trial = one(lab, &stage, parameters, &contender, entry)?;
            lab.keep(trial)?;
        }
    }
    turns::play(lab, &stage, parameters)?;
    conclude::conclude(&mut lab.run, parameters);
    Ok(())
}
