//! One load test (a trial in the code). The steps of a load test are: start the agents, warm up until the rate is
//! steady, measure, drain, and merge the results. Observers sample counters at the start and end of the measurement.
//! Agents of the preceding load test are reused.
//!
//! Times of a load test are counted from the moment at which its agents begin to send. Samples and progress reports use
//! this zero point, so their times show which of them belong to the measurement.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use run::{
    AgentCommand, AgentSpec, Incident, IncidentKind, Io, LoadPart, LoadPlan, Phase, Steady, Trial, TrialOverhead,
    Window,
};
use sys::clock::Origin;

use crate::agents::files;
use crate::agents::split::{self, split};
use crate::agents::{Agent, AgentGroup, RESULT_TIMEOUT, Ready, Task};
use crate::hosts::agents_of;
use crate::observe::samplers::Samplers;
use crate::trial::collected_parts::CollectedParts;
use crate::trial::merge::{self, Point};
use crate::trial::running_trial::{RunningTrial, TrialEnd};
use crate::trial::snapshots;
use crate::{Host, LabError, Watch};

/// Maximum time for an agent on this machine to prepare its sockets and memory.
const READY_WITHIN: Duration = Duration::from_secs(10);
/// Maximum time for an agent on another host to be ready, including the time to connect to that host.
const REMOTE_READY_WITHIN: Duration = Duration::from_secs(30);
/// Minimum time that an agent gets to prepare, even at the end of a budget. The value is ten times the time that an
/// agent took to prepare on two CPUs with ten busy programs.
const MIN_READY_TIME: Duration = Duration::from_millis(500);
/// Minimum time for the last answers and reports, even at the end of a budget. [`MIN_READY_TIME`] and
/// [`MIN_DRAIN_TIME`] together are 5 % of a budget of 15 s.
const MIN_DRAIN_TIME: Duration = Duration::from_millis(250);
/// Additional time to prepare, per agent, because many agents need longer than one agent.
const READY_PER_AGENT: Duration = Duration::from_millis(50);
/// Minimum time between sending a command and the moment in the command, if an agent is on another host. If only an
/// observer is on another host, [`LEAD`] applies to all commands except the start command. Twice the longest round-trip
/// time of any agent or observer is added to this minimum. [`LEAD`] itself is longer than an agent needs to read the
/// command.
const LEAD: Duration = Duration::from_millis(50);
/// Minimum time between sending a command and the moment in the command, if all agents are on this machine. Twice the
/// longest round-trip time of any agent or observer is added to this minimum. Commands that arrive late are reported.
const LOCAL_LEAD: Duration = Duration::from_millis(10);
/// Maximum time to wait for unanswered requests after the user stopped a run.
const INTERRUPT_TIMEOUT: Duration = Duration::from_millis(500);
/// Maximum number of agents for which fine ticks (progress reports at short intervals) are used. If a load test has
/// more agents, no agent reports at short intervals.
const MAX_FINE_AGENTS: usize = 16;
/// Time per agent that is added to [`LEAD`] or [`LOCAL_LEAD`], because many agents get their commands one after the
/// other.
const LEAD_PER_AGENT: Duration = Duration::from_micros(200);

/// One load within a load test: host of the generator, target and plan. Most load tests have one load. Several hosts or
/// kinds of clients need several loads.
pub struct Load<'a> {
    /// Host of the load's agents.
    pub host: &'a dyn Host,
    /// Address of the server.
    pub addr: run::Address,
    /// Plan of the load. The plan of the first load also sets the durations of the whole load test.
    pub plan: LoadPlan,
}

/// Input for one load test.
pub(crate) struct TrialSetup<'a> {
    pub(crate) program: &'a Path,
    pub(crate) loads: &'a [Load<'a>],
    /// Maximum number of descriptors of one agent process.
    pub(crate) descriptors: u64,
    /// True if there is a live view, so that agents report more details.
    pub(crate) watched: bool,
    /// Seconds of the budget that are left; infinite without a budget.
    pub(crate) left_s: f64,
}

