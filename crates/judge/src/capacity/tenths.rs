//! Finds the disturbed tenths of a second of a window.

use run::{TENTH_S, Trial, Window};

/// Returns true for each tenth of a second of a trial's window that is disturbed, and false for each other tenth. A
/// tenth of a second is disturbed if it overlaps one of `periods`, or the time after such a period in which the server
/// catches up. The server catches up for `catches_up` times the length of the period.
pub(super) fn disturbed_tenths(trial: &Trial, periods: &[Window], catches_up: f64) -> Vec<bool> {
    let of = |tenth: usize| {
        let begin_s = trial.measured.window.begin_s + TENTH_S * tenth as f64;
        periods.iter().any(|p| p.begin_s < begin_s + TENTH_S && p.end_s + catches_up * p.length_s() > begin_s)
    };
    let known = trial.measured.tenths.answered.len().max(trial.measured.others.len());
    let tenths = (trial.measured.window.length_s() / TENTH_S).round() as usize;
    (0..tenths.min(known)).map(of).collect()
}
