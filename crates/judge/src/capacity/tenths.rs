//! Tenths of a second of a window.

use run::{TENTH_S, Trial, Window};

/// Returns the middle of a tenth of a second in seconds, if the first tenth begins at `begin_s`.
pub(super) fn middle_s(begin_s: f64, tenth: usize) -> f64 {
    begin_s + TENTH_S * (tenth as f64 + 0.5)
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
