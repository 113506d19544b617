//! Figures of each service in the chain: the client, the server and the upstream services. A lever is a temporary
//! change that an experiment makes, such as slowing a CPU.

use run::{Device, Estimate, ProofMetric, Run, Side, UpstreamLimit, UpstreamLoad, WaitsFor};

use super::super::cpus::cpus;
use super::super::pick;

/// One service in the chain of upstream services. Unknown figures are `None`.
#[derive(Default)]
pub(super) struct Stop {
    /// Name of the service: `client`, `server` or an address.
    pub(super) at: String,
    pub(super) processes: Vec<String>,
    /// Index of the service whose processes connect to this service; `None` for the client.
    pub(super) from: Option<usize>,
    /// Number of connections to this service as text, and its unit. For the server itself: the intensity of the load,
    /// such as an offered rate, and its unit.
    pub(super) connections: [String; 2],
    pub(super) cpu_used: Option<f64>,
    pub(super) cpu_allowed: Option<f64>,
    pub(super) busiest_thread: Option<f64>,
    /// Name and utilization of the service's busiest device.
    pub(super) busy: Option<(String, f64)>,
    pub(super) follows: Option<Estimate>,
    /// Name of the resource that is full, such as `one thread`; empty if no resource is full.
    pub(super) full: &'static str,
}

/// Returns all services of the chain, from the client to the last upstream service. In the returned list, each service
/// comes after the service that connects to it.
pub(super) fn stops(run: &Run) -> Vec<Stop> {
    let Some(trial) = run.picked(|picks| picks.shown) else { return Vec::new() };
    let mut stops = vec![end(run, "client", &trial.client, CLIENT)];
    if let Some(server) = &trial.server {
        let connections = pick::in_flight(trial);
        stops.push(Stop { from: Some(0), connections, ..end(run, "server", server, SERVER) });
    }
    let server = stops.len() - 1;
    for load in &run.findings.behind {
        let from = stops[server + 1..].iter().position(|stop| stop.at == load.behind.from);
        stops.push(Stop { from: Some(from.map_or(server, |n| server + 1 + n)), ..stop(run, load) });
    }
    stops
}

/// Levers (ways to slow a resource in the experiment) that slow only the client. For the client, the chain shows the
/// largest share of throughput that any lever in this list explains.
const CLIENT: &[&str] = &["client-cpu"];
/// Levers that slow only the server. In the chain of services, the server's share is the largest share of throughput
/// that any lever in this list explains.
const SERVER: &[&str] = &["server-cpu", "quota", "worker"];

/// Returns the client or the server as a service of the chain.
fn end(run: &Run, name: &str, side: &Side, levers: &[&str]) -> Stop {
    let (cpu_used, cpu_allowed) = run.picked(|p| p.shown).map_or((None, None), |trial| cpus(side, trial));
    let busiest = busiest(run, name);
    Stop {
        at: name.into(),
        processes: side.processes.clone(),
        cpu_used,
        cpu_allowed,
        full: busiest.filter(|device| device.full).map_or("", |device| named(device.kind, "one thread")),
        busy: busiest.map(|device| (named(device.kind, "busiest thread").into(), device.busy)),
        follows: levers.iter().filter_map(|lever| found(run, lever)).max_by(|a, b| a.value.total_cmp(&b.value)),
        ..Stop::default()
    }
}

/// Returns the kind of a device as a name. For the kind `thread`, returns the argument `thread` instead.
fn named(kind: &'static str, thread: &'static str) -> &'static str {
    if kind == "thread" { thread } else { kind }
}

/// Returns the busiest device of a side (client or server).
fn busiest<'a>(run: &'a Run, side: &str) -> Option<&'a Device> {
    run.findings.devices.get(run.findings.picks.shown?)?.iter().find(|device| device.side == side)
}

/// Returns an upstream service as a service of the chain.
fn stop(run: &Run, load: &UpstreamLoad) -> Stop {
    let is_named = |waits_for: &WaitsFor| {
        let all = &waits_for.processes;
        waits_for.address == load.behind.address || load.behind.processes.iter().any(|process| all.contains(process))
    };
    let waited_for = run.findings.bottleneck.waits_for.as_ref().is_some_and(is_named);
    let lever = match load.limit {
        Some(UpstreamLimit::Quota) => "behind-quota",
        Some(UpstreamLimit::Disk) => "disk",
        _ => "behind-cpu",
    };
    Stop {
        at: load.behind.address.clone(),
        processes: load.behind.processes.clone(),
        connections: load.connections.map_or_else(Default::default, pick::connections),
        cpu_used: load.cpu_used,
        cpu_allowed: load.cpu_allowed,
        busiest_thread: load.busiest_thread,
        busy: busy(load),
        follows: found(run, lever).filter(|_| waited_for),
        full: load.limit.map_or("", full),
        ..Stop::default()
    }
}

/// Returns the name and utilization of an upstream's busiest device: its CPUs or a thread. If the CPU quota limits the
/// upstream service, returns the share of periods in which the quota ran out. If the CPUs limit the upstream service,
/// returns the utilization of the CPUs. If a lock limits the upstream service, returns the number of CPUs that the
/// service uses.
fn busy(load: &UpstreamLoad) -> Option<(String, f64)> {
    let cpus = load.cpu_used.zip(load.cpu_allowed).filter(|(_, allowed)| *allowed > 0.0);
    let cpus = cpus.map(|(used, allowed)| ("CPUs".to_string(), used / allowed));
    let thread = load.busiest_thread.map(|share| ("busiest thread".to_string(), share));
    match load.limit {
        Some(UpstreamLimit::Quota) => load.throttled.map(|share| ("quota ran out".to_string(), share)),
        Some(UpstreamLimit::Lock) => load.cpu_used.map(|used| ("one CPU".to_string(), used)),
        Some(UpstreamLimit::Cpu) => cpus,
        _ => cpus.into_iter().chain(thread).max_by(|a, b| a.1.total_cmp(&b.1)),
    }
}

fn full(limit: UpstreamLimit) -> &'static str {
    match limit {
        UpstreamLimit::Quota => "its CPU quota",
        UpstreamLimit::Disk => "its host's disk",
        UpstreamLimit::Cpu => "its CPUs",
        UpstreamLimit::Lock => "one thread at a time",
        UpstreamLimit::Thread => "one thread",
    }
}

/// Returns the experiment's latest elasticity for a lever (a way to slow a resource). The elasticity tells how strongly
/// throughput follows the resource's speed.
fn found(run: &Run, lever: &str) -> Option<Estimate> {
    let all = run.findings.proof.iter().flat_map(|proof| &proof.elasticities);
    all.filter(|e| e.lever == lever).map(|e| e.estimate).next_back()
}

/// Returns the word for the experiment's estimates: `elasticity` if the experiment observed the throughput, otherwise
/// `share`.
pub(super) fn figure(run: &Run) -> &'static str {
    match run.findings.proof.as_ref().map(|proof| proof.of) {
        None | Some(ProofMetric::Throughput) => "elasticity",
        Some(_) => "share",
    }
}
