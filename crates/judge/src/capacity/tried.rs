//! Trials of a run that may show the capacity, and the best of them for each kind of load. The decisive trial of a run
//! is the load that represents the run.

use run::{BreachKind, ClosedLoopSource, Trial};
use stats::NORMAL_95;
use stats::shares::chance_above_half;

use super::early_end;
use super::held_twice::held_twice;
use super::pooled::Pooled;
use super::votes::Votes;
use super::windows::{pooled_few, pooled_search};
use crate::Facts;
use crate::context::single::{clients, closed, good, good_bytes, several_sizes};
use crate::estimate::cost_drift::{CostDrift, Slower};
use crate::estimate::objective::{breach, holds};
use crate::number::{counted, figure, positive, rate};
use crate::thresholds::{FAILURES_BELOW, FEWEST_WINDOWS, PLATEAU_KEPT};

/// Trials of a run, and for each kind of load, the best trial that met the objective.
pub(super) struct Tried<'f, 'a> {
    facts: &'f Facts<'a>,
    /// Best trial of the open-loop search.
    open: Option<&'a Trial>,
    /// Best trial of the closed-loop sweep.
    closed: Option<&'a Trial>,
    /// Best trial of a run without search and sweep.
    alone: Option<&'a Trial>,
    /// Best search or sweep step that other programs disturbed. Without the other programs, the server would have
    /// completed at least as many requests in this step.
    disturbed: Option<&'a Trial>,
    /// Trials of the search, of the sweep and of other loads, including trials that missed the objective.
    all: Vec<&'a Trial>,
    /// Function that returns the rate that a trial shows: [`carried`] or [`surely_carried`].
    pub(super) rate_of: fn(&Trial) -> f64,
    /// Capacity estimated from all windows. `None` if there are too few windows, or if all windows or no window met the
    /// objective.
    pub(super) estimated: Option<Pooled>,
    /// True if the loads show only a lower bound of the capacity.
    pub(super) at_least: bool,
}

impl<'f, 'a> Tried<'f, 'a> {
    /// Returns the best trials of a run. In a search, the rates of a lower bound come from [`surely_carried`]. The
    /// highest of several rates is partly high by chance, which only an estimate from all windows corrects. If the user
    /// chose the loads, the returned rates are the measured rates.
    pub(super) fn of(facts: &'f Facts<'a>) -> Self {
        let mut tried = Self::by(facts, carried);
        tried.estimated = tried.estimate();
        let at_least = tried.found().is_some() && tried.estimated.is_none() && tried.ended_early();
        match at_least && tried.alone.is_none() {
            true => Self { at_least, ..Self::by(facts, surely_carried) },
            false => Self { at_least, ..tried },
        }
    }

    fn by(facts: &'f Facts<'a>, rate_of: fn(&Trial) -> f64) -> Self {
        let below = |steps: &[&'a Trial]| -> Vec<&'a Trial> {
            let is_bound = |t: &&Trial| is_below_failure(facts, t) && !fills_pipe(facts, t);
            steps.iter().copied().filter(is_bound).collect()
        };
        let lone = lone(facts);
        let best = |trials: &[&'a Trial]| best(facts, trials, rate_of);
        let (open, closed, alone) = (best(&facts.search), best(&below(&facts.sweep)), best(&lone));
        let disturbed = best(&below(&facts.spoiled));
        let all = facts.search.iter().chain(&facts.sweep).chain(&lone).copied().collect();
        Self { facts, open, closed, alone, disturbed, all, rate_of, estimated: None, at_least: false }
    }

    pub(super) fn found(&self) -> Option<&'a Trial> {
        self.best_if_disturbed().or(self.undisturbed())
    }

    /// Returns the best disturbed step, if no undisturbed step met the objective. Also returns the best disturbed step
    /// if the capacity is only a lower bound, and this step's rate is the highest.
    fn best_if_disturbed(&self) -> Option<&'a Trial> {
        let Some(undisturbed) = self.undisturbed() else { return self.disturbed };
        let is_bound = self.at_least && self.alone.is_none();
        self.disturbed.filter(|t| is_bound && (self.rate_of)(t) > (self.rate_of)(undisturbed))
    }

