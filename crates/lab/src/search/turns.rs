//! Comparison of two servers that are loaded in turns. Short windows of one load alternate, and the steps of both
//! capacity searches run between them.
//!
//! The order of each pair is random and balanced, so that changes of the machine affect both servers alike. The windows
//! are spread over the time of the searches, so that their scatter shows how the machine affects a search.

use run::{Intensity, Trial, TrialKind, WindowOrder};

use super::step::is_alive;
use super::{Budget, Conductor, Finder};
use crate::trial::turn_order::TurnOrder;
use crate::{LabError, Point};

/// Length of one window, shortest and with enough budget; its longest warm-up; and its total overhead including the
/// warm-up, seconds.
const MIN_WINDOW_S: f64 = 0.2;
const PREFERRED_WINDOW_S: f64 = 0.6;
const MAX_WARM_UP_S: f64 = 0.3;
const WINDOW_OVERHEAD_S: f64 = 0.4;
/// Length of a window in response times, if the budget allows it.
const RESPONSES_PER_WINDOW: f64 = 20.0;
/// Minimum number of windows per server: with fewer than seven each, rank tests cannot distinguish seven figures
/// reliably.
const MIN_WINDOWS: u64 = 7;
/// Number of windows per server that the budget is planned for.
const PREFERRED_WINDOWS: f64 = 10.0;
/// Share of the budget for the capacities, and the shortest useful search, seconds.
const CAPACITY_SHARE: f64 = 0.4;
const MIN_SEARCH_S: f64 = 8.0;
/// Share of the windows that run before the first step of a search. They show the response time.
const FIRST_SHARE: f64 = 0.25;

/// Order of the turns, and sentences about what weakens the comparison.
pub struct TurnsTaken {
    /// Order of the windows.
    pub order: WindowOrder,
    /// Sentences about what weakens the comparison.
    pub notes: Vec<String>,
}

/// Loads two servers in turns within a budget of seconds, until `stop` returns true. The test request of each server
/// took `first_s` seconds.
pub fn take_turns(
    mut sides: [&mut dyn Conductor; 2],
    first_s: [f64; 2],
    budget_s: f64,
    stop: &dyn Fn() -> bool,
) -> Result<TurnsTaken, LabError> {
    let seed = sides[0].load().seed;
    let search_s = Some(CAPACITY_SHARE * budget_s / 2.0).filter(|s| *s >= MIN_SEARCH_S);
    // The time spent on preparing both sides counts against the budget.
    let gone_s = sides.iter().map(|side| side.elapsed_s()).fold(0.0, f64::max);
    for side in &mut sides {
        side.leave_out(side.elapsed_s());
    }
    let searches = search_s.map(|search_s| Searches::new(&sides, first_s, search_s));
    let windows_s = budget_s - 2.0 * search_s.unwrap_or(0.0) - gone_s;
    let mut turns = Turns {
        sides,
        windows: Windows { order: RecordedOrder::new(seed), pairs: 0, used_s: 0.0, last_s: 0.0, room_s: windows_s },
        searches,
        room_s: budget_s - gone_s,
    };
    while !stop() && !turns.died() && turns.next()? {}
    Ok(turns.end(stop()))
}

/// Both sides and the remaining work.
struct Turns<'c> {
    sides: [&'c mut dyn Conductor; 2],
    windows: Windows,
    searches: Option<Searches>,
    /// Time for everything, seconds.
    room_s: f64,
}

/// Windows of the requested load: their order, number and time.
struct Windows {
    order: RecordedOrder,
    pairs: u64,
    /// Time that all pairs took, time of the last pair, and time budgeted for pairs, seconds.
    used_s: f64,
    last_s: f64,
    room_s: f64,
}

/// One capacity search for each side, against one objective. If none is set, the first server's unloaded response time
/// defines it.
struct Searches {
    finders: [Finder; 2],
    goes_on: [bool; 2],
    one_objective: bool,
    order: TurnOrder,
    /// Time that all steps took, and the budget of both searches, seconds.
    used_s: f64,
    room_s: f64,
}

