//! Capacity estimate from all windows of a search. Each part of the objective is estimated separately, with and without
//! the disturbed time.

use run::{ExcludedTime, Limits, Trial, TrialKind};
use stats::average;
use stats::posterior::{Constraint, WindowObservation, chance_held, estimate};

use super::left_out::{left_out, plus};
use super::left_over::{chance_unnoticed, left_over};
use super::neighbours::UsualShare;
use super::observed::{At, constraint, shown};
use super::own_pool;
use super::pooled::Pooled;
use crate::context::single::{clients, closed, good};
use crate::estimate::objective::{Part, parts};
use crate::thresholds::{FEWEST_WINDOWS, FULL_STEP, LIKELY_HELD};

/// Estimates the capacity from the windows of the open-loop search in `trials`. Does not use windows (measured periods)
/// that other programs disturbed, or in which the load had too few connections. Returns `None` if there are too few
/// windows, or if every window met the objective.
pub fn pooled(trials: &[Trial], limits: &Limits) -> Option<Pooled> {
    let usual = UsualShare::of(trials.iter());
    let searched = |t: &&Trial| is_searched(t) && !usual.spoils(t) && own_pool(t, trials, limits).is_none();
    pooled_of(&trials.iter().filter(searched).collect::<Vec<_>>(), trials, limits, false)
}

/// Returns true for windows of the open-loop search, including windows with deliberate overload.
fn is_searched(trial: &Trial) -> bool {
    !closed(trial) && matches!(trial.kind, TrialKind::Search | TrialKind::Overload)
}

/// Estimates the capacity in the way that [`pooled`] describes. `search` contains the windows of a search, except those
/// with too few connections.
pub(crate) fn pooled_search(search: &[&Trial], trials: &[Trial], limits: &Limits) -> Option<Pooled> {
    pooled_of(search, trials, limits, false)
}

/// Estimates the capacity from few windows, or from windows that all met the objective. The saturation rate of the
/// closed loop then says more than the windows: the interval is as wide as this rate usually differs from that of an
/// open loop. Returns `None` if the closed loop was not saturated, or if the estimate would come from overloads
/// alone.
pub(super) fn pooled_few(search: &[&Trial], trials: &[Trial], limits: &Limits) -> Option<Pooled> {
    pooled_of(search, trials, limits, true).filter(|pooled| !pooled.of_overloads)
}

/// Basis of an estimate besides its windows.
#[derive(Clone, Copy)]
struct Basis {
    /// Completed rate of the saturated closed loop.
    full: Option<f64>,
    /// True if `full` is enough for an estimate from fewer than [`FEWEST_WINDOWS`] windows, or from windows that all
    /// met the objective.
    accepts_few: bool,
}

/// Estimates the capacity from the windows `search`. The field [`Basis::accepts_few`] explains `accepts_few`.
fn pooled_of(search: &[&Trial], trials: &[Trial], limits: &Limits, accepts_few: bool) -> Option<Pooled> {
    let usual = UsualShare::of(trials.iter());
    let basis = Basis { full: full(trials, usual), accepts_few };
    let at = |trial| At::offered(trial, usual);
    let windows: Vec<At<'_>> = search.iter().copied().filter_map(at).collect();
    let is_left_out = |t: &Trial| usual.spoils(t) && !search.iter().any(|used| std::ptr::eq(*used, t));
    let spoiled = trials.iter().filter(|t| is_searched(t) && is_left_out(t));
    let spoiled: Vec<At<'_>> = spoiled.filter_map(at).collect();
    all_together(&windows, &spoiled, limits, basis)
}

/// Estimates the capacity from windows of users with think times. A user whose requests are never delayed sends one
/// request per `cycle_s` seconds, so a number of users corresponds to a rate. The queueing model of the estimate
/// accounts for users who send less because they wait for answers.
pub(crate) fn pooled_users(windows: &[(u32, &Trial)], limits: &Limits, cycle_s: f64) -> Option<Pooled> {
    let usual = UsualShare::of(windows.iter().map(|(_, trial)| *trial));
    let at = |&(users, trial): &(u32, _)| At { rate: f64::from(users) / cycle_s, trial, usual };
    let windows: Vec<At<'_>> = windows.iter().map(at).collect();
    all_together(&windows, &[], limits, Basis { full: None, accepts_few: false })
}

/// Returns the estimate from windows without their disturbed time. `spoiled` are windows that were disturbed for most
/// of their time. The spoiled windows are used only in a second estimate, which includes the disturbed time.
fn all_together(windows: &[At<'_>], spoiled: &[At<'_>], limits: &Limits, basis: Basis) -> Option<Pooled> {
    let every: Vec<At<'_>> = windows.iter().chain(spoiled).copied().collect();
    let of = |at: &At<'_>| left_out(at.trial, limits, at.usual);
    let excluded = every.iter().map(of).fold(ExcludedTime::default(), plus);
    let with = by(&every, limits, basis, false);
    if excluded.seconds <= 0.0 {
        return with;
    }
    let found = by(windows, limits, basis, true);
    let interval = with.map(|with| run::Interval { low: with.estimate.low, high: with.estimate.high });
    let left_out = ExcludedTime { rate: with.map(|with| with.estimate.rate), interval, ..excluded };
    match found {
        Some(found) => Some(Pooled { left_out: Some(left_out), ..found }),
        None if spoiled.is_empty() => with.map(|with| Pooled { left_out: Some(excluded), ..with }),
        // If too little undisturbed time remains for an estimate, disturbed time is used, too. If disturbed time is
        // used, only the spoiled windows count as left out.
        None => {
            let of_spoiled = spoiled.iter().map(of).fold(ExcludedTime::default(), plus);
            let left_out = ExcludedTime { rate: left_out.rate, interval: left_out.interval, ..of_spoiled };
            by(windows, limits, basis, false).map(|found| Pooled { left_out: Some(left_out), ..found })
        }
    }
}

