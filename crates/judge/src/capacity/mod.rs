//! Capacity: the highest completed rate that meets the objective (limits on latency and errors).

mod counts;
pub(crate) mod early_end;
mod held_twice;
mod left_out;
mod left_over;
pub(crate) mod neighbours;
mod observed;
mod own_pool;
mod pooled;
mod tenths;
mod windows;

pub use neighbours::spoiled;
pub use own_pool::own_pool;
pub use pooled::Pooled;
pub use windows::pooled;
pub(crate) use windows::{chances, pooled_search, pooled_users};

use run::{BreachKind, Capacity, ClosedLoopSource, OwnLimit, Trial};

use self::held_twice::held_twice;
use crate::Facts;
use crate::number::{counted, figure, finite, positive, rate};
use crate::objective::{breach, holds, words};
use crate::single::{clients, closed, good, good_bytes, several_sizes};
use crate::thresholds::{FAILURES_BELOW, FEWEST_WINDOWS, LIKELY_HELD};
use stats::shares::chance_above_half;

/// A capacity, the trial that shows this capacity, and the trial at a higher rate that missed the objective.
pub(crate) struct Found<'a> {
    pub(crate) capacity: Capacity,
    pub(crate) trial: &'a Trial,
    pub(crate) failing: Option<&'a Trial>,
}

/// Finds the capacity, and the trial that shows it, from the open-loop search and the sweep (closed-loop steps with
/// more and more clients). In a run without search and sweep, uses the run's other loads. `chances` is the result of
/// [`chances`] for this run.
///
/// Closed-loop clients send less while the server is slow. A step of the sweep therefore counts only below the offered
/// rate at which the search failed.
pub(crate) fn capacity<'a>(facts: &Facts<'a>, chances: &[Option<f64>]) -> Option<Found<'a>> {
    // Counters that other tools collected come without response times and failures, so no objective applies to them.
    if !facts.run.sent_requests() {
        return None;
    }
    let tried = Tried::of(facts);
    let mut trial = tried.found().or_else(|| tried.least())?;
    let estimated = tried.estimated();
    let whole = estimated.and_then(|estimate| tried.sound(estimate));
    if let Some(near) = whole.and_then(|p| nearest(facts, p.estimate.rate)) {
        trial = near;
    }
    let failing = match &whole {
        Some(p) => past(facts, chances, p.estimate.rate),
        None => facts.failing,
    };
    let at_least = tried.found().is_some() && estimated.is_none() && tried.ended_early();
    let capacity = Capacity {
        rate: whole.map(|p| p.estimate.rate).or(finite(carried(trial)))?,
        failed_at: failing.and_then(|t| finite(t.rates.offered_rate)),
        failed_why: failing.and_then(|t| breach(t, &facts.limits)).map(|b| words(&b)),
        objective: facts.limits.text.clone(),
        method: tried.method(trial, whole.as_ref()),
        held: tried.found().is_some(),
        closed_loop: tried.closed_loop(whole.is_some()),
        at_least,
        needed_s: early_end::needed_s(facts).filter(|_| at_least),
        low: whole.map(|p| p.estimate.low),
        high: whole.map(|p| p.estimate.high),
        windows: whole.map_or(0, |p| p.windows),
        left_out: whole.and_then(|p| p.left_out),
        own_limit: own_limit(facts),
        variation: None,
    };
    Some(Found { capacity, trial, failing })
}

/// Returns the lowest rate at which the load had too few connections. Returns `None` if the search found a rate that
/// missed the objective.
fn own_limit(facts: &Facts<'_>) -> Option<OwnLimit> {
    let limits = facts.own_pool.iter().copied().filter(|_| facts.failing.is_none());
    limits.min_by(|a, b| a.offered_rate.total_cmp(&b.offered_rate))
}

