//! Levers: what an experiment changes to see what throughput does. One file each, one row in [`LEVERS`].
//!
//! A lever that is switched in slots is pulled by an agent of its own, so it works wherever an agent can be started, and
//! it ends with the agent's standard input: it never outlives the conductor. A lever that needs new connections or other
//! requests is another load: the same one with and without it, in turns.

mod behind_cpu;
mod client_cpu;
mod client_threads;
mod descriptors;
mod disk;
mod keep_alive;
mod lever;
mod pace;
mod quick_ack;
mod quota;
mod server_cpu;
mod sources;
mod thief;
mod undo;
mod window;
mod worker;

use std::sync::mpsc::Receiver;

pub use lever::{Altered, Lever, Planned, Pull, Reach};
pub use undo::Undo;
pub(crate) use undo::put_back;
pub(crate) use window::in_flight;

use run::{AgentCommand, LeverPart, LeverPlan};

/// Every lever.
pub const LEVERS: &[Lever] = &[
    server_cpu::ROW,
    client_cpu::ROW,
    behind_cpu::ROW,
    quota::ROW,
    disk::ROW,
    worker::ROW,
    client_threads::ROW,
    sources::ROW,
    quick_ack::ROW,
    keep_alive::ROW,
    window::ROW,
    descriptors::ROW,
];

/// Pulls a lever as its plan says, until its last slot or until told to stop. `ready` is called once something is held
/// changed.
pub(crate) fn pull(
    plan: &LeverPlan,
    commands: Receiver<AgentCommand>,
    ready: impl FnOnce(),
) -> Result<LeverPart, String> {
    let row = LEVERS.iter().find(|row| row.id == plan.lever);
    match row.map(|row| row.pull) {
        Some(Pull::Slots { act, .. }) => act(plan, commands),
        Some(Pull::Held { hold, .. }) => {
            let _undo = hold(plan)?;
            ready();
            while !matches!(commands.recv(), Ok(AgentCommand::Stop) | Err(_)) {}
            Ok(LeverPart::default())
        }
        _ => Err(format!("there is no lever {:?} that an agent pulls", plan.lever)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lever_has_a_name_of_its_own_and_tests_bottlenecks_that_there_are() {
        for (at, row) in LEVERS.iter().enumerate() {
            assert!(LEVERS[..at].iter().all(|other| other.id != row.id), "{} stands twice", row.id);
            for id in row.tests {
                assert!(judge::RULES.iter().any(|rule| rule.id == *id), "{}: no bottleneck {id}", row.id);
            }
        }
    }

    #[test]
    fn the_lever_that_judge_wants_for_a_bottleneck_is_there_and_tests_it() {
        for suspect in judge::prove::SUSPECTS {
            let row = LEVERS.iter().find(|row| row.id == suspect.lever);
            assert!(row.is_some_and(|row| row.tests.contains(&suspect.bottleneck)), "{suspect:?}");
        }
    }
}
