//! Capacity as a number of users with think times. Finds the largest number of users with which the objective was met,
//! and the smallest larger number with which it was missed. If a number of users was tried in several windows (measured
//! periods), the majority of its windows decides.

use std::collections::BTreeMap;

use run::{Capacity, Estimate, Intensity, Limits, ThinkTime, Trial, TrialKind, UsersFinding};

use crate::Facts;
use crate::capacity::pooled_users;
use crate::context::single::good;
use crate::estimate::objective::{breach, words};
use crate::number::positive;
use stats::average;

/// Results with one number of users: counts of the windows that met the objective and of the windows that missed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Windows {
    held: usize,
    broke: usize,
}

impl Windows {
    fn holds(self) -> bool {
        self.held > self.broke
    }

    fn lead(self) -> usize {
        self.held.abs_diff(self.broke)
    }

    fn all(self) -> usize {
        self.held + self.broke
    }
}

/// All numbers of users that were tried, each with the results of its windows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bracket {
    tried: BTreeMap<u32, Windows>,
}

/// Collects the results of all trials with users.
pub fn bracket(trials: &[Trial], limits: &Limits) -> Bracket {
    let mut bracket = Bracket::default();
    for trial in trials.iter().filter(|t| t.broken().is_none()) {
        let Some((users, _)) = users_of(trial) else { continue };
        bracket.saw(users, breach(trial, limits).is_none());
    }
    bracket
}

impl Bracket {
    /// Adds the result of one window with `users` users.
    pub fn saw(&mut self, users: u32, held: bool) {
        let windows = self.tried.entry(users).or_default();
        *(if held { &mut windows.held } else { &mut windows.broke }) += 1;
    }

    /// Returns the largest tried number of users with which most windows met the objective.
    pub fn held(&self) -> Option<u32> {
        self.tried.iter().rev().find(|(_, windows)| windows.holds()).map(|(users, _)| *users)
    }

    /// Returns the smallest tried number of users above the largest number that met the objective ([`Self::held`]).
    pub fn failed(&self) -> Option<u32> {
        let held = self.held().unwrap_or(0);
        self.tried.range(held.saturating_add(1)..).next().map(|(users, _)| *users)
    }

    /// Returns the smallest number of users that was tried.
    pub fn fewest(&self) -> Option<u32> {
        self.tried.keys().next().copied()
    }

    /// Returns two numbers for the windows with `users` users: by how many windows the majority leads, and how many
    /// windows there are.
    pub fn lead(&self, users: u32) -> (usize, usize) {
        self.tried.get(&users).map_or((0, 0), |windows| (windows.lead(), windows.all()))
    }
}

/// Returns the number of users of a trial, and the users' think time. Returns `None` for a trial that is no step of a
/// search for users.
fn users_of(trial: &Trial) -> Option<(u32, &ThinkTime)> {
    match &trial.intensity {
        Intensity::Closed { connections, think, .. } if trial.kind == TrialKind::Sweep => Some((*connections, think)),
        _ => None,
    }
}

/// Returns the capacity as a number of users, if the run searched for a number of users.
pub(crate) fn users(facts: &Facts<'_>) -> Option<UsersFinding> {
    let asked = facts.run.plan.search.users;
    let trials = &facts.run.trials;
    let bracket = bracket(trials, &facts.limits);
    bracket.fewest().filter(|_| asked)?;
    let (held, failed) = (bracket.held(), bracket.failed());
    let with = |users: Option<u32>| trials.iter().filter(move |t| users_of(t).is_some_and(|(n, _)| Some(n) == users));
    let rates: Vec<f64> = with(held).map(good).collect();
    let windows: Vec<(u32, &Trial)> =
        trials.iter().filter(|t| t.broken().is_none()).filter_map(|t| Some((users_of(t)?.0, t))).collect();
    let why = with(failed).find_map(|t| breach(t, &facts.limits));
    Some(UsersFinding {
        held,
        failed,
        capacity: capacity(&windows, &facts.limits),
        failed_why: why.map(|why| words(&why)),
        rate: average(&rates),
        think: trials.iter().find_map(users_of).map(|(_, think)| think.clone()).unwrap_or_default(),
        windows: [held, failed].into_iter().flatten().map(|users| bracket.lead(users).1).sum(),
    })
}

