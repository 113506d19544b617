//! Agents that make an experiment's changes (levers) during a load, each on the host of its lever.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use run::{AgentCommand, AgentReport, AgentSpec, LeverPart, LeverPlan, LeverSlots, SlotPlan};
use sys::clock::Origin;

use crate::TargetSetup;
use crate::agents::{Agent, AgentEvent, AgentGroup, RESULT_TIMEOUT};
use crate::levers::{Lever, LeverHost, LeverTargets, Pull};

/// Maximum time to wait until all agents are ready with their tasks, including the time to connect to other hosts.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// A lever with its agents, one per host.
struct LeverAgents {
    place: LeverHost,
    plan: LeverPlan,
    /// Numbers of the agents in their group, each with the name of its host.
    agents: Vec<(usize, String)>,
}

/// Agents that make the changes (levers) of an experiment.
#[derive(Default)]
pub(super) struct ActiveLevers {
    levers: Vec<LeverAgents>,
    /// Reason why a lever (temporary change of the experiment) cannot be used; empty if the lever can be used.
    why: String,
    group: AgentGroup,
}

impl ActiveLevers {
    /// Starts the agents of each lever, which then wait for the start of the load. `on` has one list per lever: true
    /// for each time slot in which the lever is on.
    pub(super) fn prepare(
        setup: &TargetSetup,
        program: &Path,
        rows: &[&'static Lever],
        targets: &LeverTargets,
        (slots, on): (SlotPlan, &[Vec<bool>]),
    ) -> Self {
        let mut active = Self::default();
        for (row, on) in rows.iter().zip(on) {
            let Pull::Slots { plan, .. } = row.pull else { continue };
            match plan(targets) {
                Ok(plan) => {
                    let plan = LeverPlan { slots, on: on.clone(), ..plan };
                    active.levers.push(LeverAgents { place: row.place, plan, agents: Vec::new() });
                }
                Err(why) => active.why = format!("the lever {} cannot be used: {why}", row.id),
            }
        }
        if let Err(error) = active.start(setup, program) {
            active.why = error.to_string();
            active.levers.clear();
        }
        active
    }

    fn start(&mut self, setup: &TargetSetup, program: &Path) -> Result<(), crate::LabError> {
        for lever in &mut self.levers {
            for host in setup.hosts_of(lever.place) {
                let mut plan = lever.plan.clone();
                if host.is_remote() {
                    // The agent on a remote host itself finds the CPUs of the processes to act on.
                    plan.cpus.clear();
                }
                let number = self.group.start(host, program, &plan.lever, &AgentSpec::Lever(plan.clone()))?;
                lever.agents.push((number, host.name().into()));
            }
        }
        self.group.await_ready(READY_WITHIN).map(drop)
    }

    /// Tells the agents when the load of `generators` starts, and which processes to act on. Stops agents without a
    /// process to act on: if a load has fewer connections than client hosts, some hosts have no generator.
    pub(super) fn announce(&mut self, generators: &AgentGroup, origin: Origin) {
        let Self { levers, group, .. } = self;
        for LeverAgents { place, agents, .. } in levers {
            agents.retain(|(number, _)| {
                let pids = pids(*place, &group.agents()[*number], generators);
                let is_used = pids.is_some();
                group.tell(*number, |agent| match pids {
                    Some(pids) => {
                        AgentCommand::Follow { pids, origin_ns: agent.on_its_clock(origin.ns()), interval_s: 0.0 }
                    }
                    None => AgentCommand::Stop,
                });
                is_used
            });
        }
    }

    /// Collects the results of all levers. The error gives the reason why there are no results.
    pub(super) fn finish(mut self) -> Result<Vec<LeverSlots>, String> {
        self.levers.retain(|lever| !lever.agents.is_empty());
        if self.levers.is_empty() {
            let why = std::mem::take(&mut self.why);
            return Err(if why.is_empty() { "no lever can be used here".into() } else { why });
        }
        let parts = self.parts()?;
        let levers = self.levers.iter().map(|lever| {
            let part = average(lever.agents.iter().filter_map(|(agent, _)| parts.get(agent)));
            LeverSlots {
                lever: lever.plan.lever.clone(),
                host: lever.agents.iter().map(|(_, host)| host.as_str()).collect::<Vec<_>>().join(", "),
                on: lever.plan.on.clone(),
                ordered: part.ordered,
                taken: mean(&lever.plan.on, &part.taken, true),
                wanted: mean(&lever.plan.on, &part.wanted, false),
                work: work(&lever.plan.on, &part.work),
                speed: part.speed,
            }
        });
        Ok(levers.collect())
    }

    /// Returns the result of each agent that was not stopped, by the agent's number.
    fn parts(&self) -> Result<BTreeMap<usize, LeverPart>, String> {
        let mut missing: BTreeSet<usize> =
            self.levers.iter().flat_map(|lever| &lever.agents).map(|(agent, _)| *agent).collect();
        let mut parts = BTreeMap::new();
        let deadline = Instant::now() + RESULT_TIMEOUT + 2 * self.group.longest_round_trip();
        while !missing.is_empty() {
            match self.group.hear(deadline) {
                Some((n, AgentEvent::Report(AgentReport::Lever(part)))) => {
                    missing.remove(&n);
                    parts.insert(n, part);
                }
                Some((n, AgentEvent::Report(AgentReport::Failed { error }) | AgentEvent::Gone(error)))
                    if missing.contains(&n) =>
                {
                    let agent = &self.group.agents()[n];
                    return Err(format!("the lever {} on {} was lost: {error}", agent.name(), agent.host()));
                }
                Some(_) => {}
                None => return Err("a lever did not report its effect".into()),
            }
        }
        Ok(parts)
    }
}

/// Returns the generator processes that replace the processes of a lever's plan when the load starts; empty if the
/// plan's processes remain. Returns `None` if the lever acts on generators, but none runs on the agent's host.
fn pids(place: LeverHost, agent: &Agent, generators: &AgentGroup) -> Option<Vec<u32>> {
    let pids = match place {
        LeverHost::Clients if agent.is_remote() => generators.pids_on(agent.host()),
        LeverHost::Clients => generators.pids(),
        _ => return Some(Vec::new()),
    };
    (!pids.is_empty()).then_some(pids)
}

/// Averages the results of one lever over its hosts, time slot by time slot.
fn average<'a>(parts: impl Iterator<Item = &'a LeverPart> + Clone) -> LeverPart {
    let mean = |of: fn(&LeverPart) -> &Vec<f64>| {
        let all: Vec<&Vec<f64>> = parts.clone().map(of).collect();
        let slots = all.iter().map(|one| one.len()).min().unwrap_or(0);
        let slot = |slot| run::six_digits(all.iter().map(|one| one[slot]).sum::<f64>() / all.len() as f64);
        (0..slots).map(slot).collect()
    };
    let ordered: Vec<f64> = parts.clone().filter_map(|part| part.ordered).collect();
    let ordered = (!ordered.is_empty()).then(|| judge::average(&ordered));
    LeverPart {
        speed: mean(|p| &p.speed),
        taken: mean(|p| &p.taken),
        wanted: mean(|p| &p.wanted),
        work: mean(|p| &p.work),
        ordered,
    }
}