impl Turns<'_> {
    /// Conducts a pair of windows or of search steps. Returns false when nothing is left to do.
    fn next(&mut self) -> Result<bool, LabError> {
        let search_done = self.searches.as_ref().filter(|s| s.goes_on()).map(|s| (s.used_s / s.room_s).min(1.0));
        let until_s = match search_done {
            Some(done) => self.windows.room_s * (FIRST_SHARE + (1.0 - FIRST_SHARE) * done),
            None => self.room_s - self.searches.as_ref().map_or(0.0, |searches| searches.used_s),
        };
        // The first pair is always measured, since there is no result without it.
        if self.windows.pairs == 0 || self.windows.used_s + self.windows.last_s < until_s {
            return self.windows().map(|()| true);
        }
        if search_done.is_some() {
            self.searches()?;
        }
        Ok(search_done.is_some())
    }

    /// Returns true if a server died, which ended its run.
    fn died(&mut self) -> bool {
        self.sides.iter_mut().any(|side| side.stopped())
    }

    /// Conducts a pair of windows.
    fn windows(&mut self) -> Result<(), LabError> {
        let length_s = length_s(self.windows.room_s, response_s(&self.sides));
        // Both sides of a pair get the same arrivals and think times; every pair gets different ones.
        let seed = self.windows.order.turns.seed.wrapping_add(self.windows.pairs);
        self.windows.last_s = 0.0;
        for at in self.windows.order.pair() {
            let took_s = turn(&mut self.sides, at, |side| window(side, length_s, seed))?;
            // No window counts against a search.
            self.sides[at].leave_out(took_s);
            self.windows.last_s += took_s;
        }
        self.windows.used_s += self.windows.last_s;
        self.windows.pairs += 1;
        Ok(())
    }

    /// Conducts a step of each search.
    fn searches(&mut self) -> Result<(), LabError> {
        let Some(searches) = &mut self.searches else { return Ok(()) };
        for at in searches.order.pair() {
            if searches.waits(at) {
                continue;
            }
            searches.used_s += turn(&mut self.sides, at, |side| {
                searches.goes_on[at] = searches.finders[at].step(side)?;
                Ok(())
            })?;
        }
        if !searches.one_objective && searches.finders.iter().all(|finder| !finder.sweeps()) {
            searches.one_objective = true;
            let objective = judge::limits(self.sides[0].run()).objective();
            self.sides.iter_mut().for_each(|side| side.set_objective(objective.clone()));
        }
        Ok(())
    }

    fn end(mut self, stopped: bool) -> TurnsTaken {
        // After a server died, the number of windows is no reason for a note.
        let died = !stopped && self.died();
        let length_s = length_s(self.windows.room_s, response_s(&self.sides));
        let notes = notes_on_windows(self.windows.pairs, length_s, response_s(&self.sides), stopped);
        TurnsTaken { order: self.windows.order.turns, notes: if died { Vec::new() } else { notes } }
    }
}

impl Searches {
    fn new(sides: &[&mut dyn Conductor; 2], first_s: [f64; 2], search_s: f64) -> Self {
        let finder = |at: usize| Finder::new(&*sides[at], Budget::new(search_s), first_s[at]);
        Self {
            finders: [finder(0), finder(1)],
            goes_on: [true; 2],
            one_objective: false,
            order: TurnOrder::new(sides[0].load().seed),
            used_s: 0.0,
            room_s: 2.0 * search_s,
        }
    }

    fn goes_on(&self) -> bool {
        self.goes_on.contains(&true)
    }

    /// Returns true if a side must wait. A finished sweep waits for the other side's sweep, since both define the
    /// objective.
    fn waits(&self, at: usize) -> bool {
        let other = 1 - at;
        !self.goes_on[at] || (!self.finders[at].sweeps() && self.finders[other].sweeps() && self.goes_on[other])
    }
}

