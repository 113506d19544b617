//! Capacity searches of two servers that take turns, with a common objective.

use super::side_turn::turn;
use crate::LabError;
use crate::search::{Budget, Conductor, Finder};
use crate::trial::turn_order::TurnOrder;

/// Minimum length of a search, seconds.
pub(super) const MIN_SEARCH_S: f64 = 8.0;

/// One capacity search for each server, with a common objective. If the user set no objective, it is derived from the
/// first server's response time without load.
pub(super) struct Searches {
    finders: [Finder; 2],
    goes_on: [bool; 2],
    one_objective: bool,
    order: TurnOrder,
    /// Time used by all steps, seconds.
    pub(super) used_s: f64,
    /// Budget of both searches together, seconds.
    pub(super) room_s: f64,
}

impl Searches {
    pub(super) fn new(sides: &[&mut dyn Conductor; 2], first_s: [f64; 2], search_s: f64) -> Self {
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

    pub(super) fn goes_on(&self) -> bool {
        self.goes_on.contains(&true)
    }

    /// Returns true if the search on one server must wait for the other search. A search whose sweep is finished waits
    /// for the other server's sweep, because the objective is set after both sweeps.
    fn waits(&self, at: usize) -> bool {
        let other = 1 - at;
        !self.goes_on[at] || (!self.finders[at].sweeps() && self.finders[other].sweeps() && self.goes_on[other])
    }

    /// Returns the used share of the searches' time, 0 to 1.
    pub(super) fn done(&self) -> f64 {
        (self.used_s / self.room_s).min(1.0)
    }

    /// Conducts one step of each search. Skips a search that must wait for the other search. The objective is set
    /// before each step, because the first step after a sweep already needs it.
    pub(super) fn step(&mut self, sides: &mut [&mut dyn Conductor; 2]) -> Result<(), LabError> {
        for at in self.order.pair() {
            self.set_objective(sides);
            if self.waits(at) {
                continue;
            }
            self.used_s += turn(sides, at, |side| {
                self.goes_on[at] = self.finders[at].step(side)?;
                Ok(())
            })?;
        }
        self.set_objective(sides);
        Ok(())
    }

    /// Sets the common objective as soon as both sweeps are finished.
    fn set_objective(&mut self, sides: &mut [&mut dyn Conductor; 2]) {
        if !self.one_objective && self.finders.iter().all(|finder| !finder.sweeps()) {
            self.one_objective = true;
            let objective = judge::limits(sides[0].run()).objective();
            sides.iter_mut().for_each(|side| side.set_objective(objective.clone()));
        }
    }
}