/// Trials of a run, and for each kind of load, the best trial that met the objective.
struct Tried<'f, 'a> {
    facts: &'f Facts<'a>,
    /// Best trial of the open-loop search.
    open: Option<&'a Trial>,
    /// Best trial of the closed-loop sweep.
    closed: Option<&'a Trial>,
    /// Best trial of a run without search and sweep.
    alone: Option<&'a Trial>,
    /// Trials of the search, of the sweep and of other loads, including trials that missed the objective.
    all: Vec<&'a Trial>,
}

impl<'f, 'a> Tried<'f, 'a> {
    fn of(facts: &'f Facts<'a>) -> Self {
        let failed_at = facts.failing.map(|t| t.rates.offered_rate).filter(|r| r.is_finite());
        let below: Vec<&Trial> =
            facts.sweep.iter().copied().filter(|t| failed_at.is_none_or(|f| good(t) < f)).collect();
        let lone = lone(facts);
        let (open, closed, alone) = (best(facts, &facts.search), best(facts, &below), best(facts, &lone));
        let all = facts.search.iter().chain(&facts.sweep).chain(&lone).copied().collect();
        Self { facts, open, closed, alone, all }
    }

    fn found(&self) -> Option<&'a Trial> {
        [self.open, self.closed, self.alone].into_iter().flatten().max_by(|a, b| carried(a).total_cmp(&carried(b)))
    }

    /// Returns the source of a capacity that is the rate of a closed-loop sweep step. Returns `None` for an estimated
    /// capacity, and in a search for a number of users, which uses closed loops on purpose.
    fn closed_loop(&self, has_estimate: bool) -> Option<ClosedLoopSource> {
        let shown = self.found().zip(self.closed).is_some_and(|(found, closed)| std::ptr::eq(found, closed));
        let open_held = self.open.and_then(|open| finite(carried(open)));
        (shown && !has_estimate && !self.facts.run.plan.search.users).then_some(ClosedLoopSource { open_held })
    }

    /// Returns the trial with the lightest load. The caller uses this trial if no trial of the run met the objective.
    fn least(&self) -> Option<&'a Trial> {
        let lightest = self.all.iter().copied().min_by(|a, b| a.rates.offered_rate.total_cmp(&b.rates.offered_rate));
        lightest.or(self.facts.decisive)
    }

    /// Returns the capacity estimated from all windows. Returns `None` if there are too few windows, or if all windows
    /// or no window met the objective.
    fn estimated(&self) -> Option<Pooled> {
        let facts = self.facts;
        let pooled = self.open.and_then(|_| pooled_search(&facts.search, &facts.run.trials, &facts.limits));
        pooled.filter(|p| p.windows >= FEWEST_WINDOWS)
    }

    /// Reduces an estimated capacity to the highest completed rate, if the estimate is above this rate. Without the
    /// reduction, the estimate may be too high: a short window ends before waiting requests exceed a limit of several
    /// seconds. The upper end of the interval is not reduced, because the capacity may be above every tested rate. An
    /// estimate below the rate from [`held_twice`] is raised to this rate. Returns `None` if the whole interval is
    /// above every completed rate, or if rates below the estimate failed.
    fn sound(&self, mut p: Pooled) -> Option<Pooled> {
        let most = self.all.iter().map(|t| good(t)).filter(|rate| rate.is_finite()).fold(0.0, f64::max);
        let is_sound = p.estimate.low <= most && !self.fails_below(p.estimate.rate);
        let least = held_twice(&self.facts.search, &self.facts.limits).min(p.estimate.high);
        p.estimate.rate = p.estimate.rate.max(least).min(most);
        is_sound.then_some(p)
    }

    /// Returns true if the loads show only a lower bound of the capacity. Either no tested load overloaded the server,
    /// or too few windows were measured after a rate failed. In the second case, the capacity lies somewhere between
    /// the best rate and the failed rate. Always false for a search for a number of users.
    ///
    /// After a failure, a few windows are not enough. Above the highest rate of the sweep, a search doubles its rate
    /// while the objective is met. The capacity may therefore be anywhere between the last rate that passed and twice
    /// this rate. Moreover, a window may fail only because it was disturbed.
    fn ended_early(&self) -> bool {
        let facts = self.facts;
        let grows = !early_end::stopped_growing(facts);
        let few = facts.search.len() < FEWEST_WINDOWS || grows && self.open.is_some();
        let is_open = if facts.failing.is_some() { few } else { grows };
        is_open && !facts.run.plan.search.users
    }

    /// Returns true if windows of the search failed below `rate`, while other windows met the objective above `rate`.
    /// The failures must clearly outnumber the successes: for example, 2 to 0, or 4 to 1. For this test, a window
    /// counts as failed if too many of its requests failed. A real limit of the server makes only high rates fail. A
    /// proxy without free ports, in contrast, fails now and then at any rate.
    fn fails_below(&self, rate: f64) -> bool {
        let facts = self.facts;
        let count = |is: &dyn Fn(&Trial) -> bool| facts.search.iter().filter(|t| is(t)).count() as u32;
        let failed = |t: &Trial| breach(t, &facts.limits).is_some_and(|b| b.kind == BreachKind::Errors);
        let below = count(&|t| t.rates.offered_rate < rate && failed(t));
        let above = count(&|t| t.rates.offered_rate > rate && holds(t, &facts.limits));
        chance_above_half(below, below + above) >= FAILURES_BELOW
    }

    fn method(&self, trial: &Trial, whole: Option<&Pooled>) -> String {
        match (self.found(), whole) {
            (Some(_), Some(p)) => pooled_method(p),
            (Some(found), None) => method(self.facts, self.open, found, self.closed_loop(false)),
            (None, _) => format!(
                "even the lowest load that was tried, {} offered, broke the objective; the rate is what it completed",
                rate(trial.rates.offered_rate)
            ),
        }
    }
}

