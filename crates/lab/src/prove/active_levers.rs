//! Agents that make an experiment's changes (levers) during a load, each on the host of its lever.

use std::path::Path;
use std::time::{Duration, Instant};

use run::{AgentCommand, AgentReport, AgentSpec, LeverPart, LeverPlan, LeverSlots, SlotPlan};
use sys::clock::Origin;

use crate::TargetSetup;
use crate::agents::{AgentEvent, AgentGroup};
use crate::levers::{Lever, LeverHost, LeverTargets, Pull};

/// Maximum time to wait for an agent's result, in addition to two round trips.
const RESULT_TIMEOUT: Duration = Duration::from_secs(3);

/// Maximum time to wait until all agents are ready with their tasks, including the time to connect to other hosts.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// A lever with its agents, one per host.
struct LeverAgents {
    place: LeverHost,
    plan: LeverPlan,
    hosts: Vec<String>,
    agents: Vec<usize>,
}

/// Agents that make the changes (levers) of an experiment.
#[derive(Default)]
pub(super) struct ActiveLevers {
    levers: Vec<LeverAgents>,
    /// Reason why a lever (change of the experiment) cannot be used; empty if there is none.
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
                    active.levers.push(LeverAgents { place: row.place, plan, hosts: Vec::new(), agents: Vec::new() });
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
                lever.agents.push(self.group.start(host, program, &plan.lever, &AgentSpec::Lever(plan.clone()))?);
                lever.hosts.push(host.name().into());
            }
        }
        self.group.await_ready(READY_WITHIN).map(drop)
    }

    /// Tells the agents when the load of `generators` starts, and which processes to act on.
    pub(super) fn announce(&mut self, generators: &AgentGroup, origin: Origin) {
        let Self { levers, group, .. } = self;
        for lever in levers {
            for number in &lever.agents {
                group.tell(*number, |agent| {
                    let pids = match lever.place {
                        LeverHost::Clients if agent.is_remote() => generators.pids_on(agent.host()),
                        LeverHost::Clients => generators.pids(),
                        _ => Vec::new(),
                    };
                    AgentCommand::Follow { pids, origin_ns: agent.on_its_clock(origin.ns()), interval_s: 0.0 }
                });
            }
        }
    }

    /// Collects the results of all levers. The error says why there are no results.
    pub(super) fn finish(mut self) -> Result<Vec<LeverSlots>, String> {
        if self.levers.is_empty() {
            let why = std::mem::take(&mut self.why);
            return Err(if why.is_empty() { "no lever can be used here".into() } else { why });
        }
        let parts = self.parts()?;
        let levers = self.levers.iter().map(|lever| {
            let part = average(lever.agents.iter().map(|agent| &parts[*agent]));
            LeverSlots {
                lever: lever.plan.lever.clone(),
                host: lever.hosts.join(", "),
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

    /// Returns each agent's result, in the order of the agents' numbers.
    fn parts(&mut self) -> Result<Vec<LeverPart>, String> {
        let mut parts = vec![None; self.group.agents().len()];
        let deadline = Instant::now() + RESULT_TIMEOUT + 2 * self.group.longest_round_trip();
        while parts.iter().any(Option::is_none) {
            match self.group.hear(deadline) {
                Some((n, AgentEvent::Report(AgentReport::Lever(part)))) => parts[n] = Some(part),
                Some((n, AgentEvent::Report(AgentReport::Failed { error }) | AgentEvent::Gone(error)))
                    if parts[n].is_none() =>
                {
                    let agent = &self.group.agents()[n];
                    return Err(format!("the lever {} on {} was lost: {error}", agent.name(), agent.host()));
                }
                Some(_) => {}
                None => return Err("a lever did not report its effect".into()),
            }
        }
        Ok(parts.into_iter().flatten().collect())
    }
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

/// Returns the mean of the known readings in the slots with the lever on if `when` is true, otherwise in the slots with
/// the lever off. Returns `None` if no reading in the selected slots is known.
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
