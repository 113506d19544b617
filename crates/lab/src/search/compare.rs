//! Comparison of two servers in turns: short windows of the same load, then one capacity search each, step by step.
//! The order is random and balanced, so that changes of the machine affect both alike.

use std::time::Instant;

use run::{Intensity, Plan, Run, TrialKind, WindowOrder};

use crate::search::live_target::LiveTarget;
use crate::search::step::is_alive;
use crate::search::{Budget, Finder};
use crate::trial::turn_order::TurnOrder;
use crate::{Lab, LabError, Nobody, Point, TargetSetup, Watch};

/// Length of one window, shortest and with enough budget; its longest warm-up; and its total overhead including the
/// warm-up, seconds.
const MIN_WINDOW_S: f64 = 0.2;
const PREFERRED_WINDOW_S: f64 = 0.6;
const MAX_WARM_UP_S: f64 = 0.3;
const WINDOW_OVERHEAD_S: f64 = 0.4;
/// Response times that a window should contain while the budget allows it.
const RESPONSES_PER_WINDOW: f64 = 20.0;
/// Minimum number of windows per server: with fewer than seven each, rank tests cannot distinguish seven figures
/// reliably.
const MIN_WINDOWS: u64 = 7;
/// Number of windows per server that the budget is planned for.
const PREFERRED_WINDOWS: f64 = 10.0;
/// Share of the budget for the capacities, and the shortest useful search, seconds.
const CAPACITY_SHARE: f64 = 0.4;
const MIN_SEARCH_S: f64 = 8.0;

/// Result of two servers that were loaded in turns.
pub struct InTurns {
    /// Run of each server; the windows are its trials.
    pub runs: [Run; 2],
    /// Order of the turns.
    pub turns: WindowOrder,
    /// Sentences about what weakens the comparison.
    pub notes: Vec<String>,
    /// True if the user ended the comparison.
    pub interrupted: bool,
}

/// Loads both plans' targets in turns within a budget of seconds. The order follows the first plan's seed.
pub fn in_turns(plans: [Plan; 2], budget_s: f64, watch: &dyn Watch) -> Result<InTurns, LabError> {
    let began = Instant::now();
    let seed = plans[0].load.seed;
    let [a, b] = plans;
    let (mut watch_a, mut watch_b) = (Nobody, Nobody);
    let mut sides = [prepare(a, &mut watch_a)?, prepare(b, &mut watch_b)?];
    let mut turns = RecordedOrder { order: TurnOrder::new(seed), turns: WindowOrder { seed, new_first: Vec::new() } };
    let search_s = Some(CAPACITY_SHARE * budget_s / 2.0).filter(|s| *s >= MIN_SEARCH_S);
    let until_s = budget_s - 2.0 * search_s.unwrap_or(0.0);
    let notes = windows(&mut sides, &mut turns, Deadline { began, until_s }, watch)?;
    if let Some(search_s) = search_s.filter(|_| !watch.stop() && !died(&mut sides)) {
        capacities(&mut sides, &mut turns, search_s, watch)?;
    }
    let [a, b] = sides;
    let runs =
        [a.lab.finish()?, b.lab.finish()?].map(|run| Run { interrupted: run.interrupted || watch.stop(), ..run });
    Ok(InTurns { runs, turns: turns.turns, notes, interrupted: watch.stop() })
}

/// Start of the windows, and their end in seconds after it.
#[derive(Clone, Copy)]
struct Deadline {
    began: Instant,
    until_s: f64,
}

impl Deadline {
    fn elapsed_s(self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }
}

