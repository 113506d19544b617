//! Comparison of two live servers whose loads take turns. Short measurements (windows) of both servers alternate.
//!
//! Measurements come in pairs, one per server. The order within each pair is random and balanced, so that changes of
//! the machine affect both servers equally. The measurements are judged several times (`looks`). A regression ends the
//! comparison. If no figure became worse, the remaining time is used to search for the capacities of both servers.
//! Measurements between the search steps show how much the machine affects a search. If the comparison stays undecided,
//! the measurements use the whole budget.
//!
//! If both servers and both generators have separate CPUs, the measurements of a pair run at the same time (`duet`).

mod duet;
mod looks;
mod searches;
mod side_turn;
mod windows;

use judge::Pairing;
use run::{ComparisonOutcome, WindowOrder};

use crate::LabError;
use crate::search::Conductor;
pub(crate) use duet::LivePlacement;
pub use duet::{DuetCpus, Placement};
use looks::Looks;
use searches::{MIN_SEARCH_S, Searches};
use windows::Windows;

/// Share of the budget for the capacity searches. The larger share of the budget is for the pairs of measurements,
/// because they decide the comparison. With the default budget of 60 s, each search has 12 s. A search of 10 s or more
/// finds a confidence interval of the capacity even for a slow server.
const CAPACITY_SHARE: f64 = 0.4;
/// Share of the measurements that come before the first step of a search, if the whole budget is used. No search begins
/// before the first look (interim judgement).
const FIRST_SHARE: f64 = looks::SHARES[0];
/// Time of the measurements between search steps, as a share of the time of the searches. With the default budget,
/// three pairs of measurements run between search steps: the fewest from which their scatter can be estimated
/// (`judge`'s `FEWEST_WINDOWS`).
const BESIDE_SEARCH: f64 = 0.25;

/// Settings of a comparison whose loads take turns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TurnsPlan {
    /// Time that each server's test request took, seconds.
    pub first_s: [f64; 2],
    /// Time for the whole comparison, seconds.
    pub budget_s: f64,
    /// Smallest relative change that matters.
    pub threshold: f64,
    /// True to use the whole budget, even if the result is known earlier.
    pub whole_budget: bool,
}

/// Order of the turns, and data that is needed to judge their measurements.
#[derive(Debug)]
pub struct TurnsTaken {
    /// Order of the measurements.
    pub order: WindowOrder,
    /// Weaknesses of the comparison, in sentences.
    pub notes: Vec<String>,
    /// Order of the two measurements of a pair: one after the other, or at the same time.
    pub pairing: Pairing,
    /// Moments at which the result was judged, as shares of the planned number of measurements. If no earlier judgement
    /// ended the comparison, the last value is 1.
    pub looks: Vec<f64>,
    /// Time after which more measurements could not change the result, seconds. Without an earlier decision, the value
    /// is the time at which the comparison ended.
    pub ended_after_s: f64,
}

/// Loads two servers in turns, or at the same time with a `duet`, until the comparison is complete or `stop` returns
/// true.
pub fn take_turns(
    mut sides: [&mut dyn Conductor; 2],
    plan: &TurnsPlan,
    duet: Option<&mut dyn Placement>,
    stop: &dyn Fn() -> bool,
) -> Result<TurnsTaken, LabError> {
    // Time spent on preparing both servers is part of the budget.
    let gone_s = sides.iter().map(|side| side.elapsed_s()).fold(0.0, f64::max);
    for side in &mut sides {
        side.leave_out(side.elapsed_s());
    }
    let search_s = Some(CAPACITY_SHARE * plan.budget_s / 2.0).filter(|s| *s >= MIN_SEARCH_S);
    let room_s = plan.budget_s - gone_s;
    let windows_s = if plan.whole_budget { room_s - 2.0 * search_s.unwrap_or(0.0) } else { room_s };
    let mut turns = Turns {
        windows: Windows::new(sides[0].load().seed, windows_s, duet),
        sides,
        plan: *plan,
        looks: Looks::new(plan.threshold),
        decided: None,
        searches: None,
        room_s,
    };
    if let Some(search_s) = search_s.filter(|_| plan.whole_budget) {
        turns.begin_searches(FIRST_SHARE * windows_s, (1.0 - FIRST_SHARE) * windows_s, search_s);
    }
    while !stop() && !turns.died() && turns.next()? {}
    Ok(turns.end(gone_s, stop()))
}