    fn undisturbed(&self) -> Option<&'a Trial> {
        let all = [self.open, self.closed, self.alone].into_iter().flatten();
        all.max_by(|a, b| (self.rate_of)(a).total_cmp(&(self.rate_of)(b)))
    }

    /// Returns true if a disturbed step shows the capacity.
    fn is_disturbed(&self) -> bool {
        self.best_if_disturbed().is_some()
    }

    /// Returns details for a capacity that comes from a step of the sweep, which is a closed loop. It does not matter
    /// whether other programs disturbed the step. Returns `None` for an estimated capacity, and in a search for a
    /// number of users, which uses closed loops on purpose.
    pub(super) fn closed_loop(&self, has_estimate: bool) -> Option<ClosedLoopSource> {
        let is_chosen = |found: &Trial| self.alone.is_some_and(|alone| std::ptr::eq(found, alone));
        let shown = self.found().is_some_and(|found| closed(found) && !is_chosen(found));
        // If a window met the objective although other programs disturbed it, it would also have met the objective
        // without these programs.
        let is_open = |t: &&'a Trial| !closed(t) && is_below_failure(self.facts, t);
        let disturbed: Vec<&Trial> = self.facts.spoiled.iter().copied().filter(is_open).collect();
        let held = [self.open, best(self.facts, &disturbed, carried)].into_iter().flatten().map(carried);
        let open_held = held.filter(|rate| rate.is_finite()).reduce(f64::max);
        (shown && !has_estimate && !self.facts.run.plan.search.users).then_some(ClosedLoopSource { open_held })
    }

    /// Returns the trial with the lightest load. The caller uses the returned trial if no trial of the run met the
    /// objective.
    pub(super) fn least(&self) -> Option<&'a Trial> {
        let lightest = self.all.iter().copied().min_by(|a, b| a.rates.offered_rate.total_cmp(&b.rates.offered_rate));
        lightest.or(self.facts.decisive)
    }

    /// Returns the estimate from the windows of the search. If there are too few windows, or if all of them met the
    /// objective, the estimate also needs a closed loop whose throughput certainly stopped growing.
    fn estimate(&self) -> Option<Pooled> {
        let facts = self.facts;
        self.open?;
        let pooled = pooled_search(&facts.search, &facts.run.trials, &facts.limits);
        let few = || pooled_few(&facts.search, &facts.run.trials, &facts.limits);
        let few = || few().filter(|_| early_end::stopped_growing(facts) && facts.full_pipe.is_none());
        pooled.filter(|p| p.windows >= FEWEST_WINDOWS).or_else(few)
    }

    /// Moves an estimated capacity between the bounds that the windows give ([`held_twice`] and [`Votes::bound`]). An
    /// estimate above the highest completed rate is reduced to this rate. An estimate above all completed rates may be
    /// too high, because a short window ends before waiting requests exceed a limit of several seconds. The upper end
    /// of the interval is not reduced to the highest completed rate, because the capacity may be above every tested
    /// rate. Returns `None` if the whole interval is above every completed rate, or if rates below the estimate failed.
    pub(super) fn sound(&self, mut p: Pooled, votes: &Votes) -> Option<Pooled> {
        let most = self.all.iter().map(|t| good(t)).filter(|rate| rate.is_finite()).fold(0.0, f64::max);
        let is_sound = p.estimate.low <= most && !self.fails_below(p.estimate.rate);
        votes.bound(&mut p, (held_twice(&self.facts.search, &self.facts.limits), most));
        p.estimate.rate = p.estimate.rate.min(most);
        p.estimate.low = p.estimate.low.min(p.estimate.rate);
        is_sound.then_some(p)
    }

    /// Returns true if the loads show only a lower bound of the capacity. The capacity is only a lower bound if no
    /// tested load overloaded the server, or if too few windows were measured after a rate failed. After a failed rate,
    /// the capacity lies somewhere between the best rate and the failed rate. The result is always false for a search
    /// for a number of users.
    ///
    /// If only disturbed steps met the objective, the server may complete more without the disturbance.
    ///
    /// After a rate failed, a few windows are not enough to find the capacity. Above the highest rate of the sweep, a
    /// search doubles its rate while the objective is met. After the first rate that failed, the capacity may be
    /// anywhere between the last rate that passed and twice this rate. The first window that failed may also have
    /// failed because of a disturbance.
    fn ended_early(&self) -> bool {
        let facts = self.facts;
        if self.is_disturbed() {
            return true;
        }
        let grows = !early_end::stopped_growing(facts);
        let few = facts.search.len() < FEWEST_WINDOWS || grows && self.open.is_some();
        let is_open = if facts.failing.is_some() { few } else { grows };
        is_open && !facts.run.plan.search.users
    }

    /// Returns true if windows of the search failed below `rate`, while other windows met the objective above `rate`.
    /// The failed windows below `rate` must clearly outnumber the successful windows above it: for example, 2 to 0, or
    /// 4 to 1. Here, a window counts as failed only if too many of its requests failed, not if answers were late. A
    /// server at its limit fails only at high rates. A proxy without free ports, in contrast, sometimes fails at any
    /// rate.
    fn fails_below(&self, rate: f64) -> bool {
        let facts = self.facts;
        let count = |is: &dyn Fn(&Trial) -> bool| facts.search.iter().filter(|t| is(t)).count() as u32;
        let failed = |t: &Trial| breach(t, &facts.limits).is_some_and(|b| b.kind == BreachKind::Errors);
        let below = count(&|t| t.rates.offered_rate < rate && failed(t));
        let above = count(&|t| t.rates.offered_rate > rate && holds(t, &facts.limits));
        chance_above_half(below, below + above) >= FAILURES_BELOW
    }

    pub(super) fn method(&self, trial: &Trial, whole: Option<&Pooled>) -> String {
        match (self.found(), whole) {
            (Some(_), Some(p)) => {
                let is_server = || CostDrift::of(self.facts).is_some_and(|drift| drift.slower() == Slower::Server);
                p.method(p.is_lowered && is_server())
            }
            (Some(found), None) if self.is_disturbed() => disturbed_method(found),
            (Some(found), None) => method(self.facts, self.open, found, self.closed_loop(false)),
            (None, _) => format!(
                "even the lowest load that was tried, {} offered, broke a limit; the rate is what it completed",
                rate(trial.rates.offered_rate)
            ),
        }
    }
}

