//! Runs one trial: starts servers and generators, and observes the resources that they use.

use std::net::SocketAddr;

use lab::agents::AgentGroup;
use lab::{Lab, LabError, Load, Observation, ObservedServer, Point, start_server};
use run::{Intensity, Io, Key, LoadPlan, Protocol, ServePlan, ThinkTime, Trial, TrialKind};

use super::layout::Pair;
use super::stage::Stage;
use super::values::OPENED_S;
use crate::Parameters;
use crate::experiment::AROUND_TRIAL_S;
use crate::values::{CONNECTIONS, HELD, PROCESSES};

/// Names of the counter sources that are read during the trial. None of the sources lists single sockets, because a
/// list of a million sockets would take too long.
const SOURCES: &[&str] = &["process", "cpu", "sockstat", "memory", "observer"];
/// Maximum time to wait for the end of the load, seconds. Generators may have to close a million connections before
/// they report their results.
const DRAIN_S: f64 = 120.0;

/// Minimum time for which all connections are open before the window begins, seconds.
const OPEN_S: f64 = 1.0;

/// Running servers and their addresses.
struct Servers {
    groups: Vec<AgentGroup>,
    addrs: Vec<SocketAddr>,
}

/// Returns the planned time of a trial, seconds. The planned time counts the opening twice, because closing the
/// connections takes about as long as opening them.
pub(super) fn planned_s(parameters: &Parameters, connections: u32) -> f64 {
    let opening_s = f64::from(connections) / connects(parameters);
    2.0 * opening_s + OPEN_S + parameters.number("seconds", 5.0) + AROUND_TRIAL_S
}

/// Returns the number of connects per second.
fn connects(parameters: &Parameters) -> f64 {
    parameters.number("connects", 25_000.0).clamp(10.0, 1e6)
}

/// Runs one trial with the connections of `pairs`.
pub(super) fn conduct(
    lab: &mut Lab<'_>,
    stage: &Stage,
    parameters: &Parameters,
    pairs: Vec<Pair>,
) -> Result<Trial, LabError> {
    let connections: u32 = pairs.iter().map(|pair| pair.connections).sum();
    let servers = serve(lab, stage, parameters, &pairs)?;
    let observation = observation(stage, &servers);
    let load = |(i, (pair, addr)): (usize, (&Pair, &SocketAddr))| Load {
        host: stage.client(),
        addr: (*addr).into(),
        plan: plan(parameters, connections, pair, i as u64),
    };
    let loads: Vec<Load<'_>> = pairs.iter().zip(&servers.addrs).enumerate().map(load).collect();
    let key = Key::default().with(CONNECTIONS, connections).with(PROCESSES, u32::try_from(pairs.len()).ok());
    let label = format!("{connections} connections");
    // The trials with few and with all connections count as fixed loads, not as steps of a sweep, because both have the
    // same message rate.
    let point = Point { label, kind: TrialKind::Fixed, key, within_us: None };
    let mut trial = lab.conduct(&observation, &loads, &point)?;
    if let Some(opened) = trial.measured.opened {
        trial.results.put(HELD, opened.connections as f64);
        trial.results.put(OPENED_S, opened.at_s);
    }
    Ok(trial)
}

fn serve(lab: &Lab<'_>, stage: &Stage, parameters: &Parameters, pairs: &[Pair]) -> Result<Servers, LabError> {
    let mut servers = Servers { groups: Vec::new(), addrs: Vec::new() };
    for pair in pairs {
        let plan = ServePlan {
            service: "echo".into(),
            model: parameters.text("model", "epoll"),
            strategy: parameters.text("strategy", ""),
            listen: format!("{}:0", pair.server),
            backlog: 4096,
            ..ServePlan::default()
        };
        let (group, addr, _) = start_server(stage.server(), lab.program(), plan)?;
        servers.groups.push(group);
        servers.addrs.push(addr);
    }
    Ok(servers)
}

fn observation(stage: &Stage, servers: &Servers) -> Observation {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let addr = servers.addrs.first().copied().unwrap_or(any);
    let watched = ObservedServer {
        host: "localhost".into(),
        pids: servers.groups.iter().flat_map(AgentGroup::pids).collect(),
        netns_pid: stage.netns_pid(),
        listen: Some(addr.into()),
        shared: true,
    };
    Observation::new(addr, Some(watched)).with_client("localhost", stage.netns_pid()).reading(SOURCES)
}

/// Returns the load plan of one generator. Before each message, a connection waits for a random time, so all
/// connections are equally likely to send the next message.
fn plan(parameters: &Parameters, connections: u32, pair: &Pair, i: u64) -> LoadPlan {
    let all = f64::from(connections);
    let rate = parameters.number("rate", 10_000.0).clamp(1.0, 1e6);
    let connects = connects(parameters);
    let opening_s = all / connects;
    let think = ThinkTime { mean_ms: all / rate * 1e3, exponential: true };
    LoadPlan {
        protocol: Protocol::Echo { message_bytes: u64::from(parameters.count("message_bytes", 64).max(1)) },
        intensity: Intensity::Closed { connections: pair.connections, pipeline: 1, think },
        connect_rate: connects * f64::from(pair.connections) / all,
        // The io_uring driver would reserve a buffer for the next message of every connection, which would take too
        // much memory.
        io: Io::Epoll,
        least_warmup_s: opening_s + OPEN_S,
        warmup_s: parameters.number("patience", 4.0) * opening_s + 20.0,
        duration_s: parameters.number("seconds", 5.0),
        drain_s: DRAIN_S,
        timeout_s: 30.0,
        connect_timeout_s: 30.0,
        sources: pair.sources.clone(),
        seed: 1 + i,
        ..LoadPlan::default()
    }
}