/// Returns the rate of good answers of a trial. In an open loop, limits the result to the offered rate. A window may
/// complete more requests than were offered in it, because some requests were already waiting when the window began.
fn carried(trial: &Trial) -> f64 {
    match (closed(trial), positive(trial.rates.offered_rate)) {
        (false, Some(offered)) => good(trial).min(offered),
        _ => good(trial),
    }
}

/// Returns the trial with the highest rate of good answers among those that met the objective.
fn best<'a>(facts: &Facts<'_>, trials: &[&'a Trial]) -> Option<&'a Trial> {
    let held = trials.iter().copied().filter(|t| holds(t, &facts.limits) && positive(good(t)).is_some());
    held.max_by(|a, b| carried(a).total_cmp(&carried(b)))
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

/// Returns the trial of the search whose rate is nearest to `rate`, among the trials that met the objective.
fn nearest<'a>(facts: &Facts<'a>, rate: f64) -> Option<&'a Trial> {
    let held = facts.search.iter().copied().filter(|t| holds(t, &facts.limits) && positive(good(t)).is_some());
    let off = |t: &Trial| (good(t) / rate).ln().abs();
    held.min_by(|a, b| off(a).total_cmp(&off(b)))
}

/// Returns the trial with the lowest offered rate, at or above `rate`, that clearly missed the objective. If no trial
/// missed the objective clearly, returns the trial with the lowest rate that missed the objective at all. Ignores
/// trials below `rate`: they failed because of a disturbance.
fn past<'a>(facts: &Facts<'a>, chances: &[Option<f64>], rate: f64) -> Option<&'a Trial> {
    let told = |t: &Trial| {
        let at = facts.run.trials.iter().position(|one| std::ptr::eq(one, t));
        at.and_then(|at| *chances.get(at)?).is_some_and(|chance| chance < LIKELY_HELD)
    };
    let broke = facts.search.iter().copied().filter(|t| t.rates.offered_rate >= rate && !holds(t, &facts.limits));
    let order = |t: &&Trial| (!told(t), t.rates.offered_rate);
    broke.min_by(|a, b| order(a).0.cmp(&order(b).0).then(order(a).1.total_cmp(&order(b).1)))
}