/// Lets one side act while the other one waits. Returns the seconds that this took.
fn turn(
    sides: &mut [&mut dyn Conductor; 2],
    at: usize,
    act: impl FnOnce(&mut dyn Conductor) -> Result<(), LabError>,
) -> Result<f64, LabError> {
    let before_s = sides[at].elapsed_s();
    act(&mut *sides[at])?;
    let took_s = sides[at].elapsed_s() - before_s;
    sides[1 - at].wait(took_s);
    Ok(took_s)
}

fn window(side: &mut dyn Conductor, window_s: f64, seed: u64) -> Result<(), LabError> {
    let mut plan = side.load().clone();
    (plan.duration_s, plan.warmup_s, plan.seed) = (window_s, MAX_WARM_UP_S, seed);
    if let Intensity::Closed { connections, .. } = plan.intensity {
        plan.threads = plan.threads.min(connections.max(1));
    }
    let point = Point { label: "in turns".into(), kind: TrialKind::Fixed, ..Point::default() };
    let trial = side.trial(plan, &point)?;
    if trial.measured.tally.completed == 0 && !side.stopped() {
        is_alive(side)?;
    }
    Ok(())
}

/// Returns the length of a window: enough for both servers' response times, as long as the minimum number of pairs
/// still fits.
fn length_s(room_s: f64, response_s: f64) -> f64 {
    let fitting = |pairs: f64| room_s / (2.0 * pairs) - WINDOW_OVERHEAD_S;
    let base_s = fitting(PREFERRED_WINDOWS).clamp(MIN_WINDOW_S, PREFERRED_WINDOW_S);
    (RESPONSES_PER_WINDOW * response_s).min(fitting(MIN_WINDOWS as f64)).max(base_s)
}

/// Returns the mean response time of the slower server in its last window, seconds. Returns the window's length if
/// nothing was answered, and 0 before the first window.
fn response_s(sides: &[&mut dyn Conductor; 2]) -> f64 {
    let answered = |t: &Trial| t.measured.tally.completed > 0;
    let last_response = |side: &&mut dyn Conductor| {
        let last = side.run().trials.iter().rfind(|t| t.kind == TrialKind::Fixed);
        last.map_or(0.0, |t| if answered(t) { t.latency_us.mean / 1e6 } else { t.measured.length_s })
    };
    let [a, b] = sides.each_ref().map(last_response);
    let longer = a.max(b);
    if longer.is_finite() { longer } else { 0.0 }
}

/// Returns notes on conclusions that the number and length of the windows do not allow.
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
    fn new(seed: u64) -> Self {
        Self { order: TurnOrder::new(seed), turns: WindowOrder { seed, new_first: Vec::new() } }
    }

    fn pair(&mut self) -> [usize; 2] {
        let pair = self.order.pair();
        self.turns.new_first.push(pair[0] == 1);
        pair
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_hold_twenty_response_times_where_seven_pairs_have_room() {
        assert!((length_s(60.0, 0.001) - PREFERRED_WINDOW_S).abs() < 1e-9, "of a quick server as ever");
        assert!((length_s(60.0, 0.1) - 2.0).abs() < 1e-9, "{}", length_s(60.0, 0.1));
        // Windows are short enough for seven pairs, and not shorter than the minimum.
        let longest = length_s(60.0, 5.0);
        assert!((14.0 * (longest + WINDOW_OVERHEAD_S) - 60.0).abs() < 1e-6, "{longest}");
        assert!((length_s(1.0, 5.0) - MIN_WINDOW_S).abs() < 1e-9);
    }

    #[test]
    fn notes_say_what_a_short_budget_left_open() {
        assert_eq!(notes_on_windows(12, 0.6, 0.001, false), Vec::<String>::new());
        let few = notes_on_windows(3, 0.6, 0.001, false);
        assert!(few.len() == 1 && few[0].contains("the budget ended after 3 pairs"), "{few:?}");
        assert!(notes_on_windows(3, 0.6, 0.001, true)[0].contains("ended early"));
        let short = notes_on_windows(7, 2.0, 1.0, false);
        assert!(short.len() == 1 && short[0].contains("hold 2 response times"), "{short:?}");
    }
}
