//! Time that the estimate of the capacity leaves out: pauses of a machine, and periods in which other programs took the
//! machine's CPUs.

use run::{ExcludedTime, Limits, TENTH_S, Trial, Window};
use stats::NORMAL_95;

use super::neighbours::UsualShare;
use super::tenths::disturbed_tenths;
use crate::context::other_programs::stolen;
use crate::context::single::failed_share;
use crate::thresholds::{CATCHES_UP, HARMLESS, STOLEN_WINDOW};

/// Returns true if a window is left out completely, because the hypervisor took too much of its time. The moments at
/// which the hypervisor took the CPUs are unknown, so each tenth of a second of the window may be disturbed.
pub(super) fn is_dropped(trial: &Trial) -> bool {
    stolen(trial) > STOLEN_WINDOW
}

/// Returns true if a window is undisturbed from its begin to its end.
pub(super) fn is_undisturbed(trial: &Trial, limit_us: f64, usual: UsualShare) -> bool {
    !is_dropped(trial) && !disturbed(trial, limit_us, usual).contains(&true)
}

/// Returns one flag for each tenth of a second: true if this tenth was disturbed. A tenth of a second is disturbed by a
/// pause of a machine, by other programs, or by the backlog of requests after such a disturbance.
pub(super) fn disturbed(trial: &Trial, limit_us: f64, usual: UsualShare) -> Vec<bool> {
    let periods: Vec<Window> = harmful(trial, limit_us).copied().chain(usual.exceeded(trial)).collect();
    disturbed_tenths(trial, &periods, CATCHES_UP)
}

fn harmful(trial: &Trial, limit_us: f64) -> impl Iterator<Item = &Window> {
    let pauses = trial.measured.pauses.iter().chain(held_up(trial));
    pauses.filter(move |p| p.length_s() * 1e6 >= HARMLESS * limit_us)
}

/// Returns the periods in which the machine did not let the generator run. If the generator and the server share CPUs,
/// the result is empty, because a busy server also delays the generator.
fn held_up(trial: &Trial) -> &[Window] {
    let shared = trial.client.shared || trial.server.as_ref().is_some_and(|server| server.shared);
    if shared { &[] } else { &trial.measured.held_up }
}

/// Returns the part of a window's time that the estimate of the capacity leaves out, and the causes of the disturbance.
/// The strictest limit on the response time decides which pauses are long enough to matter. Without a limit on the
/// response time, late answers are not counted per tenth of a second, so only whole windows are left out.
pub(super) fn left_out(trial: &Trial, limits: &Limits, usual: UsualShare) -> ExcludedTime {
    if is_dropped(trial) {
        return ExcludedTime { seconds: trial.measured.length_s, pauses: 1, ..ExcludedTime::default() };
    }
    let (others_s, others_cpu_s) = usual.taken_s(trial);
    // If other programs disturbed most of a window, the search repeats it, so the whole window is left out.
    if usual.spoils(trial) {
        let pauses = strictest(limits).map_or(0, |limit_us| pauses_of(trial, limit_us));
        return ExcludedTime {
            seconds: trial.measured.length_s,
            pauses,
            others_s,
            others_cpu_s,
            ..ExcludedTime::default()
        };
    }
    let Some(strictest) = strictest(limits) else { return ExcludedTime::default() };
    let lost = disturbed(trial, strictest, usual).into_iter().filter(|d| *d).count();
    if lost == 0 {
        return ExcludedTime::default();
    }
    // If no other program took too much CPU time during the load, only pauses can have disturbed the window. If the
    // window itself has no pause, a pause before the window left a backlog of requests, so one pause is counted.
    let pauses = pauses_of(trial, strictest);
    let pauses = if usual.exceeded(trial).is_empty() { pauses.max(1) } else { pauses };
    ExcludedTime { seconds: TENTH_S * lost as f64, pauses, others_s, others_cpu_s, ..ExcludedTime::default() }
}

/// Returns true if the disturbances of a window are too short to explain that the window missed the objective. A server
/// that can keep up completes at least the requests that are offered in the undisturbed time. Such a server refuses at
/// most the requests that arrive during a disturbance, or while it catches up after the disturbance.
pub(super) fn is_beyond_disturbance(trial: &Trial, limits: &Limits, usual: UsualShare) -> bool {
    let (length_s, lost_s) = (trial.measured.window.length_s(), disturbed_s(trial, usual));
    let completed = trial.measured.tally.completed as f64;
    let missing = trial.rates.offered_rate * (length_s - lost_s) - completed;
    let is_behind = missing > NORMAL_95 * completed.max(1.0).sqrt();
    let lost_share = lost_s * (1.0 + CATCHES_UP) / length_s;
    let is_refused = failed_share(trial).is_some_and(|failed| failed > limits.errors + lost_share);
    !is_dropped(trial) && (is_behind || is_refused)
}

/// Returns for how many seconds a window was disturbed: the sum of the machine's pauses and of the periods in which
/// other programs took the CPUs.
fn disturbed_s(trial: &Trial, usual: UsualShare) -> f64 {
    let (measured, exceeded) = (&trial.measured, usual.exceeded(trial));
    let within = |p: &Window| p.end_s.min(measured.window.end_s) - p.begin_s.max(measured.window.begin_s);
    let all = measured.pauses.iter().chain(&measured.held_up).chain(&exceeded);
    all.map(|period| within(period).max(0.0)).sum()
}

/// Returns the strictest limit on the response time, microseconds.
fn strictest(limits: &Limits) -> Option<f64> {
    crate::estimate::objective::late_us(limits).into_iter().reduce(f64::min)
}

/// Counts the pauses in a window that are long enough to matter.
fn pauses_of(trial: &Trial, limit_us: f64) -> usize {
    harmful(trial, limit_us).filter(|p| p.overlaps(trial.measured.window)).count()
}

/// Adds up the times that are left out of two windows.
pub(super) fn plus(a: ExcludedTime, b: ExcludedTime) -> ExcludedTime {
    ExcludedTime {
        seconds: a.seconds + b.seconds,
        pauses: a.pauses + b.pauses,
        others_s: a.others_s + b.others_s,
        others_cpu_s: a.others_cpu_s + b.others_cpu_s,
        ..a
    }
}