/// Returns the mean of the known readings in some of the slots: those with the lever on if `when` is true, otherwise
/// those with the lever off. Returns `None` if no reading in the selected slots is known.
fn mean(on: &[bool], seen: &[f64], when: bool) -> Option<f64> {
    let readings = on.iter().zip(seen).filter(|(on, seen)| **on == when && seen.is_finite());
    let readings: Vec<f64> = readings.map(|(_, seen)| *seen).collect();
    (!readings.is_empty()).then(|| judge::average(&readings))
}

/// Returns the resource's mean work with the lever on, divided by its mean work with the lever off.
fn work(on: &[bool], seen: &[f64]) -> Option<f64> {
    let without = mean(on, seen, false).filter(|work| *work > 0.0)?;
    Some(mean(on, seen, true)? / without)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::{Shell, hello};

    /// The first agent would act on generators, but its host has none.
    #[test]
    fn a_host_without_a_generator_is_not_slowed() {
        let ready = format!(r#"{}echo '{{"is":"ready","pid":1,"io":"","notes":[]}}'; read command; "#, hello());
        let mut active = ActiveLevers::default();
        for (place, lever, script) in [
            (LeverHost::Clients, "client-cpu", r#"echo '{"is":"failed","error":"it was stopped"}'"#),
            (
                LeverHost::Server,
                "server-cpu",
                r#"echo '{"is":"lever","speed":[0.75],"taken":[],"wanted":[],"work":[]}'"#,
            ),
        ] {
            let plan = LeverPlan { lever: lever.into(), pids: vec![std::process::id()], ..LeverPlan::default() };
            let (host, spec) = (Shell(format!("{ready}{script}; sleep 60")), AgentSpec::Lever(plan.clone()));
            let number = active.group.start(&host, Path::new("sh"), lever, &spec).unwrap();
            active.levers.push(LeverAgents { place, plan, agents: vec![(number, lever.into())] });
        }
        active.group.await_ready(READY_WITHIN).unwrap();
        active.announce(&AgentGroup::default(), Origin::after(Duration::ZERO));
        assert_eq!(active.levers.iter().map(|lever| lever.agents.len()).collect::<Vec<_>>(), [0, 1]);
        let found = active.finish().unwrap();
        assert_eq!(found.iter().map(|lever| lever.lever.as_str()).collect::<Vec<_>>(), ["server-cpu"]);
        assert_eq!(found[0].speed, [0.75]);
    }

    #[test]
    fn a_lever_on_several_hosts_is_the_mean_of_them_in_each_slot() {
        let part = |speed: &[f64]| LeverPart { speed: speed.to_vec(), ..LeverPart::default() };
        let (a, b) = (part(&[1.0, 0.6, 1.0]), part(&[1.0, 0.8]));
        let both = average([&a, &b].into_iter());
        assert_eq!((both.speed, both.taken), (vec![1.0, 0.7], vec![]));
        assert_eq!(average([&a].into_iter()), a);
    }

    #[test]
    fn the_work_of_a_resource_is_compared_with_and_without_the_lever() {
        let on = [false, true, true, false];
        assert_eq!(work(&on, &[100.0, 150.0, f64::NAN, 100.0]), Some(1.5));
        assert_eq!((work(&on, &[]), work(&on, &[0.0, 1.0, 1.0, 0.0])), (None, None));
    }

    #[test]
    fn a_missed_slot_has_no_part_in_the_dose() {
        let (on, taken) = ([false, true, true, true], [0.0, 0.2, f64::NAN, 0.3]);
        assert_eq!((mean(&on, &taken, true), mean(&on, &taken, false)), (Some(0.25), Some(0.0)));
        assert_eq!(mean(&[true], &[f64::NAN], true), None);
    }
}