/// Conducts one load test with the agents of the preceding test. After the load test, the agents wait for another task.
/// `samplers` starts the observers once the process IDs of the agents are known.
pub(crate) fn conduct(
    setup: &TrialSetup<'_>,
    kept: &mut AgentGroup,
    point: &Point,
    samplers: impl FnOnce(&AgentGroup, Origin) -> Samplers,
    watch: &mut dyn Watch,
) -> Result<(Trial, TrialEnd), LabError> {
    let Some(plan) = setup.loads.first().map(|l| &l.plan) else {
        return Err(LabError::set_up(&point.label, "a trial needs a load"));
    };
    let began = Instant::now();
    let budget_end = Duration::try_from_secs_f64(setup.left_s).ok().and_then(|left| began.checked_add(left));
    let AssignedAgents { mut group, parts, spread } = assign(setup, std::mem::take(kept))?;
    let (agents, remote) = (group.agents().len() as u32, group.agents().iter().any(Agent::is_remote));
    let patience = if remote { REMOTE_READY_WITHIN } else { READY_WITHIN };
    let patience = patience + READY_PER_AGENT * agents;
    let ready = match group.await_ready(within_budget(patience, budget_end, began, MIN_READY_TIME)) {
        Ok(ready) => ready,
        // If an agent was killed before the load, the run ends and its earlier results remain valid. If an agent is
        // killed during the load, the run also ends and keeps its earlier results.
        Err(LabError::Killed { name, why }) => {
            let text = format!("the generator {name:?} ended at 0.0 s: {why}");
            return Ok((never_begun(setup.loads, point, text), TrialEnd::Broken));
        }
        Err(error) => return Err(error),
    };
    let lead = if remote { LEAD } else { LOCAL_LEAD };
    let lead = lead + LEAD_PER_AGENT * agents + 2 * group.longest_round_trip();
    let origin = Origin::after(lead);
    group.begin_at(origin, |at_ns| AgentCommand::Start { at_ns });
    let samplers = samplers(&group, origin);
    let lead = (remote || samplers.are_remote()).then(|| lead.max(LEAD + 2 * samplers.longest_round_trip()));
    let ends = (budget_end, virtual_end_s(plan));
    let mut running = RunningTrial::new((group, parts), samplers, origin, lead, ends, watch);
    let Measurement { window, steady, open_at_begin, ended } = measure(&mut running, plan, wanted_connections(setup));
    running.collect(within_budget(drain_timeout(plan, ended), budget_end, Instant::now(), MIN_DRAIN_TIME));
    let loads: Vec<_> = setup.loads.iter().map(|load| &load.plan.intensity).collect();
    let (mut trial, group) = running.trial(&loads, point, window)?;
    *kept = group;
    let whole_s = began.elapsed().as_secs_f64();
    let drain_s = (origin.now_s() - window.end_s).max(0.0);
    trial.measured.around = Some(TrialOverhead { start_s: (whole_s - origin.now_s()).max(0.0), drain_s });
    trial.steady = steady;
    trial.measured.open_at_begin = open_at_begin;
    trial.notes.extend(spread);
    add_agents(&mut trial, ready);
    Ok((trial, ended))
}

/// Returns the latest moment of a load in virtual time, seconds since its start; `None` for a load in real time.
fn virtual_end_s(plan: &LoadPlan) -> Option<f64> {
    (plan.io == Io::Sim).then_some(plan.warmup_s + plan.duration_s + plan.drain_s)
}

/// Returns `time`, or the rest of the budget if it is shorter. If the rest of the budget is shorter than `least`, it
/// counts as `least`.
fn within_budget(time: Duration, budget_end: Option<Instant>, now: Instant, least: Duration) -> Duration {
    budget_end.map_or(time, |end| time.min(end.saturating_duration_since(now).max(least)))
}

/// Measured window of a load test.
struct Measurement {
    window: Window,
    steady: Steady,
    /// Number of connections at the start of the window; `None` if all `wanted` connections were open.
    open_at_begin: Option<u64>,
    ended: TrialEnd,
}

/// Warms up, measures and starts the drain. `wanted` is the number of connections of all closed loops.
fn measure(running: &mut RunningTrial<'_>, plan: &LoadPlan, wanted: u64) -> Measurement {
    let begun = plan.is_measured_from_its_begin().then(|| running.enter_at_begin(Phase::Measure));
    let (steady, mut ended) = running.warm_up(plan, wanted);
    let open_at_begin = Some(running.open()).filter(|open| !plan.new_connections && *open < wanted);
    let (begin_s, _) = begun.unwrap_or_else(|| running.enter(Phase::Measure));
    if ended == TrialEnd::InFull {
        ended = running.hold(plan);
    }
    let (_, end_s) = running.enter(Phase::Drain);
    Measurement { window: Window { begin_s, end_s }, steady, open_at_begin, ended }
}

