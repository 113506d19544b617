//! Two servers in turns: short windows of the same load, then a search for the capacity of each, step by step, in a random order
//! that is balanced, so that what the machine does meanwhile is done to both alike.

use std::time::Instant;

use run::{Intensity, Plan, Run, TrialKind, Turns};

use crate::conduct::Load;
use crate::live::Live;
use crate::order::Order;
use crate::search::{Budget, Finder};
use crate::{Lab, LabError, Nobody, Point, TargetSetup, Watch};

/// Measured time of one window: the shortest, and what a budget with room has; its warm-up at most, and with that what else a window
/// takes, seconds.
const SHORTEST_S: f64 = 0.2;
const WINDOW_S: f64 = 0.6;
const WARM_UP_S: f64 = 0.3;
const AROUND_S: f64 = 0.4;
/// Fewest windows of each server: by ranks alone, fewer than seven against seven tell none of seven figures apart surely.
const FEWEST: u64 = 7;
/// Windows of each that a budget is made to have room for.
const WANTED: f64 = 10.0;
/// Share of the budget for the capacities, and the shortest search that is worth its time, seconds.
const FOR_CAPACITY: f64 = 0.4;
const SHORTEST_SEARCH_S: f64 = 8.0;

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
    let mut sides = [prepare(a, &mut of_a)?, prepare(b, &mut of_b)?];
    let mut turns = InOrder { order: Order::of(seed), turns: Turns { seed, new_first: Vec::new() } };
    let search_s = Some(FOR_CAPACITY * budget_s / 2.0).filter(|s| *s >= SHORTEST_SEARCH_S);
    let windows_s = budget_s - 2.0 * search_s.unwrap_or(0.0);
    let began = Instant::now();
    let window_s = (windows_s / (2.0 * WANTED) - AROUND_S).clamp(SHORTEST_S, WINDOW_S);
    let (mut pair, mut last_s) = (0, 0.0);
    while !watch.stop() && (pair < FEWEST || began.elapsed().as_secs_f64() + last_s < windows_s) {
        let at = began.elapsed().as_secs_f64();
        // Both have the same arrivals and think times, each pair its own.
        turns.pair(|side| window(&mut sides[side], window_s, seed.wrapping_add(pair)))?;
        if sides.iter_mut().any(|s| s.lab.stopped()) {
            break;
        }
        (pair, last_s) = (pair + 1, began.elapsed().as_secs_f64() - at);
    }
    if let Some(search_s) = search_s {
        capacities(&mut sides, &mut turns, search_s, watch)?;
    }
    let [a, b] = sides;
    Ok(InTurns { runs: [a.lab.finish()?, b.lab.finish()?], turns: turns.turns })
}

/// Pairs of turns, in an order that is kept.
struct InOrder {
    order: Order,
    turns: Turns,
}

impl InOrder {
    fn pair(&mut self, mut turn: impl FnMut(usize) -> Result<(), LabError>) -> Result<(), LabError> {
        let first = self.order.first();
        self.turns.new_first.push(first == 1);
        turn(first)?;
        turn(1 - first)
    }
}

fn prepare(plan: Plan, watch: &mut Nobody) -> Result<Live<'_>, LabError> {
    let mut lab = Lab::begin(plan, None, watch)?;
    let target_setup = TargetSetup::prepare(&mut lab)?;
    Ok(Live { lab, target_setup, began_s: 0.0 })
}

fn window(side: &mut Live<'_>, window_s: f64, seed: u64) -> Result<(), LabError> {
    let mut plan = side.target_setup.load.clone();
    (plan.duration_s, plan.warmup_s, plan.seed) = (window_s, WARM_UP_S, seed);
    if let Intensity::Closed { connections, .. } = plan.intensity {
        plan.threads = plan.threads.min(connections.max(1));
    }
    let point = Point { label: "in turns".into(), kind: TrialKind::Fixed, ..Point::default() };
    let loads = [Load { host: side.target_setup.host(), addr: side.target_setup.addr.clone(), plan }];
    let trial = side.lab.conduct(&side.target_setup.observation, &loads, &point)?;
    side.lab.keep(trial).map(|_| ())
}

/// Searches for both capacities, a step of one and a step of the other. Both are held against one objective: where none is named,
/// that which the first server's unloaded response time makes.
fn capacities(
    sides: &mut [Live<'_>; 2],
    turns: &mut InOrder,
    search_s: f64,
    watch: &dyn Watch,
) -> Result<(), LabError> {
    let began_s = sides.each_ref().map(|side| side.lab.elapsed_s());
    sides.iter_mut().zip(began_s).for_each(|(side, at)| side.began_s = at);
    let finder = |side: &Live<'_>| Finder::new(side, Budget::new(search_s), side.target_setup.first_s);
    let mut finders = sides.each_ref().map(finder);
    let (mut goes_on, mut one_objective) = ([true; 2], false);
    while goes_on.contains(&true) && !watch.stop() {
        turns.pair(|at| {
            // Who has swept waits for the other: both sweeps make the objective.
            let waits = !finders[at].sweeps() && finders[1 - at].sweeps() && goes_on[1 - at];
            if !goes_on[at] || waits {
                return Ok(());
            }
            let before_s = sides[at].lab.elapsed_s();
            goes_on[at] = finders[at].step(&mut sides[at])?;
            sides[1 - at].began_s += sides[at].lab.elapsed_s() - before_s;
            Ok(())
        })?;
        if !one_objective && finders.iter().all(|finder| !finder.sweeps()) {
            one_objective = true;
            let objective = judge::limits(&sides[0].lab.run).objective();
            for side in sides.iter_mut() {
                side.lab.run.plan.objective = objective.clone();
            }
        }
    }
    Ok(())
}
