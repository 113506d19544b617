//! Capacity estimate from all windows of a search, for each part of the objective, with and without the pauses of the
//! machine.

use run::{AnswerTime, Arrival, ExcludedTime, Intensity, Limits, TENTH_S, Trial, TrialKind, Window};
use stats::average;
use stats::posterior::{CapacityEstimate, Constraint, ConstraintKind, Span, WindowObservation, chance_held, estimate};

use super::own_pool;
use crate::facts::stolen;
use crate::objective::{Part, overdue, parts};
use crate::single::{closed, failed_share, good, unanswered};
use crate::thresholds::{CATCHES_UP, FEWEST_WINDOWS, FULL_STEP, HARMLESS, STOLEN_WINDOW};

/// Result of all windows of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pooled {
    /// Capacity from all windows together.
    pub estimate: CapacityEstimate,
    /// Constraint of the model that gave the estimate. The constraint also gives the capacity for other shares of late
    /// answers.
    pub constraint: Constraint,
    /// Number of windows.
    pub windows: usize,
    /// Pauses of the machine that the estimate leaves out, if enough time remains without them.
    pub left_out: Option<ExcludedTime>,
}

/// Estimates the capacity from all open-loop windows in `trials`. Returns `None` with fewer than three windows, or if
/// no window broke the objective.
pub fn pooled(trials: &[Trial], limits: &Limits) -> Option<Pooled> {
    let searched = |t: &&Trial| {
        let of_search = !closed(t) && matches!(t.kind, TrialKind::Search | TrialKind::Overload);
        of_search && own_pool(t, trials, limits).is_none()
    };
    pooled_search(&trials.iter().filter(searched).collect::<Vec<_>>(), trials, limits)
}

/// Estimates the capacity as [`pooled`] does, from the windows of a search. Leaves out windows whose load had too few
/// connections.
pub(crate) fn pooled_search(search: &[&Trial], trials: &[Trial], limits: &Limits) -> Option<Pooled> {
    let sound = search.iter().filter(|t| t.broken().is_none() && t.rates.offered_rate > 0.0);
    let windows: Vec<At<'_>> = sound.map(|trial| At { rate: trial.rates.offered_rate, trial }).collect();
    all_together(&windows, limits, full(trials))
}

/// Estimates the capacity from windows of users with think times. A user whose requests are never delayed sends one
/// request per `cycle_s` seconds, so the number of users corresponds to a rate. The model accounts for users who send
/// less because they wait.
pub(crate) fn pooled_users(windows: &[(u32, &Trial)], limits: &Limits, cycle_s: f64) -> Option<Pooled> {
    let at = |&(users, trial): &(u32, _)| At { rate: f64::from(users) / cycle_s, trial };
    let windows: Vec<At<'_>> = windows.iter().map(at).collect();
    all_together(&windows, limits, None)
}

/// A window and its request rate.
#[derive(Clone, Copy)]
struct At<'a> {
    rate: f64,
    trial: &'a Trial,
}

