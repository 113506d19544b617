//! Runs a plan against a queueing model on a virtual clock: the same worker, arrivals and sessions as a real load.

use proto::{Client, ClientKind};
use run::{AgentReport, LoadPart, LoadPlan, Phase};

use crate::drivers::sim::SimDriver;
use crate::shard::{self, Order, Show};
use crate::{LoadError, ceiling, share};

/// Distribution of the service time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Service {
    /// Always the mean.
    Constant,
    /// Exponential with that mean.
    #[default]
    Exponential,
}

/// The simulated server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimServer {
    /// Distribution of the service time.
    pub service: Service,
    /// Mean service time, nanoseconds.
    pub service_ns: u64,
    /// Requests served at the same time.
    pub workers: u32,
    /// An event-driven server takes every connection at once and its requests in order of arrival. Without it, a worker
    /// takes one connection, answers one request and closes; connections wait in the accept queue meanwhile.
    pub accept_at_once: bool,
    /// The accept queue holds one more than this; a SYN that finds it full is dropped and sent again after a second.
    pub backlog: u32,
    /// Round trip between client and server, nanoseconds.
    pub rtt_ns: u64,
    /// From when until when the server stands still, nanoseconds since the start.
    pub stall_ns: Option<(u64, u64)>,
    /// Seed of the service times.
    pub seed: u64,
}

impl Default for SimServer {
    fn default() -> Self {
        Self {
            service: Service::Exponential,
            service_ns: 1_000_000,
            workers: 1,
            accept_at_once: true,
            backlog: 4096,
            rtt_ns: 0,
            stall_ns: None,
            seed: 1,
        }
    }
}

/// What the simulated server saw besides the generator's own part.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// When each SYN arrived, nanoseconds since the start, in order.
    pub syns_ns: Vec<u64>,
    /// SYNs that met a full accept queue.
    pub dropped: u64,
}

/// Runs a plan against a simulated server: `warmup_s`, then `duration_s` measured, then at most `drain_s`, all virtual.
/// One shard, whatever the plan's number of threads.
pub fn simulate(plan: &LoadPlan, server: &SimServer) -> Result<(LoadPart, Seen), LoadError> {
    plan.check()?;
    let plan = LoadPlan { threads: 1, ..share::prepared(plan) };
    match proto::client(&plan.protocol)? {
        ClientKind::Http1(client) => with_client(&client, &plan, server),
        ClientKind::Echo(client) => with_client(&client, &plan, server),
        ClientKind::Raw(client) => with_client(&client, &plan, server),
        ClientKind::Discard(client) => with_client(&client, &plan, server),
        ClientKind::Source(client) => with_client(&client, &plan, server),
        ClientKind::Record(client) => with_client(&client, &plan, server),
    }
}

fn with_client<C: Client>(client: &C, plan: &LoadPlan, server: &SimServer) -> Result<(LoadPart, Seen), LoadError> {
    let task = share::task(plan, 0, 0, u64::from(u32::MAX));
    let (request, answer) = ceiling::exchange(plan, client);
    let mut driver = SimDriver::new(task.capacity(), server, request, &answer);
    let measure = (plan.warmup_s * 1e9) as u64;
    let drain = measure + (plan.duration_s * 1e9) as u64;
    let order = |now: u64, _| Order {
        phase: match now {
            _ if now < measure => Phase::WarmUp,
            _ if now < drain => Phase::Measure,
            _ => Phase::Drain,
        },
        stop: false,
        next_ns: [measure, drain].into_iter().find(|&edge| edge > now).unwrap_or(u64::MAX),
    };
    let part = shard::run(&mut driver, client, task, &Show::default(), order).map_err(|errno| LoadError::System {
        what: "simulating",
        errno,
        advice: "please report this",
    })?;
    let ops = crate::driver::Driver::ops(&mut driver);
    Ok((part, Seen { syns_ns: std::mem::take(&mut ops.syns_ns), dropped: ops.dropped }))
}

/// `io = "sim"` in a plan: the default server, as fast as it can be computed.
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
