//! One trial: start agents, warm up until the rate is steady, sample counters at both edges of the window, drain,
//! merge. Agents of the trial before are reused where they are.
//!
//! The zero of a trial's time is the moment at which its agents begin to send. Both sides' samples and the agents'
//! ticks count from there, so windows can be located in recordings.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use run::{AgentCommand, AgentSpec, Around, Incident, IncidentKind, LoadPart, LoadPlan, Phase, Trial, Window};
use sys::clock::Origin;

use crate::agents::files;
use crate::agents::split::{self, split};
use crate::agents::{Agent, AgentGroup, Task};
use crate::observe::samplers::Samplers;
use crate::trial::act::{Act, Ended};
use crate::trial::merge::{self, Point};
use crate::trial::parts::Parts;
use crate::{Host, LabError, Watch};

/// Maximum time for an agent to prepare its sockets and memory.
const READY_WITHIN: Duration = Duration::from_secs(10);
/// Maximum time for an agent on another host, including the connection to it.
const REMOTE_READY_WITHIN: Duration = Duration::from_secs(30);
/// Additional time for each of many agents.
const AN_AGENT: Duration = Duration::from_millis(50);
/// Lead of an order, besides twice the longest round trip: more than an agent needs to take the order.
const LEAD: Duration = Duration::from_millis(50);
/// Lead of an order if all agents are on this machine, where an order is a line in a pipe. Late ones are reported.
const LEAD_HERE: Duration = Duration::from_millis(10);
/// Maximum number of agents that report fine ticks while a load settles.
const FEW: usize = 16;
/// Additional lead for each of many agents, which get their orders one after the other.
const TELLING_AN_AGENT: Duration = Duration::from_micros(200);

/// One load of a trial: the generator's host, the target and the plan. Most trials have one; several hosts or kinds
/// of clients make several.
pub struct Load<'a> {
    /// Host of its agents.
    pub host: &'a dyn Host,
    /// Address of the server.
    pub addr: run::Address,
    /// Plan of the load. A trial takes its times from the first load.
    pub plan: LoadPlan,
}

/// Minimum length of a window that is divided into stretches, seconds.
const LONG_S: f64 = 10.0;

/// Everything that one trial is given.
pub(crate) struct Stage<'a> {
    pub(crate) program: &'a Path,
    pub(crate) loads: &'a [Load<'a>],
    /// Maximum number of descriptors of one agent process.
    pub(crate) descriptors: u64,
    /// Whether a live view is attached, so that agents report more.
    pub(crate) looked_at: bool,
}

/// Conducts one trial with the agents of the one before, and leaves those that wait for the next. `samplers` opens
/// the observers once the agents' process ids are known.
pub(crate) fn conduct(
    stage: &Stage<'_>,
    kept: &mut AgentGroup,
    point: &Point,
    samplers: impl FnOnce(&AgentGroup, Origin) -> Samplers,
    watch: &mut dyn Watch,
) -> Result<(Trial, Ended), LabError> {
    let Some(plan) = stage.loads.first().map(|l| &l.plan) else {
        return Err(LabError::set_up(&point.label, "a trial needs a load"));
    };
    let began = Instant::now();
    let Mustered { mut group, parts, spread } = muster(stage, std::mem::take(kept))?;
    let remote = group.agents().iter().any(Agent::is_remote);
    let patience = if remote { REMOTE_READY_WITHIN } else { READY_WITHIN };
    let ready = match group.await_ready(patience + AN_AGENT * group.agents().len() as u32) {
        Ok(ready) => ready,
        // Treated like a kill a moment later: earlier results stand, and the run ends.
        Err(LabError::Killed { name, why }) => return Ok((killed(stage, point, &name, &why), Ended::Broken)),
        Err(error) => return Err(error),
    };
    let lead = if remote { LEAD } else { LEAD_HERE };
    let lead = lead + TELLING_AN_AGENT * group.agents().len() as u32 + 2 * group.longest_round_trip();
    let origin = Origin::after(lead);
    group.begin_at(origin, |at_ns| AgentCommand::Start { at_ns });
    let samplers = samplers(&group, origin);
    let lead = (remote || samplers.are_remote()).then(|| lead.max(LEAD + 2 * samplers.longest_round_trip()));
    let mut act = Act::new((group, parts), samplers, origin, lead, watch);
    let (steady, mut ended) = act.warm_up(plan, asked(stage));
    let (from, _) = act.enter(Phase::Measure);
    if ended == Ended::InFull {
        ended = act.hold(plan);
    }
    let (_, to) = act.enter(Phase::Drain);
    act.collect(Duration::from_secs_f64(plan.drain_s.max(0.0)) + Duration::from_secs(3));
    let loads: Vec<_> = stage.loads.iter().map(|load| &load.plan.intensity).collect();
    let window = Window { begin_s: from, end_s: to };
    let (mut trial, group) = act.trial(&loads, point, window)?;
    *kept = group;
    let whole_s = began.elapsed().as_secs_f64();
    let drain_s = (origin.now_s() - window.end_s).max(0.0);
    trial.measured.around = Some(Around { start_s: (whole_s - origin.now_s()).max(0.0), drain_s });
    trial.steady = steady;
    trial.notes.extend(spread);
    trial.notes.extend(ready.into_iter().flat_map(|r| r.notes));
    trial.notes.sort();
    trial.notes.dedup();
    Ok((trial, ended))
}