/// Returns the maximum time to wait for the last answers and the results of the agents.
fn drain_timeout(plan: &LoadPlan, ended: TrialEnd) -> Duration {
    let drain = Duration::from_secs_f64(plan.drain_s.max(0.0));
    match ended {
        // The drain is left out, because the time slots of an experiment would continue during the drain.
        TrialEnd::ByUser if plan.slots.is_some() => Duration::ZERO,
        TrialEnd::ByUser => drain.min(INTERRUPT_TIMEOUT),
        TrialEnd::InFull | TrialEnd::Broken => drain + RESULT_TIMEOUT,
    }
}

/// Adds the drivers and the notes of the agents. Of equal notes, only one stays.
fn add_agents(trial: &mut Trial, ready: Vec<Ready>) {
    trial.drivers = ready.iter().map(|r| r.io.clone()).filter(|name| !name.is_empty()).collect();
    trial.notes.extend(ready.into_iter().flat_map(|r| r.notes));
    for texts in [&mut trial.drivers, &mut trial.notes] {
        texts.sort();
        texts.dedup();
    }
}

/// Returns a load test that did not begin, because one of its generators was killed or got too little CPU time.
pub(crate) fn never_begun(loads: &[Load<'_>], point: &Point, text: String) -> Trial {
    let loads: Vec<_> = loads.iter().map(|load| &load.plan.intensity).collect();
    let mut trial = merge::trial(point, &loads, LoadPart::default(), Window::default());
    trial.notes.push(text.clone());
    trial.incidents = vec![Incident { kind: IncidentKind::GeneratorEnded, begin_s: 0.0, end_s: None, text }];
    trial
}

/// Returns the number of connections of all loads that are closed loops.
fn wanted_connections(setup: &TrialSetup<'_>) -> u64 {
    let connections = |load: &Load<'_>| match load.plan.intensity {
        run::Intensity::Closed { connections, .. } => u64::from(connections),
        _ => 0,
    };
    setup.loads.iter().map(connections).sum()
}

/// Agents of a load test with their tasks.
struct AssignedAgents {
    group: AgentGroup,
    parts: CollectedParts,
    /// Notes about loads that were divided among several processes.
    spread: Vec<String>,
}

/// Assigns a task to every agent of every load.
fn assign(setup: &TrialSetup<'_>, mut group: AgentGroup) -> Result<AssignedAgents, LabError> {
    let (mut tasks, mut spread, mut shares) = (Vec::new(), Vec::new(), Vec::new());
    setup.loads.iter().try_for_each(|load| load.plan.check())?;
    let parts: Vec<_> = setup.loads.iter().map(|load| (load, divide(setup, load))).collect();
    spread.extend(split::check_descriptors(parts.iter().map(|(_, parts)| parts.len()).sum(), setup.descriptors)?);
    let fine = parts.iter().map(|(_, parts)| parts.len()).sum::<usize>() <= MAX_FINE_AGENTS;
    for (load, parts) in parts {
        let remote = parts.iter().any(|(host, _)| host.is_remote());
        let files = if remote { files::read_all(&load.plan)? } else { BTreeMap::new() };
        let plans: Vec<&LoadPlan> = parts.iter().map(|(_, plan)| plan).collect();
        spread.extend(split::describe(&plans, setup.descriptors).filter(|_| load.host.members().is_empty()));
        for (host, plan) in parts {
            let name = name(host, tasks.len() + 1);
            shares.push(split::weight(&plan));
            let spec = AgentSpec::Load {
                plan: Box::new(plan),
                addr: load.addr.clone(),
                at_once: false,
                files: if host.is_remote() { files.clone() } else { BTreeMap::new() },
                fine,
                detailed: setup.watched || snapshots::is_stretched(&load.plan),
            };
            tasks.push(Task { host, name, spec });
        }
    }
    group.assign(setup.program, &tasks)?;
    let parts = CollectedParts::new(group.agents().iter().map(Agent::host).zip(shares));
    Ok(AssignedAgents { group, parts, spread })
}

/// Divides a load among agents. On this host, the load gets as many agents as it needs. On other hosts, the load gets
/// the requested number of agents, in rotation over the hosts.
fn divide<'a>(setup: &TrialSetup<'_>, load: &Load<'a>) -> Vec<(&'a dyn Host, LoadPlan)> {
    if load.host.members().is_empty() {
        return split(&load.plan, setup.descriptors).into_iter().map(|plan| (load.host, plan)).collect();
    }
    let hosts = agents_of(load.host);
    split::split_over_hosts(&load.plan, hosts.len()).into_iter().zip(hosts).map(|(plan, host)| (host, plan)).collect()
}

fn name(host: &dyn Host, number: usize) -> String {
    if host.is_remote() { format!("generator {number} on {}", host.name()) } else { format!("generator {number}") }
}
