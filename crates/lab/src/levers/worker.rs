//! Stops one of the server's worker processes.

use std::sync::mpsc::Receiver;

use run::{AgentCommand, LeverPart, LeverPlan, Prove};

use super::lever::{Lever, Place, Pull, Reach};
use super::pace::Pace;
use super::undo::{Change, Undo};

pub(super) const ROW: Lever = Lever {
    id: "worker",
    help: "stops one of the server's worker processes",
    tests: &["server-concurrency", "server-cpu"],
    needs: Prove::Intrusive,
    always: false,
    slot_s: 0.25,
    planned: 0.5,
    rights: "the right to send signals to the server's processes",
    intrusion: "requests of one worker wait for half of the slots",
    dose: "one over the number of workers",
    undo: "the worker goes on when the agent ends, however that happens: also after a kill by the next who looks",
    place: Place::ServerHere,
    pull: Pull::Slots { plan, act },
};

fn plan(reach: &Reach) -> Result<LeverPlan, String> {
    let of = |pid: &u32| probe::parent_of(*pid).is_some_and(|parent| reach.server_pids.contains(&parent));
    let workers: Vec<u32> = reach.server_pids.iter().copied().filter(of).collect();
    match workers.len() {
        0 | 1 => Err("the server has no two worker processes".into()),
        _ => Ok(LeverPlan { lever: ROW.id.into(), pids: workers, ..LeverPlan::default() }),
    }
}

fn act(plan: &LeverPlan, commands: Receiver<AgentCommand>) -> Result<LeverPart, String> {
    let worker = *plan.pids.last().ok_or("no worker")?;
    let since = probe::started_ticks(worker).ok_or_else(|| format!("the worker {worker} has ended"))?;
    let _undo = Undo::keep(vec![Change::Stopped { pid: worker, started: since }])?;
    let speed = 1.0 - 1.0 / plan.pids.len() as f64;
    Pace::new(plan).switch(&commands, speed, |on| {
        let done = if on { sys::signal::stop(worker) } else { sys::signal::go_on(worker) };
        done.map_err(|e| format!("a signal to the worker {worker}: {e}"))
    })
}
