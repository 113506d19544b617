//! Two servers in turns: short windows of the same load, then a search for the capacity of each, step by step, in a random order
//! that is balanced, so that what the machine does meanwhile is done to both alike.

use std::time::Instant;

use run::{Intensity, Plan, Run, TrialKind, Turns};

use crate::search::live::Live;
use crate::search::{Budget, Finder};
use crate::trial::order::Order;
use crate::{Lab, LabError, Load, Nobody, Point, TargetSetup, Watch};

/// Measured time of one window: the shortest, and what a budget with room has; its warm-up at most, and with that what else a window
/// takes, seconds.
const SHORTEST_S: f64 = 0.2;
const WINDOW_S: f64 = 0.6;
const WARM_UP_S: f64 = 0.3;
const AROUND_S: f64 = 0.4;
/// A window holds at least so many of the response times last seen, as a step of a search does, while the budget has room.
const RESPONSES: f64 = 20.0;
/// Windows of each server that tell something: by ranks alone, fewer than seven against seven tell none of seven figures apart surely.
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
    /// What weakens the comparison, in sentences.
    pub notes: Vec<String>,
    /// The user ended it.
    pub interrupted: bool,
}

/// Loads both plans' targets in turns within a budget of seconds, in the order of the first plan's seed. `watch` says when to stop.
pub fn in_turns(plans: [Plan; 2], budget_s: f64, watch: &dyn Watch) -> Result<InTurns, LabError> {
    let began = Instant::now();
    let seed = plans[0].load.seed;
    let [a, b] = plans;
    let (mut of_a, mut of_b) = (Nobody, Nobody);
    let mut sides = [prepare(a, &mut of_a)?, prepare(b, &mut of_b)?];
    let mut turns = InOrder { order: Order::of(seed), turns: Turns { seed, new_first: Vec::new() } };
    let search_s = Some(FOR_CAPACITY * budget_s / 2.0).filter(|s| *s >= SHORTEST_SEARCH_S);
    let until_s = budget_s - 2.0 * search_s.unwrap_or(0.0);
    let notes = windows(&mut sides, &mut turns, Time { began, until_s }, watch)?;
    if let Some(search_s) = search_s.filter(|_| !watch.stop()) {
        capacities(&mut sides, &mut turns, search_s, watch)?;
    }
    let [a, b] = sides;
    let runs =
        [a.lab.finish()?, b.lab.finish()?].map(|run| Run { interrupted: run.interrupted || watch.stop(), ..run });
    Ok(InTurns { runs, turns: turns.turns, notes, interrupted: watch.stop() })
}

/// When windows began, and until when they may go on, seconds later.
#[derive(Clone, Copy)]
struct Time {
    began: Instant,
    until_s: f64,
}

impl Time {
    fn at_s(self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }
}

/// Pairs of windows as long as there is time for another one, and what is to be told of them.
fn windows(
    sides: &mut [Live<'_>; 2],
    turns: &mut InOrder,
    time: Time,
    watch: &dyn Watch,
) -> Result<Vec<String>, LabError> {
    // What preparing both took is no more there to be measured in.
    let room_s = time.until_s - time.at_s();
    let seed = turns.turns.seed;
    let (mut pair, mut last_s, mut window_s) = (0, 0.0, length_s(room_s, 0.0));
    // The first pair is measured whatever it takes: without one there is no answer at all.
    while !watch.stop() && (pair == 0 || time.at_s() + last_s < time.until_s) {
        let at = time.at_s();
        // Both have the same arrivals and think times, each pair its own.
        turns.pair(|side| window(&mut sides[side], window_s, seed.wrapping_add(pair)))?;
        if sides.iter_mut().any(|s| s.lab.stopped()) {
            break;
        }
        (pair, last_s) = (pair + 1, time.at_s() - at);
        window_s = length_s(room_s, response_s(sides));
    }
    Ok(told(pair, window_s, response_s(sides), watch.stop()))
}

/// Length of a window in so much time for all of them: enough for both servers' response times, as long as there is room for the
/// fewest pairs that tell something.
fn length_s(room_s: f64, response_s: f64) -> f64 {
    let of = |pairs: f64| room_s / (2.0 * pairs) - AROUND_S;
    let base_s = of(WANTED).clamp(SHORTEST_S, WINDOW_S);
    (RESPONSES * response_s).min(of(FEWEST as f64)).max(base_s)
}

/// Mean response time of the slower server in its last window, seconds; of one that answered nothing, the whole window.
fn response_s(sides: &[Live<'_>; 2]) -> f64 {
    let of = |side: &Live<'_>| {
        let last = side.lab.run.trials.last();
        let answered = |t: &run::Trial| t.measured.tally.completed > 0;
        last.map_or(0.0, |t| if answered(t) { t.latency_us.mean / 1e6 } else { t.measured.length_s })
    };
    let [a, b] = sides.each_ref().map(of);
    let longer = a.max(b);
    if longer.is_finite() { longer } else { 0.0 }
}

/// What the number and the length of the windows leave open.
fn told(pairs: u64, window_s: f64, response_s: f64, stopped: bool) -> Vec<String> {
    let why = if stopped { "it was ended early" } else { "the budget ended" };
    let few = (pairs < FEWEST).then(|| {
        format!("{why} after {pairs} pairs of windows, and fewer than {FEWEST} seldom tell anything apart: give more --budget")
    });
    let short = (response_s > 0.0 && window_s < 0.99 * RESPONSES * response_s).then(|| {
        let held = window_s / response_s;
        format!(
            "windows of {window_s:.1} s hold {held:.0} response times of {response_s:.2} s each: what was under way at their ends weighs \
             much; give more --budget"
        )
    });
    few.into_iter().chain(short).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_hold_twenty_response_times_where_seven_pairs_have_room() {
        assert!((length_s(60.0, 0.001) - WINDOW_S).abs() < 1e-9, "of a quick server as ever");
        assert!((length_s(60.0, 0.1) - 2.0).abs() < 1e-9, "{}", length_s(60.0, 0.1));
        // No more than leaves room for seven pairs, and no less than the shortest.
        let longest = length_s(60.0, 5.0);
        assert!((14.0 * (longest + AROUND_S) - 60.0).abs() < 1e-6, "{longest}");
        assert!((length_s(1.0, 5.0) - SHORTEST_S).abs() < 1e-9);
    }

    #[test]
    fn what_a_budget_leaves_open_is_told() {
        assert_eq!(told(12, 0.6, 0.001, false), Vec::<String>::new());
        let few = told(3, 0.6, 0.001, false);
        assert!(few.len() == 1 && few[0].contains("the budget ended after 3 pairs"), "{few:?}");
        assert!(told(3, 0.6, 0.001, true)[0].contains("ended early"));
        let short = told(7, 2.0, 1.0, false);
        assert!(short.len() == 1 && short[0].contains("hold 2 response times"), "{short:?}");
    }
}