/// Marks the rate of a search for users as a lower bound, if no number of users that was tried missed the objective.
pub(crate) fn mark_lower_bound(facts: &Facts<'_>, capacity: &mut Capacity) {
    let bracket = bracket(&facts.run.trials, &facts.limits);
    let held_all = bracket.held().is_some() && bracket.failed().is_none();
    capacity.at_least |= facts.run.plan.search.users && held_all;
}

/// Estimates the largest number of users that meets the objective, from all windows, with an interval.
fn capacity(windows: &[(u32, &Trial)], limits: &Limits) -> Option<Estimate> {
    let (_, lightest) = windows.iter().min_by_key(|(users, _)| *users)?;
    let (_, think) = users_of(lightest)?;
    let cycle_s = think.mean_ms / 1e3 + positive(lightest.latency_us.mean)? / 1e6;
    let found = pooled_users(windows, limits, cycle_s)?.estimate;
    let users = |rate: f64| rate * cycle_s;
    Some(Estimate { value: users(found.rate), low: users(found.low), high: users(found.high) })
}

#[cfg(test)]
mod tests {
    use run::{Rates, Run, Summary, Tally};

    use super::*;

    fn window(connections: u32, p99_us: f64) -> Trial {
        let think = ThinkTime { mean_ms: 1000.0, exponential: true };
        let mut trial = Trial {
            kind: TrialKind::Sweep,
            intensity: Intensity::Closed { connections, pipeline: 1, think },
            rates: Rates { completed_rate: f64::from(connections), ..Rates::default() },
            latency_us: Summary { count: 100, p50: p99_us / 3.0, p99: p99_us, ..Summary::default() },
            ..Trial::default()
        };
        trial.measured.tally = Tally { sent: 100, completed: 100, ..Tally::default() };
        trial
    }

    fn found(windows: &[(u32, f64)]) -> UsersFinding {
        let mut run = Run::default();
        run.plan.objective.p99_us = Some(10_000.0);
        run.plan.search.users = true;
        run.trials = windows.iter().map(|(users, p99_us)| window(*users, *p99_us)).collect();
        crate::judge(&mut run);
        run.findings.users.expect("users were tried")
    }

    #[test]
    fn the_majority_of_windows_decides_and_the_bracket_encloses_the_limit() {
        let found =
            found(&[(10, 2e3), (40, 3e3), (40, 30e3), (40, 4e3), (60, 20e3), (60, 9e3), (60, 21e3), (160, 1e6)]);
        assert_eq!((found.held, found.failed, found.windows), (Some(40), Some(60), 6));
        assert!(found.failed_why.as_deref().is_some_and(|why| why.contains("p99 was 20 ms")), "{found:?}");
        assert!((found.rate - 40.0).abs() < 1e-9 && found.think.exponential, "{found:?}");
    }

    #[test]
    fn a_disturbance_far_below_does_not_hide_what_held_above() {
        let found = found(&[(10, 50e3), (40, 3e3), (160, 1e6)]);
        assert_eq!((found.held, found.failed), (Some(40), Some(160)));
    }

    #[test]
    fn if_no_number_of_users_held_the_finding_says_so() {
        let found = found(&[(10, 50e3), (2, 50e3), (1, 50e3)]);
        assert_eq!((found.held, found.failed), (None, Some(1)));
    }

    #[test]
    fn a_run_that_did_not_search_for_users_has_none() {
        let mut run = Run { trials: vec![window(3, 1.0)], ..Run::default() };
        crate::judge(&mut run);
        assert_eq!(run.findings.users, None);
    }
}