/// Data of both servers, and the work that remains.
struct Turns<'c, 'd> {
    sides: [&'c mut dyn Conductor; 2],
    plan: TurnsPlan,
    windows: Windows<'d>,
    looks: Looks,
    /// Result of the comparison, and the time at which the result was known; `None` before.
    decided: Option<(ComparisonOutcome, f64)>,
    searches: Option<Beside>,
    /// Time for the whole comparison, seconds.
    room_s: f64,
}

/// Capacity searches, with measurements between their steps.
struct Beside {
    searches: Searches,
    /// Time for measurements before the first search step, seconds.
    before_s: f64,
    /// Time for all measurements between search steps, seconds.
    between_s: f64,
}

impl Turns<'_, '_> {
    /// Conducts the next pair of measurements or search steps. Returns false if nothing is left to do.
    fn next(&mut self) -> Result<bool, LabError> {
        let searching = self.searches.as_ref().is_some_and(|beside| beside.searches.goes_on());
        if self.windows.fit(self.until_s()) {
            self.windows.pair(&mut self.sides)?;
            self.look();
            return Ok(true);
        }
        if let Some(beside) = self.searches.as_mut().filter(|_| searching) {
            beside.searches.step(&mut self.sides)?;
        }
        Ok(searching)
    }

    /// Returns the total time that measurements may have used before the next search step, seconds.
    fn until_s(&self) -> f64 {
        match (&self.searches, self.decided) {
            (Some(beside), _) if beside.searches.goes_on() => {
                beside.between_s.mul_add(beside.searches.done(), beside.before_s)
            }
            (_, Some(_)) => 0.0,
            (Some(beside), None) => self.room_s - beside.searches.used_s,
            (None, None) => self.room_s,
        }
    }

    /// Judges the measurements so far, unless the whole budget is used. If no figure became worse and enough time is
    /// left, the searches begin.
    fn look(&mut self) {
        if self.plan.whole_budget || self.decided.is_some() {
            return;
        }
        let before_s = self.sides.each_ref().map(|side| side.elapsed_s());
        let runs = [self.sides[0].run(), self.sides[1].run()];
        let outcome = self.looks.look(runs, &self.windows);
        // The time that an interim judgement takes does not count as time of a search.
        for (side, before_s) in self.sides.iter_mut().zip(before_s) {
            side.leave_out(side.elapsed_s() - before_s);
        }
        let Some(outcome) = outcome.filter(|outcome| *outcome != ComparisonOutcome::Undecided) else { return };
        self.decided = Some((outcome, self.windows.used_s));
        let left_s = (self.room_s - self.windows.used_s) / (1.0 + BESIDE_SEARCH);
        let search_s = left_s.min(CAPACITY_SHARE * self.plan.budget_s) / 2.0;
        if outcome == ComparisonOutcome::Passed && search_s >= MIN_SEARCH_S {
            self.begin_searches(self.windows.used_s, BESIDE_SEARCH * 2.0 * search_s, search_s);
        }
    }

    fn begin_searches(&mut self, before_s: f64, between_s: f64, search_s: f64) {
        let searches = Searches::new(&self.sides, self.plan.first_s, search_s);
        self.searches = Some(Beside { searches, before_s, between_s });
    }

    /// Returns true if a server died. When a server dies, the load on this server ends, too.
    fn died(&mut self) -> bool {
        self.sides.iter_mut().any(|side| side.stopped())
    }

    fn end(mut self, gone_s: f64, stopped: bool) -> TurnsTaken {
        // If a server died, a note about the number of measurements is not needed.
        let died = !stopped && self.died();
        let used_s = self.windows.used_s + self.searches.as_ref().map_or(0.0, |beside| beside.searches.used_s);
        let ended_after_s = gone_s + self.decided.map_or(used_s, |(_, after_s)| after_s);
        let looks = self.looks.all(self.decided.is_some() && self.searches.is_none());
        let pairing = self.windows.pairing();
        let (order, notes) = self.windows.end(&self.sides, stopped);
        TurnsTaken { order, notes: if died { Vec::new() } else { notes }, pairing, looks, ended_after_s }
    }
}
