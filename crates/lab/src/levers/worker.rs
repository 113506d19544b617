//! Stops one of the server's worker processes by a signal during an experiment.

use std::sync::mpsc::Receiver;

use run::{AgentCommand, LeverCheck, LeverPart, LeverPlan, Prove};

use super::change::{Change, Resource};
use super::lever::{Lever, LeverHost, LeverTargets, Pull};
use super::slot_clock::SlotClock;
use super::undo::Undo;

pub(super) const ROW: Lever = Lever {
    id: "worker",
    help: "stops one of the server's worker processes",
    tests: &["server-concurrency", "server-cpu"],
    needs: Prove::Intrusive,
    always: false,
    slot_s: 0.25,
    planned: 0.5,
    rights: "the right to send signals to the server's processes",
    intrusion: "requests of one worker wait in half of the slots",
    dose: "one over the number of workers",
    undo: "the worker continues when the agent ends; after a kill the next command continues it",
    place: LeverHost::Server,
    pull: Pull::Slots { plan, check: Some(check), act },
};

fn plan(targets: &LeverTargets) -> Result<LeverPlan, String> {
    if targets.at_rate {
        return Err(
            "it delays one worker's requests for a whole slot, which at an offered rate does not slow the server"
                .into(),
        );
    }
    targets.on_server(ROW.id)
}

fn check(plan: &LeverPlan) -> Result<LeverCheck, String> {
    let undo = prepare(&workers(plan)?)?;
    Ok(LeverCheck { resources: undo.resources(), ..LeverCheck::default() })
}

/// Returns the worker processes: server processes whose parent is also a server process. Fails if the server has fewer
/// than two worker processes.
fn workers(plan: &LeverPlan) -> Result<Vec<u32>, String> {
    let is_worker = |pid: &u32| probe::parent_of(*pid).is_some_and(|parent| plan.pids.contains(&parent));
    let workers: Vec<u32> = plan.pids.iter().copied().filter(is_worker).collect();
    match workers.len() {
        0 | 1 => Err("the server has fewer than two worker processes".into()),
        _ => Ok(workers),
    }
}

fn prepare(workers: &[u32]) -> Result<Undo, String> {
    let worker = *workers.last().ok_or("no worker")?;
    Undo::prepare([Resource::RunState(worker)], || Ok(vec![Change::stop(worker)?]))
}

fn act(plan: &LeverPlan, commands: Receiver<AgentCommand>) -> Result<LeverPart, String> {
    let workers = workers(plan)?;
    let mut undo = prepare(&workers)?;
    let speed = 1.0 - 1.0 / workers.len() as f64;
    SlotClock::new(plan).switch(&commands, speed, |on| undo.switch(on))
}