fn pooled_method(p: &Pooled) -> String {
    let left_out = match p.left_out {
        Some(l) if l.rate.is_some() => format!("; {} s that were disturbed are left out", figure(l.seconds)),
        Some(l) => format!("; {} s that were disturbed are included", figure(l.seconds)),
        None => String::new(),
    };
    let windows = counted(p.windows as f64, "window");
    match p.of_overloads {
        true => format!("open loop, completed rate of {windows} with an overload{left_out}"),
        false => format!("open loop, late requests of {windows} pooled{left_out}"),
    }
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
            0 | 1 => "one load level: the capacity is at least this".into(),
            all => {
                format!("the best of {all} chosen load levels that held the objective: the capacity is at least this")
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use crate::planted::PlantedRun;

    fn capacity(planted_run: &PlantedRun) -> run::Capacity {
        let mut run = planted_run.run();
        crate::judge(&mut run);
        run.findings.capacity.unwrap()
    }

    #[test]
    fn the_highest_rate_that_holds_counts_with_the_lowest_that_fails() {
        let c = capacity(&PlantedRun::new(20_000.0, 200.0).rates(&[0.5, 0.93, 1.15]));
        assert!(c.held && (c.rate - 200.0).abs() < 1e-9, "{c:?}");
        assert!(c.method.starts_with("closed loop: in an open loop only 186/s was held"), "{c:?}");
        assert!((c.failed_at.unwrap() - 230.0).abs() < 1e-9);
        assert!(c.failed_why.unwrap().contains("of the offered load completed"));
    }

    /// Closed-loop clients wait while a server is slow. Independent users do not wait, so the server may not sustain
    /// the rate of a closed loop for independent users.
    #[test]
    fn a_capacity_that_no_open_loop_held_says_so() {
        let fails = |t: &mut run::Trial, _: &crate::planted::Point| {
            if t.kind == run::TrialKind::Search {
                t.latency_us.p99 = 1e9;
            }
        };
        let c = capacity(&PlantedRun::new(20_000.0, 200.0).rates(&[1.05, 1.15]).change(fails));
        assert_eq!(c.closed_loop.map(|source| source.open_held), Some(None), "{c:?}");
        assert!(c.method.starts_with("closed loop: no rate was held in an open loop"), "{c:?}");
        let sweep_only = capacity(&PlantedRun::new(20_000.0, 200.0).rates(&[]));
        assert!(sweep_only.closed_loop.is_some(), "{sweep_only:?}");
        let open = capacity(&PlantedRun::new(20_000.0, 200.0).rates(&[0.5, 1.0]).steps(&[1]));
        assert_eq!(open.closed_loop, None, "{open:?}");
    }

    #[test]
    fn a_sweep_does_not_outdo_an_open_loop_that_failed_below_it() {
        let fails = |t: &mut run::Trial, p: &crate::planted::Point| {
            if t.kind == run::TrialKind::Search && p.offered > 150.0 {
                t.latency_us.p99 = 1e9;
            }
        };
        let c = capacity(&PlantedRun::new(20_000.0, 200.0).rates(&[0.5, 0.7, 0.8]).change(fails));
        assert!((c.rate - 140.0).abs() < 1e-9 && c.failed_at == Some(160.0), "{c:?}");
    }

    /// An experiment beyond the capacity reaches its highest throughput at a load that misses the objective.
    #[test]
    fn of_chosen_loads_the_best_that_held_counts() {
        let mut run = PlantedRun::new(1000.0, 4000.0).rates(&[]).run();
        for (i, t) in run.trials.iter_mut().enumerate() {
            t.kind = run::TrialKind::Experiment;
            t.key.put(run::ValueName::new("delay_ms"), i as f64);
        }
        let best = run.trials.iter().map(|t| t.rates.completed_rate).fold(0.0, f64::max);
        let most = run.trials.iter().map(|t| t.rates.completed_rate * 1.01).fold(0.0, f64::max);
        let last = run.trials.last_mut().unwrap();
        (last.rates.completed_rate, last.latency_us.p99) = (most, 1e9);
        crate::judge(&mut run);
        let c = run.findings.capacity.unwrap();
        assert!(c.held && c.rate <= best && c.rate > best / 2.0 && c.method.contains("the best of"), "{c:?}");
    }

    /// The server has ten workers and needs 10 ms per request, and the search ended at 139/s. Every load met the
    /// objective. The last window completed more requests than were offered in it, because some requests were waiting
    /// when the window began.
    #[test]
    fn where_no_load_failed_the_capacity_is_at_least_the_highest_offered_rate() {
        let backlog = |t: &mut run::Trial, p: &crate::planted::Point| {
            if p.offered > 0.0 {
                t.rates.completed_rate = 1.1 * p.offered;
            }
        };
        let planted_run = PlantedRun::new(10_000.0, 1000.0).steps(&[1]).rates(&[0.074, 0.089, 0.139]).change(backlog);
        let c = capacity(&planted_run);
        assert!(c.held && c.at_least && (c.rate - 139.0).abs() < 1e-6 && c.failed_at.is_none(), "{c:?}");
        assert!(!capacity(&PlantedRun::new(10_000.0, 1000.0)).at_least, "it failed at 1,150/s");
        assert!(!capacity(&PlantedRun::new(10_000.0, 1000.0).rates(&[])).at_least, "the sweep stopped growing");
    }

    /// The time budget of the search ended after two steps, and the second step was disturbed. An earlier version took
    /// the second step for the server's limit, and reported a third of the true capacity without a warning.
    #[test]
    fn a_sweep_that_ended_early_after_one_flat_step_gives_a_lower_bound() {
        let of = |steps: &[u32]| {
            let flat = |t: &mut run::Trial, _: &crate::planted::Point| t.rates.completed_rate = 100.0;
            let mut run = PlantedRun::new(10_000.0, 100.0).steps(steps).rates(&[]).change(flat).run();
            run.plan.search.budget_s = 4.0;
            crate::judge(&mut run);
            run.findings.capacity.unwrap()
        };
        let early = of(&[1, 2]);
        assert!(early.held && early.at_least && early.needed_s.is_some_and(|s| s > 10.0 && s < 60.0), "{early:?}");
        let whole = of(&[1, 2, 4]);
        assert!(whole.held && !whole.at_least && whole.needed_s.is_none(), "{whole:?}");
    }

    /// A proxy without free ports failed at four rates below the estimate of 7,800/s. Only the lowest rate met the
    /// objective.
    #[test]
    fn failures_at_lower_rates_end_the_capacity_below_them() {
        let fails = |t: &mut run::Trial, p: &crate::planted::Point| {
            let share = [(2631.0, 0.108), (3759.0, 0.345), (5370.0, 0.355), (7671.0, 0.167)];
            if let Some((_, share)) = share.iter().find(|(rate, _)| (p.offered - rate).abs() < 1.0) {
                let failed = (t.measured.tally.completed as f64 * share) as u64;
                (t.tally.unexpected_status, t.measured.tally.unexpected_status) = (failed, failed);
            }
        };
        let rates = [0.1842, 0.2631, 0.3759, 0.5370, 0.7671, 1.0959];
        let c = capacity(&PlantedRun::new(130.0, 10_000.0).rates(&rates).change(fails));
        assert!((c.rate - 1842.0).abs() < 1.0 && c.failed_at.is_some_and(|rate| (rate - 2631.0).abs() < 1.0), "{c:?}");
    }

    #[test]
    fn a_capacity_that_no_rate_reached_is_marked() {
        let c = capacity(&PlantedRun::new(20_000.0, 200.0).change(|t, _| t.measured.tally.unanswered = 1000));
        assert!(!c.held, "{c:?}");
    }
}
