//! Time that the estimate of the capacity leaves out: pauses of a machine, and times in which other programs took its
//! CPUs.

use run::{ExcludedTime, Limits, TENTH_S, Trial, Window};

use super::neighbours::UsualShare;
use crate::facts::stolen;
use crate::thresholds::{CATCHES_UP, HARMLESS, STOLEN_WINDOW};

/// Returns the middle of a tenth of a second in seconds, if the first tenth begins at `begin_s`.
pub(super) fn middle_s(begin_s: f64, tenth: usize) -> f64 {
    begin_s + TENTH_S * (tenth as f64 + 0.5)
}

/// Returns for each tenth of a second whether it was disturbed by a pause of a machine, by other programs, or by the
/// backlog after these.
pub(super) fn disturbed(trial: &Trial, limit_us: f64, usual: UsualShare) -> Vec<bool> {
    let periods: Vec<Window> = harmful(trial, limit_us).copied().chain(usual.exceeded(trial)).collect();
    disturbed_tenths(trial, &periods, CATCHES_UP)
}

/// Returns for each tenth of a second of a window whether one of these periods touches it, or the time after such a
/// period in which the server catches up. This time is `catches_up` times as long as the period.
pub(super) fn disturbed_tenths(trial: &Trial, periods: &[Window], catches_up: f64) -> Vec<bool> {
    let of = |tenth: usize| {
        let middle_s = middle_s(trial.measured.window.begin_s, tenth);
        let (begin_s, end_s) = (middle_s - TENTH_S / 2.0, middle_s + TENTH_S / 2.0);
        periods.iter().any(|p| p.begin_s < end_s && p.end_s + catches_up * p.length_s() > begin_s)
    };
    let known = trial.measured.tenths.answered.len().max(trial.measured.others.len());
    let tenths = (trial.measured.window.length_s() / TENTH_S).round() as usize;
    (0..tenths.min(known)).map(of).collect()
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

/// Returns the time of a window that is left out for the strictest limit, and its reasons.
pub(super) fn left_out(trial: &Trial, limits: &Limits, usual: UsualShare) -> ExcludedTime {
    let Some(strictest) = crate::objective::late_us(limits).into_iter().reduce(f64::min) else {
        return ExcludedTime::default();
    };
    if stolen(trial) > STOLEN_WINDOW {
        return ExcludedTime { seconds: trial.measured.length_s, pauses: 1, ..ExcludedTime::default() };
    }
    let lost = disturbed(trial, strictest, usual).into_iter().filter(|d| *d).count();
    if lost == 0 {
        return ExcludedTime::default();
    }
    let window = trial.measured.window;
    let pauses = harmful(trial, strictest).filter(|p| p.end_s > window.begin_s && p.begin_s < window.end_s).count();
    let (others_s, others_cpu_s) = usual.taken_s(trial);
    // If no other program took too much CPU time during the load, pauses disturbed the window. If none of them is in
    // the window, an earlier pause left a backlog and counts.
    let pauses = if usual.exceeded(trial).is_empty() { pauses.max(1) } else { pauses };
    // The search repeats a spoiled window, and nothing of it counts.
    let seconds = if usual.spoils(trial) { trial.measured.length_s } else { TENTH_S * lost as f64 };
    ExcludedTime { seconds, pauses, others_s, others_cpu_s, ..ExcludedTime::default() }
}

/// Adds the time that is left out of two windows.
pub(super) fn plus(a: ExcludedTime, b: ExcludedTime) -> ExcludedTime {
    ExcludedTime {
        seconds: a.seconds + b.seconds,
        pauses: a.pauses + b.pauses,
        others_s: a.others_s + b.others_s,
        others_cpu_s: a.others_cpu_s + b.others_cpu_s,
        ..a
    }
}