/// Returns the geometric mean of the rates of the saturated closed-loop steps. The highest rate of the saturated steps
/// would be too high, because it is partly due to chance. Steps that other programs disturbed are used only if no other
/// step is saturated. Returns `None` if no step had more clients than the first saturated step. A sweep without such a
/// step ended while throughput still grew, so its highest rate may be far below saturation.
fn full(trials: &[Trial], usual: UsualShare) -> Option<f64> {
    let steps = || trials.iter().filter(|t| t.kind == TrialKind::Sweep && closed(t) && good(t) > 0.0);
    let most = steps().map(good).reduce(f64::max)?;
    let saturated = || steps().filter(|t| good(t) >= FULL_STEP * most);
    let first = saturated().map(clients).reduce(f64::min)?;
    if !steps().any(|t| clients(t) > first) {
        return None;
    }
    let (quiet, disturbed): (Vec<&Trial>, Vec<&Trial>) = saturated().partition(|t| usual.exceeded(t).is_empty());
    let counted = if quiet.is_empty() { disturbed } else { quiet };
    Some(average(&counted.into_iter().map(|t| good(t).ln()).collect::<Vec<f64>>()).exp())
}

/// Returns for each open-loop trial the chance, 0 to 1, that the objective is met at the trial's rate, judged from this
/// trial alone. If the objective has several limits, the lowest chance is returned. The result is `None` for closed
/// loops.
pub(crate) fn chances(trials: &[Trial], limits: &Limits) -> Vec<Option<f64>> {
    let (parts, usual) = (parts(limits), UsualShare::of(trials.iter()));
    let full = full(trials, usual);
    // Disturbed time is left out if any undisturbed time remains.
    let of_part = |at: &At<'_>, part: Part| {
        let shown = shown(at, part, true).or_else(|| shown(at, part, false))?;
        Some(chance_held(&shown, &constraint(part, full)))
    };
    let of = |t: &Trial| {
        let at = At::offered(t, usual).filter(|_| !closed(t))?;
        let all = parts.iter().filter_map(|part| of_part(&at, *part)).chain(chance_unnoticed(&at, limits));
        all.filter(|chance| chance.is_finite()).reduce(f64::min)
    };
    trials.iter().map(of).collect()
}

/// Returns the estimate for the part of the objective that is missed at the lowest rate. If a limit on failures is not
/// clearly exceeded, the limit counts only if no other part of the objective gives an estimate.
fn by(windows: &[At<'_>], limits: &Limits, basis: Basis, clean: bool) -> Option<Pooled> {
    let of_overloads = left_over(windows, limits, clean);
    let is_vague = |p: &Pooled| of_overloads.is_some_and(|o| p.contains(&o));
    let of = |part: Part| {
        of_part(&shown_by(windows, part, clean), &constraint(part, basis.full), basis).filter(|p| !is_vague(p))
    };
    let is_clear = |part: &Part| is_clear(*part, &shown_by(windows, *part, clean));
    let (clear, unclear): (Vec<Part>, Vec<Part>) = parts(limits).into_iter().partition(is_clear);
    let lowest = |parts: Vec<Part>| {
        let all = parts.into_iter().filter_map(&of).chain(of_overloads);
        all.min_by(|a, b| a.estimate.rate.total_cmp(&b.estimate.rate))
    };
    lowest(clear).or_else(|| lowest(unclear))
}

fn shown_by(windows: &[At<'_>], part: Part, clean: bool) -> Vec<WindowObservation> {
    windows.iter().filter_map(|at| shown(at, part, clean)).collect()
}

/// Estimates the capacity from one part of the objective, such as a limit on a percentile. Returns `None` if there are
/// too few windows, or if every window met this part of the objective, unless `basis` is enough.
fn of_part(shown: &[WindowObservation], constraint: &Constraint, basis: Basis) -> Option<Pooled> {
    let breaks = shown.iter().any(|w| constraint.breaks(w));
    let few = basis.accepts_few && constraint.full.is_some() && !shown.is_empty();
    let is_enough = shown.len() >= FEWEST_WINDOWS && breaks || few;
    let estimate = is_enough.then(|| estimate(shown, constraint))??;
    let beyond = estimate.beyond(constraint);
    Some(Pooled { estimate, beyond, windows: shown.len(), of_overloads: false, is_lowered: false, left_out: None })
}

/// Returns false for a limit on failures that no window clearly exceeds. In a short window, a single failed request may
/// exceed the limit by chance.
fn is_clear(part: Part, shown: &[WindowObservation]) -> bool {
    let constraint = constraint(part, None);
    !matches!(part, Part::Failed { .. }) || shown.iter().any(|w| chance_held(w, &constraint) < LIKELY_HELD)
}
