//! Agents that pull levers during a load, each on its lever's host.

use std::path::Path;
use std::time::{Duration, Instant};

use run::{AgentCommand, AgentReport, AgentSpec, LeverPart, LeverPlan, LeverSlots, SlotPlan};
use sys::clock::Origin;

use crate::TargetSetup;
use crate::agents::{AgentEvent, AgentGroup};
use crate::levers::{Lever, Place, Pull, Reach};

/// Maximum wait for an agent's result, besides the round trip.
const HANDS_OVER: Duration = Duration::from_secs(3);

/// Maximum time until all agents are ready with their tasks, including connections to other hosts.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// A lever with its agents, one per host.
struct Lot {
    place: Place,
    plan: LeverPlan,
    hosts: Vec<String>,
    agents: Vec<usize>,
}

/// Agents that pull levers.
#[derive(Default)]
pub(super) struct Pulled {
    lots: Vec<Lot>,
    /// Reason for pulling nothing.
    why: String,
    group: AgentGroup,
}

impl Pulled {
    /// Starts the agents of each lever, with its own sequence of slots. They wait for the start of the load.
    pub(super) fn ready(
        setup: &TargetSetup,
        program: &Path,
        rows: &[&'static Lever],
        reach: &Reach,
        (slots, on): (SlotPlan, &[Vec<bool>]),
    ) -> Self {
        let mut pulled = Self::default();
        for (row, on) in rows.iter().zip(on) {
            let Pull::Slots { plan, .. } = row.pull else { continue };
            match plan(reach) {
                Ok(plan) => {
                    let plan = LeverPlan { slots, on: on.clone(), ..plan };
                    pulled.lots.push(Lot { place: row.place, plan, hosts: Vec::new(), agents: Vec::new() });
                }
                Err(why) => pulled.why = format!("the lever {} cannot be pulled: {why}", row.id),
            }
        }
        if let Err(error) = pulled.start(setup, program) {
            pulled.why = error.to_string();
            pulled.lots.clear();
        }
        pulled
    }

    fn start(&mut self, setup: &TargetSetup, program: &Path) -> Result<(), crate::LabError> {
        for lot in &mut self.lots {
            for host in setup.hosts_of(lot.place) {
                let mut plan = lot.plan.clone();
                if host.is_remote() {
                    // The agent finds its processes' CPUs.
                    plan.cpus.clear();
                }
                lot.agents.push(self.group.start(host, program, &plan.lever, &AgentSpec::Lever(plan.clone()))?);
                lot.hosts.push(host.name().into());
            }
        }
        self.group.await_ready(READY_WITHIN).map(drop)
    }

    /// Announces the start of the load by these generators.
    pub(super) fn begin(&mut self, generators: &AgentGroup, origin: Origin) {
        let Self { lots, group, .. } = self;
        for lot in lots {
            for number in &lot.agents {
                group.tell(*number, |agent| {
                    let pids = match lot.place {
                        Place::Clients if agent.is_remote() => generators.pids_on(agent.host()),
                        Place::Clients => generators.pids(),
                        _ => Vec::new(),
                    };
                    AgentCommand::Follow { pids, origin_ns: agent.on_its_clock(origin.ns()), interval_s: 0.0 }
                });
            }
        }
    }

    /// Collects the results.
    pub(super) fn finish(mut self) -> Result<Vec<LeverSlots>, String> {
        if self.lots.is_empty() {
            let why = std::mem::take(&mut self.why);
            return Err(if why.is_empty() { "no lever can be pulled here".into() } else { why });
        }
        let parts = self.parts()?;
        let levers = self.lots.iter().map(|lot| {
            let part = together(lot.agents.iter().map(|agent| &parts[*agent]));
            LeverSlots {
                lever: lot.plan.lever.clone(),
                host: lot.hosts.join(", "),
                on: lot.plan.on.clone(),
                taken: mean(&lot.plan.on, &part.taken, true),
                wanted: mean(&lot.plan.on, &part.wanted, false),
                speed: part.speed,
            }
        });
        Ok(levers.collect())
    }

    /// Returns each agent's result, in order.
    fn parts(&mut self) -> Result<Vec<LeverPart>, String> {
        let mut parts = vec![None; self.group.agents().len()];
        let deadline = Instant::now() + HANDS_OVER + 2 * self.group.longest_round_trip();
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
                None => return Err("a lever did not say what it did".into()),
            }
        }
        Ok(parts.into_iter().flatten().collect())
    }
}

/// Averages one lever's results over its hosts, slot by slot.
fn together<'a>(parts: impl Iterator<Item = &'a LeverPart> + Clone) -> LeverPart {
    let mean = |of: fn(&LeverPart) -> &Vec<f64>| {
        let all: Vec<&Vec<f64>> = parts.clone().map(of).collect();
        let slots = all.iter().map(|one| one.len()).min().unwrap_or(0);
        (0..slots).map(|slot| all.iter().map(|one| one[slot]).sum::<f64>() / all.len() as f64).collect()
    };
    LeverPart { speed: mean(|p| &p.speed), taken: mean(|p| &p.taken), wanted: mean(|p| &p.wanted) }
}

/// Returns the mean of the readings in the slots that were on, or in those that were off.
fn mean(on: &[bool], seen: &[f64], when: bool) -> Option<f64> {
    let of: Vec<f64> = on.iter().zip(seen).filter(|(on, _)| **on == when).map(|(_, seen)| *seen).collect();
    (!of.is_empty()).then(|| judge::average(&of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lever_on_several_hosts_is_the_mean_of_them_in_each_slot() {
        let part = |speed: &[f64]| LeverPart { speed: speed.to_vec(), ..LeverPart::default() };
        let (a, b) = (part(&[1.0, 0.6, 1.0]), part(&[1.0, 0.8]));
        let both = together([&a, &b].into_iter());
        assert_eq!((both.speed, both.taken), (vec![1.0, 0.7], vec![]));
        assert_eq!(together([&a].into_iter()), a);
    }
}