/// Returns the trial that never began because one of its generators was killed.
fn killed(stage: &Stage<'_>, point: &Point, name: &str, why: &str) -> Trial {
    let loads: Vec<_> = stage.loads.iter().map(|load| &load.plan.intensity).collect();
    let mut trial = merge::trial(point, &loads, LoadPart::default(), Window::default());
    let text = format!("the generator {name:?} ended at 0.0 s: {why}");
    trial.notes.push(text.clone());
    trial.incidents = vec![Incident { kind: IncidentKind::GeneratorEnded, begin_s: 0.0, end_s: None, text }];
    trial
}

/// Returns the number of connections that the closed loops ask for.
fn asked(stage: &Stage<'_>) -> u64 {
    let of = |load: &Load<'_>| match load.plan.intensity {
        run::Intensity::Closed { connections, .. } => u64::from(connections),
        _ => 0,
    };
    stage.loads.iter().map(of).sum()
}

/// Agents of a trial with their tasks.
struct Mustered {
    group: AgentGroup,
    parts: Parts,
    /// Notes on loads that needed several processes.
    spread: Vec<String>,
}

/// Assigns a task to every agent of every load.
fn muster(stage: &Stage<'_>, mut group: AgentGroup) -> Result<Mustered, LabError> {
    let (mut tasks, mut spread, mut shares) = (Vec::new(), Vec::new(), Vec::new());
    stage.loads.iter().try_for_each(|load| load.plan.check())?;
    let parts: Vec<_> = stage.loads.iter().map(|load| (load, places(stage, load))).collect();
    spread.extend(split::check_descriptors(parts.iter().map(|(_, parts)| parts.len()).sum(), stage.descriptors)?);
    let few = parts.iter().map(|(_, parts)| parts.len()).sum::<usize>() <= FEW;
    for (load, parts) in parts {
        let remote = parts.iter().any(|(host, _)| host.is_remote());
        let files = if remote { files::read_all(&load.plan)? } else { BTreeMap::new() };
        let plans: Vec<&LoadPlan> = parts.iter().map(|(_, plan)| plan).collect();
        spread.extend(split::describe(&plans, stage.descriptors).filter(|_| load.host.members().is_empty()));
        for (host, plan) in parts {
            let name = name(host, tasks.len() + 1);
            shares.push(split::weight(&plan));
            let spec = AgentSpec::Load {
                plan: Box::new(plan),
                addr: load.addr.clone(),
                at_once: false,
                files: if host.is_remote() { files.clone() } else { BTreeMap::new() },
                fine: few,
                detailed: stage.looked_at || load.plan.duration_s >= LONG_S,
            };
            tasks.push(Task { host, name, spec });
        }
    }
    group.assign(stage.program, &tasks)?;
    let parts = Parts::of(group.agents().iter().map(Agent::host).zip(shares));
    Ok(Mustered { group, parts, spread })
}

/// Divides a load among agents: as many as it needs on this host, or the requested number on each other host, in
/// rotation.
fn places<'a>(stage: &Stage<'_>, load: &Load<'a>) -> Vec<(&'a dyn Host, LoadPlan)> {
    let members = load.host.members();
    if members.is_empty() {
        return split(&load.plan, stage.descriptors).into_iter().map(|plan| (load.host, plan)).collect();
    }
    let most = members.iter().map(|(_, agents)| *agents).max().unwrap_or(1);
    let in_turns = (0..most).flat_map(|turn| members.iter().filter(move |(_, n)| *n > turn).map(|(host, _)| *host));
    let hosts: Vec<&dyn Host> = in_turns.collect();
    split::split_over_hosts(&load.plan, hosts.len()).into_iter().zip(hosts).map(|(plan, host)| (host, plan)).collect()
}

fn name(host: &dyn Host, number: usize) -> String {
    if host.is_remote() { format!("load {number} on {}", host.name()) } else { format!("load {number}") }
}
