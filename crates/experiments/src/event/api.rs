//! `lab event-api`: the order of the trials, and the sweep over numbers of cold (idle) connections. The module `bench`
//! times calls, `sweeps` contains the other sweeps, and `conclude` contains the checks.

use run::{Key, Trial};

use super::bench::{Timing, calls};
use super::callers::Library;
use super::declares::{Declares, declares};
use super::hot::Hot;
use super::stand::{Bench, Contender, HOT, PACE, on, trial};
use super::values::{BARE_ADD_US, BARE_DELETE_US, DECLARE_US, DECLARE_WITH_STATE_US, EVENT_US, REVOKE_US};
use super::{across, conclude, rate, sweeps};
use crate::Parameters;
use lab::cold::Cold;
use lab::{Lab, LabError};

/// Number of cold connections in figure 6 of the paper (Banga, Mogul and Druschel, USENIX 1999).
const FIGURE_COLD: u32 = 750;
/// Maximum time, seconds, for a call of an event-driven backend and the work until the next call.
const CALL_S: f64 = 10e-6;

/// Returns the planned time of the experiment, seconds.
pub(super) fn planned_s(parameters: &Parameters) -> f64 {
    let seconds = parameters.number("seconds", 1.0);
    let contenders = Contender::all(parameters).unwrap_or_default();
    let count = |holds: fn(&Contender) -> bool| contenders.iter().filter(|c| holds(c)).count() as f64;
    let level = count(|c| c.told && c.is_level());
    let (told, eventful) = (count(|c| c.told && !c.is_level()), count(|c| !c.is_level()));
    let calls_s = seconds.min(CALL_S * f64::from(parameters.count("calls", 10_000)));
    let levels = levels(parameters);
    let opening_s = f64::from(levels.last().copied().unwrap_or(0)) / PACE;
    // For each number of cold connections, the planned time covers timed calls and timed declarations of interest.
    // Calls of a level-triggered backend are slow, so their time is limited.
    let points_s = f64::from(rounds(parameters)) * told * 2.0 * calls_s + level * 2.0 * seconds;
    let cold_s = opening_s + levels.len() as f64 * points_s;
    let plain = count(Contender::plain);
    let further_s = plain * rate::planned_s(calls_s, seconds) + 2.0 * calls_s + eventful * calls_s;
    let figures_s = if parameters.flag("figures", true) { sweeps::planned_s(parameters, &contenders) } else { 0.0 };
    figures_s + across::planned_s(parameters, &contenders) + cold_s + further_s
}

/// Returns the numbers of cold connections, ascending.
fn levels(parameters: &Parameters) -> Vec<u32> {
    let mut levels: Vec<u32> = parameters.numbers("cold", &[0.0, 750.0, 2000.0]).iter().map(|c| *c as u32).collect();
    levels.push(FIGURE_COLD);
    levels.sort_unstable();
    levels.dedup();
    levels
}

fn rounds(parameters: &Parameters) -> u32 {
    parameters.count("rounds", 3).max(1)
}

/// Runs the experiment `lab event-api`.
pub(super) fn run(lab: &mut Lab<'_>, parameters: &Parameters) -> Result<(), LabError> {
    let mut bench = Bench::new(lab, parameters)?;
    lab.watch_host();
    if parameters.flag("figures", true) {
        sweeps::arrays(&bench, lab, parameters, FIGURE_COLD)?;
        sweeps::small_file(&bench, lab, parameters, FIGURE_COLD)?;
    }
    across::processes(&bench, lab, parameters)?;
    let mut agents: Vec<Cold> = Vec::new();
    for level in levels(parameters) {
        if lab.stopped() {
            break;
        }
        if !bench.grow(lab, level, &mut agents)? {
            break;
        }
        if level == FIGURE_COLD {
            rate::rate(&bench, lab)?;
            sweeps::share(&bench, lab)?;
            sweeps::full_array(&bench, lab)?;
        }
        cold_point(&bench, lab, level, rounds(parameters))?;
    }
    let mut lost = 0;
    for cold in agents {
        lost += cold.close().lost;
    }
    if lost > 0 {
        lab.note(format!("{lost} cold connections were lost before the end"));
    }
    conclude::conclude(&mut lab.run);
    Ok(())
}

/// Times calls and declarations of interest, for one number of cold connections, on each backend except the variants
/// `untold`. The measurement is repeated in several rounds, except for level-triggered backends, which are measured
/// only in the first round.
fn cold_point(bench: &Bench, lab: &mut Lab<'_>, cold: u32, rounds: u32) -> Result<(), LabError> {
    // A level-triggered backend is measured in one round only. The cost of its calls grows up to a thousandfold with
    // the number of cold connections. Other backends are measured in several rounds, to show that the cost of their
    // calls does not grow.
    let due = |c: &Contender, round: u32| c.told && (round == 0 || !c.is_level());
    for round in 0..rounds {
        for Contender { name, options, .. } in bench.backends.iter().filter(|c| due(c, round)) {
            if lab.stopped() {
                return Ok(());
            }
            let (timing, declared) = bench.on_cpu(|bench| {
                let mut hot = Hot::open(HOT)?;
                let mut library = Library::new(*options, &mut hot, &bench.cold, 10)?;
                let timing = calls(&mut library, &mut hot, 10, 1, bench.amount, &bench.clock);
                Ok((timing, declares(&mut library, &mut hot, bench.amount, &bench.clock)?))
            })?;
            let key = Key { cold: Some(cold), ..on(name) };
            let mut trial = trial((name, &format!("{cold} cold")), &timing, key);
            put_declares(&mut trial, &timing, &declared);
            lab.keep(trial)?;
        }
    }
    Ok(())
}

fn put_declares(trial: &mut Trial, timing: &Timing, declared: &Declares) {
    let results = &mut trial.results;
    results.put(EVENT_US, timing.trimmed_us / timing.returned.max(1.0));
    results.put(DECLARE_US, declared.declare.trimmed_us);
    results.put(REVOKE_US, declared.revoke.trimmed_us);
    results.put(DECLARE_WITH_STATE_US, declared.with_state.trimmed_us);
    results.put(BARE_ADD_US, declared.bare_add.trimmed_us);
    results.put(BARE_DELETE_US, declared.bare_delete.trimmed_us);
}
