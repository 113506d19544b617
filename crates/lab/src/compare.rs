//! Two servers in turns: short windows of the same load, in a random order that is balanced, so that what the machine does meanwhile is done to
//! both alike.

use run::{Intensity, Plan, Run, TrialKind, Turns};

use crate::conduct::Load;
use crate::order::Order;
use crate::{Lab, LabError, Local, Nobody, Point, TargetSetup, Watch};

/// Measured time of one window: the shortest, and what a budget with room has; its warm-up at most, and with that what else a window
/// takes, seconds.
const SHORTEST_S: f64 = 0.2;
const WINDOW_S: f64 = 0.6;
const WARM_UP_S: f64 = 0.3;
const AROUND_S: f64 = 0.4;
/// Fewest windows of each server: by ranks alone, fewer than seven against seven tell none of seven figures apart surely (six against
/// six differ by chance in one of 200 cases, and one of seven in one of 28).
const FEWEST: u64 = 7;
/// Windows of each that a budget is made to have room for.
const WANTED: f64 = 10.0;

/// Two servers that were loaded in turns.
pub struct InTurns {
    /// A run of each; its windows are the trials.
    pub runs: [Run; 2],
    /// In which order.
    pub turns: Turns,
}

/// Loads both plans' targets in turns within a budget of seconds, in the order of the first plan's seed. `watch` says when to stop.
pub fn in_turns(plans: [Plan; 2], budget_s: f64, watch: &dyn Watch) -> Result<InTurns, LabError> {
    let seed = plans[0].load.seed;
    let [a, b] = plans;
    let (mut of_a, mut of_b) = (Nobody, Nobody);
    let mut sides = [Side::prepare(a, &mut of_a)?, Side::prepare(b, &mut of_b)?];
    let mut order = Order::of(seed);
    let mut turns = Turns { seed, new_first: Vec::new() };
    let began = std::time::Instant::now();
    let window_s = (budget_s / (2.0 * WANTED) - AROUND_S).clamp(SHORTEST_S, WINDOW_S);
    let mut pair = 0;
    let mut last_s: f64 = 0.0;
    while !watch.stop() && (pair < FEWEST || began.elapsed().as_secs_f64() + last_s < budget_s) {
        let at = began.elapsed().as_secs_f64();
        let first = order.first();
        turns.new_first.push(first == 1);
        // Both have the same arrivals and think times, each pair its own.
        for side in [first, 1 - first] {
            sides[side].window(window_s, seed.wrapping_add(pair))?;
        }
        if sides.iter_mut().any(|s| s.lab.stopped()) {
            break;
        }
        (pair, last_s) = (pair + 1, began.elapsed().as_secs_f64() - at);
    }
    let [a, b] = sides;
    Ok(InTurns { runs: [a.lab.finish()?, b.lab.finish()?], turns })
}

struct Side<'w> {
    lab: Lab<'w>,
    target_setup: TargetSetup,
}

impl<'w> Side<'w> {
    fn prepare(plan: Plan, watch: &'w mut Nobody) -> Result<Self, LabError> {
        let mut lab = Lab::begin(plan, None, watch)?;
        let target_setup = TargetSetup::prepare(&mut lab)?;
        Ok(Self { lab, target_setup })
    }

    fn window(&mut self, window_s: f64, seed: u64) -> Result<(), LabError> {
        let mut plan = self.target_setup.load.clone();
        (plan.duration_s, plan.warmup_s, plan.seed) = (window_s, WARM_UP_S, seed);
        if let Intensity::Closed { connections, .. } = plan.intensity {
            plan.threads = plan.threads.min(connections.max(1));
        }
        let point = Point { label: "in turns".into(), kind: TrialKind::Fixed, ..Point::default() };
        let loads = [Load { host: &Local::default(), addr: self.target_setup.addr.clone(), plan }];
        let trial = self.lab.conduct(&self.target_setup.observation, &loads, &point)?;
        self.lab.keep(trial).map(|_| ())
    }
}
