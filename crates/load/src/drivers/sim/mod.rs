//! Runs a plan against a queueing model on a virtual clock, with the worker, arrivals and sessions of a real load.

mod driver;
mod ends;
mod served;
mod server;

use run::{AgentReport, Io, LoadPart, LoadPlan, Phase};

pub(crate) use self::driver::SimDriver;
pub use self::server::{Service, SimObservations, SimServer, TokenBucket};
use super::row::DriverSpec;
use crate::shard::{self, LiveCounts, Order};
use crate::{LoadError, ceiling, share};

/// Runs a plan against a simulated server: `warmup_s`, then `duration_s` measured, then at most `drain_s`, all virtual.
/// Uses one shard, whatever the plan's number of threads.
pub fn simulate(plan: &LoadPlan, server: &SimServer) -> Result<(LoadPart, SimObservations), LoadError> {
    let plan = share::prepared(plan)?;
    // A simulated connection has only one answer under way at a time.
    let plan = LoadPlan { threads: 1, ..share::without_network(plan) };
    let client = proto::client(&plan.protocol, None, None)?;
    let task = share::task(&plan, 0, 0, u64::from(u32::MAX));
    let (request, answer) = ceiling::exchange(&plan, &*client);
    let mut driver = SimDriver::new(task.capacity(), server, request, &answer);
    let measure = (plan.warmup_s * 1e9) as u64;
    let drain = measure + (plan.duration_s * 1e9) as u64;
    let order = |now: u64, _| Order {
        phase: match now {
            _ if now < measure => Phase::WarmUp,
            _ if now < drain => Phase::Measure,
            _ => Phase::Drain,
        },
        at_ns: if now < drain { measure } else { drain },
        stop: false,
        next_ns: [measure, drain].into_iter().find(|&edge| edge > now).unwrap_or(u64::MAX),
        factor: 1.0,
    };
    let part = shard::run(&mut driver, &*client, task, &LiveCounts::default(), &order)
        .map_err(|errno| LoadError::System { what: "simulating", errno, advice: "please report this" })?;
    let ops = crate::driver::Driver::ops(&mut driver);
    Ok((part, SimObservations { syns_ns: std::mem::take(&mut ops.syns_ns), dropped: ops.dropped }))
}

/// Runs `io = "sim"` of a plan: the default server, simulated at full speed.
pub(crate) fn as_load(plan: &LoadPlan, report: &mut dyn FnMut(AgentReport)) -> Result<LoadPart, LoadError> {
    let server = SimServer::default();
    let note = "simulated: one server with exponential service times of 1 ms, virtual clock".to_owned();
    report(AgentReport::Ready {
        pid: std::process::id(),
        listening: None,
        io: "sim".into(),
        notes: vec![note.clone()],
    });
    let (mut part, _) = simulate(plan, &server)?;
    part.notes.push(note);
    Ok(part)
}

/// Row of this driver in the table.
pub(super) const SPEC: DriverSpec = DriverSpec {
    io: Io::Sim,
    name: "sim",
    help: "no network: a virtual clock and a queueing model; exact and repeatable",
    whole: Some(as_load),
    ..DriverSpec::DEFAULT
};
