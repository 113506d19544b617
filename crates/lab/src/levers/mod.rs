//! Levers: changes that an experiment makes to see how throughput reacts. The elasticity of a resource is the relative
//! change of throughput, divided by the relative change of the resource's speed. Each lever has its own file and one
//! row in [`LEVERS`].
//!
//! Most levers are switched on and off in time slots (short parts of a load), each by its own agent. Such a lever can
//! run on every host on which an agent can start. The agent's standard input is a pipe from the conductor, and the
//! agent ends when this pipe is closed. When the conductor ends, the pipe closes, so no lever outlives the conductor. A
//! lever that needs new connections or other requests compares two alternating loads.

mod behind_cpu;
mod behind_quota;
mod change;
mod client_cpu;
mod client_threads;
mod descriptors;
mod disk;
mod disk_target;
mod keep_alive;
mod lever;
mod link;
mod more_load;
mod quick_ack;
mod quota;
mod rate;
mod record;
mod request_bytes;
mod server_cpu;
mod server_cpu_count;
mod slot_clock;
mod slowed_processes;
mod sources;
mod thief;
mod thread_cpus;
mod undo;
mod window;
mod worker;

use std::sync::mpsc::Receiver;

pub(crate) use change::{Change, Resource};
pub use lever::{HostCheck, Lever, LeverHost, LeverTargets, LoadPair, Pull};
pub(crate) use rate::MAX_DOSE as MAX_DOSE_AT_RATE;
pub(crate) use thread_cpus::threads_below;
pub use undo::{Undo, put_back};
pub(crate) use window::in_flight;

use run::{AgentCommand, LeverCheck, LeverPart, LeverPlan};

/// All levers: the changes that experiments can make.
pub const LEVERS: &[Lever] = &[
    server_cpu::ROW,
    server_cpu_count::ROW,
    client_cpu::ROW,
    behind_cpu::ROW,
    behind_quota::ROW,
    quota::ROW,
    disk::ROW,
    link::ROW,
    worker::ROW,
    rate::ROW,
    more_load::ROW,
    client_threads::ROW,
    sources::ROW,
    quick_ack::ROW,
    keep_alive::ROW,
    window::ROW,
    request_bytes::ROW,
    descriptors::ROW,
];

fn row_of(plan: &LeverPlan) -> Result<&'static Lever, String> {
    let row = LEVERS.iter().find(|row| row.id == plan.lever);
    row.ok_or_else(|| format!("no lever is called {:?}", plan.lever))
}

/// Checks on the lever's host that the experiment can make its change there.
pub(crate) fn check(plan: &LeverPlan) -> Result<LeverCheck, String> {
    match row_of(plan)?.pull {
        Pull::Slots { check: Some(check), .. } | Pull::TurnsWithChange { check, .. } => check(plan),
        Pull::Slots { check: None, .. } | Pull::Turns(_) | Pull::Offered => Ok(LeverCheck::default()),
    }
}

/// Uses a lever as planned, until its last time slot ends or the lever is stopped. Calls `ready` when everything is
/// prepared for the first time slot or the first switch, and again after each switch. Does not call `ready` if the plan
/// already names the start time of the time slots.
pub(crate) fn pull(plan: &LeverPlan, commands: Receiver<AgentCommand>, ready: impl Fn()) -> Result<LeverPart, String> {
    match row_of(plan)?.pull {
        Pull::Slots { act, .. } if plan.start_at_ns == 0 => {
            ready();
            match await_start(plan, &commands) {
                Some(plan) => act(&plan, commands),
                None => Err("it was stopped before its first slot".into()),
            }
        }
        Pull::Slots { act, .. } => act(plan, commands),
        Pull::TurnsWithChange { prepare, .. } => switch_in_turns(prepare(plan)?, &commands, ready),
        Pull::Turns(_) | Pull::Offered => {
            Err(format!("the lever {:?} is another load, which no agent pulls", plan.lever))
        }
    }
}

/// Makes and undoes the lever's change whenever the conductor requests it. The changed resources remain locked all the
/// time.
fn switch_in_turns(mut undo: Undo, commands: &Receiver<AgentCommand>, ready: impl Fn()) -> Result<LeverPart, String> {
    ready();
    loop {
        match commands.recv() {
            Ok(AgentCommand::Switch { on }) => {
                undo.switch(on)?;
                ready();
            }
            Ok(AgentCommand::Stop) | Err(_) => return Ok(LeverPart::default()),
            Ok(_) => {}
        }
    }
}

/// Waits for the start of the load. Returns the plan, with the start time of its time slots and with the processes to
/// act on. Returns `None` if the lever is stopped before the load starts.
fn await_start(plan: &LeverPlan, commands: &Receiver<AgentCommand>) -> Option<LeverPlan> {
    loop {
        match commands.recv() {
            Ok(AgentCommand::Follow { pids, origin_ns, .. }) => {
                let ahead = i128::from(origin_ns) - i128::from(sys::clock::monotonic_ns());
                let start_at_ns = (i128::from(sys::clock::realtime_ns()) + ahead).clamp(1, i128::from(u64::MAX)) as u64;
                let pids = if pids.is_empty() { plan.pids.clone() } else { pids };
                return Some(LeverPlan { start_at_ns, pids, ..plan.clone() });
            }
            Ok(AgentCommand::Stop) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lever_starts_on_command_and_acts_on_the_given_processes() {
        let plan = LeverPlan { pids: vec![1], ..LeverPlan::default() };
        let (say, commands) = std::sync::mpsc::channel();
        let origin_ns = sys::clock::monotonic_ns() + 3_000_000_000;
        for pids in [vec![], vec![7]] {
            say.send(AgentCommand::Heartbeat).unwrap();
            say.send(AgentCommand::Follow { pids, origin_ns, interval_s: 0.0 }).unwrap();
        }
        let told = [await_start(&plan, &commands).unwrap(), await_start(&plan, &commands).unwrap()];
        assert_eq!([&told[0].pids, &told[1].pids], [&vec![1], &vec![7]]);
        let ahead_s = (told[0].start_at_ns as f64 - sys::clock::realtime_ns() as f64) / 1e9;
        assert!(ahead_s > 0.0 && ahead_s <= 3.0, "{ahead_s}");
        say.send(AgentCommand::Stop).unwrap();
        assert_eq!(await_start(&plan, &commands), None);
    }

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