/// Returns true if a trial completed less than the offered rate at which the search failed. The result is always true
/// if no rate of the search failed.
fn is_below_failure(facts: &Facts<'_>, trial: &Trial) -> bool {
    let failed_at = facts.failing.map(|t| t.rates.offered_rate).filter(|r| r.is_finite());
    failed_at.is_none_or(|f| good(trial) < f)
}

/// Returns the rate of good answers of a trial. In an open loop, limits the result to the offered rate. A window may
/// complete more requests than were offered in it, because some requests were already waiting when the window began.
fn carried(trial: &Trial) -> f64 {
    match (closed(trial), positive(trial.rates.offered_rate)) {
        (false, Some(offered)) => good(trial).min(offered),
        _ => good(trial),
    }
}

/// Returns true if a step of the sweep completed far more than another step with at least as many clients, and if threads
/// waited for a full pipe in the run. The pipe was still empty in the first of these steps. An empty pipe takes many
/// lines of a log at once, so its step does not show what the reader of the pipe keeps up with.
fn fills_pipe(facts: &Facts<'_>, step: &Trial) -> bool {
    let is_slower = |other: &Trial| clients(other) >= clients(step) && good(other) < PLATEAU_KEPT * good(step);
    facts.full_pipe.is_some() && facts.sweep.iter().any(|other| is_slower(other))
}

/// Returns a rate that the server certainly sustains under the trial's load (97.5 % confidence). An open loop shows
/// that the server keeps up with the offered rate, so the result is the same as that of [`carried`]. In a closed loop,
/// the rate is only a count of requests, which is uncertain. The number of requests that a closed loop completes in a
/// window is assumed to vary like a Poisson count.
fn surely_carried(trial: &Trial) -> f64 {
    let completed = trial.measured.tally.completed as f64;
    let error = if closed(trial) { NORMAL_95 / completed.max(1.0).sqrt() } else { 0.0 };
    carried(trial) * (1.0 - error).max(0.0)
}

/// Returns the trial with the highest rate of good answers among those that met the objective.
fn best<'a>(facts: &Facts<'_>, trials: &[&'a Trial], rate_of: fn(&Trial) -> f64) -> Option<&'a Trial> {
    let held = trials.iter().copied().filter(|t| holds(t, &facts.limits) && positive(good(t)).is_some());
    held.max_by(|a, b| rate_of(a).total_cmp(&rate_of(b)))
}

/// Returns the trials of an experiment, or of loads that the user chose. Returns an empty list if the run has a search
/// or a sweep. If requests have several sizes, returns only the decisive trial, because rates of different sizes cannot
/// be compared.
fn lone<'a>(facts: &Facts<'a>) -> Vec<&'a Trial> {
    match facts.search.is_empty() && facts.sweep.is_empty() {
        false => Vec::new(),
        true if several_sizes(facts.run) => facts.decisive.into_iter().collect(),
        true => {
            let of_load = |t: &&Trial| !t.kind.is_auxiliary() && positive(t.rates.completed_rate).is_some();
            facts.run.trials.iter().filter(of_load).collect()
        }
    }
}

fn disturbed_method(found: &Trial) -> String {
    let of_clients = || format!("closed loop with {}", counted(clients(found), "client"));
    let load = if closed(found) { of_clients() } else { "open loop".into() };
    format!("{load} although other programs disturbed the machine: the server can do at least this")
}

/// Returns the method that gave the capacity, in words. `found` is the trial that shows the capacity.
fn method(facts: &Facts<'_>, open: Option<&Trial>, found: &Trial, closed_loop: Option<ClosedLoopSource>) -> String {
    let of_clients = || counted(clients(found), "client");
    match (closed_loop, open) {
        (Some(source), _) => format!("{} ({})", source.words(), of_clients()),
        (None, Some(_)) => format!("open loop, bracketed in {}", counted(facts.search.len() as f64, "step")),
        (None, None) if facts.run.plan.search.users => format!("closed loop with {}", of_clients()),
        (None, None) if several_sizes(facts.run) => {
            let bytes = facts.decisive.and_then(|t| t.key.record_bytes).unwrap_or(0) as f64;
            let per_s = facts.decisive.map_or(0.0, good_bytes);
            format!(
                "the trial with the most bytes per second: {} kB/s in answers of {} bytes",
                figure(per_s / 1e3),
                figure(bytes)
            )
        }
        _ => match facts.run.trials.len() {
            0 | 1 => "one load level: the server can do at least this".into(),
            all => {
                format!("the best of {all} chosen load levels that kept the limits: the server can do at least this")
            }
        },
    }
}
