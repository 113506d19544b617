//! The table in `docs/explanation/capacity.md`: hundreds of runs of each model.

use crate::disturbances::{
    beside_a_program, beside_many_programs, drifting, pausing, slowly, stalling, stuttering, undisturbed, wandering,
};
use crate::known::HUNDREDS;
use crate::models::{bucket, m_d_1, m_m_1, m_m_8, mean, median, own_objective, slow_application};

/// Prints the main table. `main.rs` shows the command that runs this function.
#[test]
#[ignore = "hundreds of runs of half a minute in virtual time: minutes"]
fn hundreds_of_runs() {
    for known in [m_m_1(), m_d_1(), m_m_8(), median(), mean(), bucket(), own_objective()] {
        known.holds(HUNDREDS, undisturbed);
    }
}

/// Prints the rows for machines whose speed changes. If the speed changes more slowly than a whole search takes, the
/// row is printed but not checked. A single run cannot observe a change that takes longer than the run, so too few
/// intervals contain the capacity.
#[test]
#[ignore = "hundreds of runs of half a minute in virtual time: minutes"]
fn hundreds_of_runs_at_changing_speed() {
    for known in [median(), own_objective(), m_m_1()] {
        println!("speed changes by 8 %");
        known.holds(HUNDREDS, drifting);
        println!("by 3 %, more slowly: {}", known.found(HUNDREDS, wandering));
    }
    println!("by 8 %, more slowly than a run lasts: {}", median().found(HUNDREDS, slowly));
}

/// Prints the rows for machines with pauses.
#[test]
#[ignore = "hundreds of runs of half a minute in virtual time: minutes"]
fn hundreds_of_runs_with_pauses() {
    let mut known = m_m_1();
    known.name = "M/G/1 with pauses, p99";
    known.holds(HUNDREDS, pausing);
    let mut known = own_objective();
    known.name = "the last but one with short pauses";
    known.holds(HUNDREDS, stuttering);
}

/// Prints the rows for servers that stop once.
#[test]
#[ignore = "hundreds of runs of half a minute in virtual time: minutes"]
fn hundreds_of_runs_with_one_stall() {
    for (known, seeds) in [(slow_application(), HUNDREDS), (own_objective(), HUNDREDS / 5)] {
        println!("{} undisturbed: {}", known.name, known.found(seeds, undisturbed));
        println!("{} one stall:   {}", known.name, known.found(seeds, stalling));
    }
}

/// Prints the rows for machines on which other programs run for a while.
#[test]
#[ignore = "hundreds of runs of half a minute in virtual time: minutes"]
fn hundreds_of_runs_beside_other_programs() {
    for known in [m_m_1(), m_m_8(), own_objective(), slow_application()] {
        println!("{}, one for 8 s: {}", known.name, known.found(HUNDREDS, beside_a_program));
        println!("{}, many: {}", known.name, known.found(HUNDREDS, beside_many_programs));
    }
}