fn all_together(windows: &[At<'_>], limits: &Limits, full: Option<f64>) -> Option<Pooled> {
    let all = by(windows, limits, full, false)?;
    let (seconds, pauses) = left_out(windows, limits);
    if seconds <= 0.0 {
        return Some(all);
    }
    let Some(clean) = by(windows, limits, full, true) else {
        return Some(Pooled { left_out: Some(ExcludedTime { seconds, pauses, rate: None, interval: None }), ..all });
    };
    let interval = run::Interval { low: all.estimate.low, high: all.estimate.high };
    let left_out = ExcludedTime { seconds, pauses, rate: Some(all.estimate.rate), interval: Some(interval) };
    Some(Pooled { left_out: Some(left_out), ..clean })
}

/// Returns the saturated rate of the closed loop: the mean of its saturated steps, since the highest of them is partly
/// high by chance.
fn full(trials: &[Trial]) -> Option<f64> {
    let steps = || trials.iter().filter(|t| t.kind == TrialKind::Sweep && closed(t)).map(good).filter(|r| *r > 0.0);
    let most = steps().reduce(f64::max)?;
    let logs: Vec<f64> = steps().filter(|rate| *rate >= FULL_STEP * most).map(f64::ln).collect();
    Some(average(&logs).exp())
}

/// Returns for each open-loop trial the chance, 0 to 1, that the objective holds at its rate, judged by this trial
/// alone. If the objective has several limits, the lowest chance of any limit counts.
pub(crate) fn chances(trials: &[Trial], limits: &Limits) -> Vec<Option<f64>> {
    let (full, parts) = (full(trials), parts(limits));
    // Pauses of the machine are left out if any time remains without them.
    let of_part = |t: &Trial, part: Part| {
        let at = At { rate: t.rates.offered_rate, trial: t };
        let shown = shown(&at, part, true).or_else(|| shown(&at, part, false))?;
        Some(chance_held(&shown, &constraint(part, full)))
    };
    let of = |t: &Trial| {
        let open = !closed(t) && t.rates.offered_rate > 0.0 && t.broken().is_none();
        let all = parts.iter().filter_map(|part| of_part(t, *part).filter(|_| open));
        all.filter(|chance| chance.is_finite()).reduce(f64::min)
    };
    trials.iter().map(of).collect()
}

/// Returns the estimate for the part of the objective that breaks at the lowest rate.
fn by(windows: &[At<'_>], limits: &Limits, full: Option<f64>, clean: bool) -> Option<Pooled> {
    let of = |part: Part| {
        let shown: Vec<WindowObservation> = windows.iter().filter_map(|at| shown(at, part, clean)).collect();
        let constraint = constraint(part, full);
        let breaks = shown.iter().any(|w| constraint.breaks(w));
        let estimate = (shown.len() >= FEWEST_WINDOWS && breaks).then(|| estimate(&shown, &constraint))??;
        Some(Pooled { estimate, constraint, windows: shown.len(), left_out: None })
    };
    parts(limits).into_iter().filter_map(of).min_by(|a, b| a.estimate.rate.total_cmp(&b.estimate.rate))
}

fn constraint(part: Part, full: Option<f64>) -> Constraint {
    match part {
        Part::Late { limit_us, allowed, .. } => {
            Constraint { kind: ConstraintKind::Share { allowed, limit_s: limit_us / 1e6 }, full }
        }
        Part::Mean { .. } => Constraint { kind: ConstraintKind::Mean, full },
        // A server that refuses requests on purpose is not saturated, even if it refuses all of them.
        Part::Failed { allowed } => {
            Constraint { kind: ConstraintKind::Refused { allowed: allowed.clamp(1e-6, 0.9) }, full: None }
        }
    }
}

fn shown(&At { rate, trial }: &At<'_>, part: Part, clean: bool) -> Option<WindowObservation> {
    if clean && stolen(trial) > STOLEN_WINDOW {
        return None;
    }
    let equal_gaps = matches!(trial.intensity, Intensity::Open { arrival: Arrival::Constant, .. });
    let Window { begin_s, end_s } = trial.measured.window;
    let window = |answered: f64, late: f64| {
        let span = Span { begin_s, end_s };
        (answered > 0.0).then_some(WindowObservation { rate, answered, late, equal_gaps, span })
    };
    let completed = trial.measured.tally.completed as f64;
    match part {
        Part::Late { time, limit_us, .. } => {
            let (answered, late) = late(trial, time, limit_us, clean)?;
            let lost = match time.is_of_events() {
                true => 0.0,
                false => unanswered(trial).max(overdue(trial, limit_us)) + failed(trial, limit_us, clean),
            };
            window(answered + lost, late + lost)
        }
        Part::Mean { limit_us } => {
            let (answered, took_us) = took(trial, limit_us, clean);
            window(answered, took_us / limit_us)
        }
        Part::Failed { .. } => {
            let failed = failed_share(trial)?;
            window(completed.max(1.0), failed * completed.max(1.0))
        }
    }
}

/// Counts the requests that ended, and those whose time was longer than a limit. Uses the histogram for the time to the
/// first byte, and if an older run did not count these requests.
fn late(trial: &Trial, time: AnswerTime, limit_us: f64, clean: bool) -> Option<(f64, f64)> {
    let tenths = &trial.measured.tenths;
    if let Some(over) = tenths.over(limit_us).filter(|_| time == AnswerTime::LastByte) {
        return Some(kept(trial, limit_us, clean, &over.late));
    }
    let hist = trial.answer_hist(time)?;
    let answered = hist.len() as f64;
    Some((answered, answered * (1.0 - hist.share_within_ns((limit_us * 1e3) as u64))))
}

/// Counts the requests that failed in the window; they count as later than every limit. Uses the tally if an older run
/// did not count these requests.
fn failed(trial: &Trial, limit_us: f64, clean: bool) -> f64 {
    let tenths = &trial.measured.tenths;
    match tenths.unanswered.is_empty() {
        true => trial.measured.tally.errors.requests() as f64,
        false => kept(trial, limit_us, clean, &tenths.unanswered).1,
    }
}

/// Counts the requests that ended, and sums their times in microseconds. Reads the mean if an older run has no such
/// sums.
fn took(trial: &Trial, limit_us: f64, clean: bool) -> (f64, f64) {
    let tenths = &trial.measured.tenths;
    if tenths.took_us.len() == tenths.answered.len() && !tenths.is_empty() {
        return kept(trial, limit_us, clean, &tenths.took_us);
    }
    let completed = trial.measured.tally.completed as f64;
    (completed, completed * trial.latency_us.mean)
}

/// Counts the requests that ended in the undisturbed tenths of a second. Also sums the counts in `beside` over these
/// tenths.
fn kept(trial: &Trial, limit_us: f64, clean: bool, beside: &[u64]) -> (f64, f64) {
    let disturbed = if clean { disturbed(trial, limit_us) } else { Vec::new() };
    let all = trial.measured.tenths.answered.iter().zip(beside).enumerate();
    let kept = all.filter(|(i, _)| !disturbed.get(*i).copied().unwrap_or(false));
    kept.fold((0.0, 0.0), |(n, k), (_, (answered, of))| (n + *answered as f64, k + *of as f64))
}

/// Returns for each tenth of a second whether a pause of a machine, or the backlog after the pause, disturbed it.
fn disturbed(trial: &Trial, limit_us: f64) -> Vec<bool> {
    let window = trial.measured.window;
    let of = |i: usize| {
        let begin_s = window.begin_s + TENTH_S * i as f64;
        harmful(trial, limit_us).any(|p| p.begin_s < begin_s + TENTH_S && p.end_s + CATCHES_UP * p.length_s() > begin_s)
    };
    (0..trial.measured.tenths.answered.len()).map(of).collect()
}

fn harmful(trial: &Trial, limit_us: f64) -> impl Iterator<Item = &Window> {
    let pauses = trial.measured.pauses.iter().chain(held_up(trial));
    pauses.filter(move |p| p.length_s() * 1e6 >= HARMLESS * limit_us)
}

/// Returns the periods in which the machine held up the generator. If generator and server share CPUs, a full server
/// delays the generator, too, so no period counts.
fn held_up(trial: &Trial) -> &[Window] {
    let shared = trial.client.shared || trial.server.as_ref().is_some_and(|server| server.shared);
    if shared { &[] } else { &trial.measured.held_up }
}

/// Returns the time that is left out for the strictest limit, seconds, and the number of pauses in this time.
fn left_out(windows: &[At<'_>], limits: &Limits) -> (f64, usize) {
    let Some(strictest) = crate::objective::late_us(limits).into_iter().reduce(f64::min) else { return (0.0, 0) };
    let of = |&At { trial: t, .. }: &At<'_>| {
        if stolen(t) > STOLEN_WINDOW {
            return (t.measured.length_s, 1);
        }
        let lost = disturbed(t, strictest).into_iter().filter(|d| *d).count();
        let window = t.measured.window;
        let within = harmful(t, strictest).filter(|p| p.end_s > window.begin_s && p.begin_s < window.end_s).count();
        (TENTH_S * lost as f64, if lost > 0 { within.max(1) } else { 0 })
    };
    windows.iter().map(of).fold((0.0, 0), |(s, n), (more_s, more)| (s + more_s, n + more))
}
