//! A window of a search, and its counts for each part of the objective.

use run::{Arrival, Intensity, Trial, Window};
use stats::posterior::{Constraint, ConstraintKind, Span, WindowObservation};

use super::counts::{failed, late, took};
use super::left_out::is_dropped;
use super::neighbours::UsualShare;
use crate::context::single::{failed_share, unanswered};
use crate::estimate::objective::{Part, overdue};

/// A window, its request rate, and the usual CPU share of other programs during a search.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) rate: f64,
    pub(super) trial: &'a Trial,
    pub(super) usual: UsualShare,
}

impl<'a> At<'a> {
    /// Returns the window of a trial, unless the trial is broken or has no offered rate.
    pub(super) fn offered(trial: &'a Trial, usual: UsualShare) -> Option<Self> {
        let rate = trial.rates.offered_rate;
        (trial.broken().is_none() && rate > 0.0).then_some(Self { rate, trial, usual })
    }
}

/// Returns one part of the objective (such as a limit on a percentile) as a constraint for the capacity model. `full`
/// is the completed rate of the saturated closed loop.
pub(super) fn constraint(part: Part, full: Option<f64>) -> Constraint {
    match part {
        Part::Late { limit_us, allowed, .. } => {
            Constraint { kind: ConstraintKind::Share { allowed, limit_s: limit_us / 1e6 }, full }
        }
        Part::Mean { .. } => Constraint { kind: ConstraintKind::Mean, full },
        // A server that refuses requests on purpose is not saturated, even if it refuses all of them. The limit on
        // failed requests therefore does not use the rate `full` of the saturated closed loop.
        Part::Failed { allowed } => {
            Constraint { kind: ConstraintKind::Refused { allowed: allowed.clamp(1e-6, 0.9) }, full: None }
        }
    }
}

/// Returns the counts of a window for one part of the objective, such as a limit on a percentile. If `clean` is true,
/// the disturbed time of the window is left out, except for the share of failed requests. Returns `None` if the window
/// has no answers, or if all of its time is left out. Also returns `None` if `clean` is true and the hypervisor took
/// too much of the window's time.
pub(super) fn shown(at: &At<'_>, part: Part, clean: bool) -> Option<WindowObservation> {
    let At { rate, trial, .. } = *at;
    if clean && is_dropped(trial) {
        return None;
    }
    let clean = clean.then_some(at.usual);
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
                true => trial.answer_summary(time).unanswered as f64,
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