/// Conducts pairs of windows while there is time for another one. Returns notes about them.
fn windows(
    sides: &mut [LiveTarget<'_>; 2],
    turns: &mut RecordedOrder,
    time: Deadline,
    watch: &dyn Watch,
) -> Result<Vec<String>, LabError> {
    // Time spent on preparing both sides is gone.
    let room_s = time.until_s - time.elapsed_s();
    let seed = turns.turns.seed;
    let (mut pair, mut last_s, mut window_s) = (0, 0.0, length_s(room_s, 0.0));
    // The first pair is measured in any case: without it there is no answer at all.
    while !watch.stop() && (pair == 0 || time.elapsed_s() + last_s < time.until_s) {
        let at = time.elapsed_s();
        // Both sides of a pair get the same arrivals and think times; every pair gets different ones.
        turns.pair(|side| window(&mut sides[side], window_s, seed.wrapping_add(pair)))?;
        (pair, last_s) = (pair + 1, time.elapsed_s() - at);
        if died(sides) {
            // Windows of a server that died are not too few: there are no others.
            return Ok(Vec::new());
        }
        window_s = length_s(room_s, response_s(sides));
    }
    Ok(notes_on_windows(pair, window_s, response_s(sides), watch.stop()))
}

/// Returns true if a server died, which ended its run.
fn died(sides: &mut [LiveTarget<'_>; 2]) -> bool {
    sides.iter_mut().any(|side| side.lab.stopped())
}

/// Returns the length of a window: enough for both servers' response times, as long as the minimum number of pairs
/// still fits.
fn length_s(room_s: f64, response_s: f64) -> f64 {
    let fitting = |pairs: f64| room_s / (2.0 * pairs) - WINDOW_OVERHEAD_S;
    let base_s = fitting(PREFERRED_WINDOWS).clamp(MIN_WINDOW_S, PREFERRED_WINDOW_S);
    (RESPONSES_PER_WINDOW * response_s).min(fitting(MIN_WINDOWS as f64)).max(base_s)
}

/// Returns the mean response time of the slower server in its last window, seconds; the whole window if it answered
/// nothing.
fn response_s(sides: &[LiveTarget<'_>; 2]) -> f64 {
    let last_response = |side: &LiveTarget<'_>| {
        let last = side.lab.run.trials.last();
        let answered = |t: &run::Trial| t.measured.tally.completed > 0;
        last.map_or(0.0, |t| if answered(t) { t.latency_us.mean / 1e6 } else { t.measured.length_s })
    };
    let [a, b] = sides.each_ref().map(last_response);
    let longer = a.max(b);
    if longer.is_finite() { longer } else { 0.0 }
}

/// Returns notes on what the number and length of the windows leave open.
fn notes_on_windows(pairs: u64, window_s: f64, response_s: f64, stopped: bool) -> Vec<String> {
    let why = if stopped { "it was ended early" } else { "the budget ended" };
    let few = (pairs < MIN_WINDOWS).then(|| {
        let plural = if pairs == 1 { "" } else { "s" };
        format!("{why} after {pairs} pair{plural} of windows, and fewer than {MIN_WINDOWS} seldom tell anything apart: give more --budget")
    });
    let short = (response_s > 0.0 && window_s < 0.99 * RESPONSES_PER_WINDOW * response_s).then(|| {
        let held = window_s / response_s;
        format!(
            "windows of {window_s:.1} s hold {held:.0} response times of {response_s:.2} s each: what was under way at their ends weighs \
             much; give more --budget"
        )
    });
    few.into_iter().chain(short).collect()
}

/// Pairs of turns with a record of their order.
struct RecordedOrder {
    order: TurnOrder,
    turns: WindowOrder,
}

impl RecordedOrder {
    fn pair(&mut self, mut turn: impl FnMut(usize) -> Result<(), LabError>) -> Result<(), LabError> {
        let [first, second] = self.order.pair();
        self.turns.new_first.push(first == 1);
        turn(first)?;
        turn(second)
    }
}

fn prepare(plan: Plan, watch: &mut Nobody) -> Result<LiveTarget<'_>, LabError> {
    let mut lab = Lab::begin(plan, None, watch)?;
    let target_setup = TargetSetup::prepare(&mut lab)?;
    Ok(LiveTarget { lab, target_setup, began_s: 0.0, proof_s: 0.0, no_proof: None })
}

fn window(side: &mut LiveTarget<'_>, window_s: f64, seed: u64) -> Result<(), LabError> {
    let mut plan = side.target_setup.load.clone();
    (plan.duration_s, plan.warmup_s, plan.seed) = (window_s, MAX_WARM_UP_S, seed);
    if let Intensity::Closed { connections, .. } = plan.intensity {
        plan.threads = plan.threads.min(connections.max(1));
    }
    let point = Point { label: "in turns".into(), kind: TrialKind::Fixed, ..Point::default() };
    let loads = side.target_setup.single_load(plan);
    let trial = side.lab.conduct(&side.target_setup.observation, &loads, &point)?;
    let is_silent = trial.measured.tally.completed == 0;
    side.lab.keep(trial)?;
    if is_silent && !side.lab.stopped() {
        is_alive(side)?;
    }
    Ok(())
}

/// Searches for both capacities, one step of each in turns, against one objective. If none is set, the first server's
/// unloaded response time defines it.
fn capacities(
    sides: &mut [LiveTarget<'_>; 2],
    turns: &mut RecordedOrder,
    search_s: f64,
    watch: &dyn Watch,
) -> Result<(), LabError> {
    let began_s = sides.each_ref().map(|side| side.lab.elapsed_s());
    sides.iter_mut().zip(began_s).for_each(|(side, at)| side.began_s = at);
    let finder = |side: &LiveTarget<'_>| Finder::new(side, Budget::new(search_s), side.target_setup.first_s);
    let mut finders = sides.each_ref().map(finder);
    let (mut goes_on, mut one_objective) = ([true; 2], false);
    while goes_on.contains(&true) && !watch.stop() {
        turns.pair(|at| {
            // A finished sweep waits for the other one: both define the objective.
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
        assert!((length_s(60.0, 0.001) - PREFERRED_WINDOW_S).abs() < 1e-9, "of a quick server as ever");
        assert!((length_s(60.0, 0.1) - 2.0).abs() < 1e-9, "{}", length_s(60.0, 0.1));
        // At most what leaves room for seven pairs, and at least the minimum.
        let longest = length_s(60.0, 5.0);
        assert!((14.0 * (longest + WINDOW_OVERHEAD_S) - 60.0).abs() < 1e-6, "{longest}");
        assert!((length_s(1.0, 5.0) - MIN_WINDOW_S).abs() < 1e-9);
    }

    #[test]
    fn what_a_budget_leaves_open_is_told() {
        assert_eq!(notes_on_windows(12, 0.6, 0.001, false), Vec::<String>::new());
        let few = notes_on_windows(3, 0.6, 0.001, false);
        assert!(few.len() == 1 && few[0].contains("the budget ended after 3 pairs"), "{few:?}");
        assert!(notes_on_windows(3, 0.6, 0.001, true)[0].contains("ended early"));
        let short = notes_on_windows(7, 2.0, 1.0, false);
        assert!(short.len() == 1 && short[0].contains("hold 2 response times"), "{short:?}");
    }
}
