//! The agents that pull levers while a load is on.

use std::path::Path;
use std::time::{Duration, Instant};

use run::{AgentReport, AgentSpec, LeverPart, LeverPlan, LeverSlots, SlotPlan};
use sys::clock::Origin;

use super::schedule;
use crate::Local;
use crate::agent::{AgentGroup, Said};
use crate::levers::{Lever, Pull, Reach};

/// How long an agent may take to hand over what it did.
const HANDS_OVER: Duration = Duration::from_secs(3);

/// How long all may take to have their tasks.
const BEGINS_WITHIN: Duration = Duration::from_secs(5);

/// See the head of this file.
#[derive(Default)]
pub(super) struct Pulled {
    plans: Vec<LeverPlan>,
    /// Why nothing is pulled.
    why: String,
    group: AgentGroup,
}

impl Pulled {
    /// Starts an agent a lever, each with a sequence of its own.
    pub(super) fn start(
        &mut self,
        program: &Path,
        rows: &[&'static Lever],
        reach: &Reach,
        slots: SlotPlan,
        origin: Origin,
    ) {
        let start_at_ns = sys::clock::realtime_ns().saturating_add_signed((-origin.now_s() * 1e9) as i64);
        let mut random = fastrand::Rng::with_seed(start_at_ns);
        for row in rows {
            let Pull::Slots { plan, .. } = row.pull else { continue };
            match plan(reach) {
                Ok(plan) => {
                    let on = schedule::sequence(slots.count, &mut random);
                    self.plans.push(LeverPlan { start_at_ns, slots, on, ..plan });
                }
                Err(why) => self.why = format!("the lever {} cannot be pulled: {why}", row.id),
            }
        }
        let started = self.plans.iter().try_for_each(|plan| {
            self.group.start(&Local::default(), program, &plan.lever, &AgentSpec::Lever(plan.clone())).map(drop)
        });
        if let Err(error) = started.and_then(|()| self.group.await_begin(BEGINS_WITHIN)) {
            self.why = error.to_string();
            self.plans.clear();
        }
    }

    /// Collects what they did.
    pub(super) fn finish(mut self) -> Result<Vec<LeverSlots>, String> {
        if self.plans.is_empty() {
            let why = std::mem::take(&mut self.why);
            return Err(if why.is_empty() { "no lever can be pulled here".into() } else { why });
        }
        let parts = self.parts()?;
        let levers = self.plans.iter().zip(parts).map(|(plan, part)| LeverSlots {
            lever: plan.lever.clone(),
            host: "localhost".into(),
            on: plan.on.clone(),
            taken: mean(&plan.on, &part.taken, true),
            wanted: mean(&plan.on, &part.wanted, false),
            speed: part.speed,
        });
        Ok(levers.collect())
    }

    fn parts(&mut self) -> Result<Vec<LeverPart>, String> {
        let mut parts = vec![None; self.plans.len()];
        let deadline = Instant::now() + HANDS_OVER;
        while parts.iter().any(Option::is_none) {
            match self.group.hear(deadline) {
                Some((n, Said::Report(AgentReport::Lever(part)))) => parts[n] = Some(part),
                Some((n, Said::Report(AgentReport::Failed { error }) | Said::Gone(error))) if parts[n].is_none() => {
                    return Err(format!("the lever {} was lost: {error}", self.plans[n].lever));
                }
                Some(_) => {}
                None => return Err("a lever did not hand over what it did".into()),
            }
        }
        Ok(parts.into_iter().flatten().collect())
    }
}

/// What was seen on the mean in the slots that were on, or in those that were off.
fn mean(on: &[bool], seen: &[f64], when: bool) -> Option<f64> {
    let of: Vec<f64> = on.iter().zip(seen).filter(|(on, _)| **on == when).map(|(_, seen)| *seen).collect();
    (!of.is_empty()).then(|| of.iter().sum::<f64>() / of.len() as f64)
}
