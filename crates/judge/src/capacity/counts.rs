//! Counts of the answered, late and failed requests of a window. Each count covers either the whole window or only its
//! undisturbed time.

use run::{AnswerTime, Trial};

use super::left_out::disturbed;
use super::neighbours::UsualShare;

/// Returns two counts: all requests that ended, and the requests that ended after more than `limit_us` microseconds.
/// Uses the histogram for times to the first byte, and for runs of older loadline versions, which have no counts per
/// tenth of a second.
pub(super) fn late(trial: &Trial, time: AnswerTime, limit_us: f64, clean: Option<UsualShare>) -> Option<(f64, f64)> {
    let tenths = &trial.measured.tenths;
    if let Some(over) = tenths.over(limit_us).filter(|_| time == AnswerTime::LastByte) {
        return Some(kept(trial, limit_us, clean, &over.late));
    }
    let hist = trial.answer_hist(time)?;
    let answered = hist.len() as f64;
    Some((answered, answered * (1.0 - hist.share_within_ns((limit_us * 1e3) as u64))))
}

/// Counts the requests that failed in the window. `limit_us` only serves to find the disturbed time. Runs of older
/// loadline versions have no counts per tenth of a second, so the total error count is used for them.
pub(super) fn failed(trial: &Trial, limit_us: f64, clean: Option<UsualShare>) -> f64 {
    let tenths = &trial.measured.tenths;
    match tenths.unanswered.is_empty() {
        true => trial.measured.tally.errors.requests() as f64,
        false => kept(trial, limit_us, clean, &tenths.unanswered).1,
    }
}

/// Counts the requests that ended, and sums their response times in microseconds. Uses the mean for runs of older
/// loadline versions, which have no sums per tenth of a second.
pub(super) fn took(trial: &Trial, limit_us: f64, clean: Option<UsualShare>) -> (f64, f64) {
    let tenths = &trial.measured.tenths;
    if tenths.took_us.len() == tenths.answered.len() && !tenths.is_empty() {
        return kept(trial, limit_us, clean, &tenths.took_us);
    }
    let completed = trial.measured.tally.completed as f64;
    (completed, completed * trial.latency_us.mean)
}

/// Counts the requests that ended in the undisturbed tenths of a second, and sums the values of `beside` over these
/// tenths.
fn kept(trial: &Trial, limit_us: f64, clean: Option<UsualShare>, beside: &[u64]) -> (f64, f64) {
    let disturbed = clean.map(|usual| disturbed(trial, limit_us, usual)).unwrap_or_default();
    let all = trial.measured.tenths.answered.iter().zip(beside).enumerate();
    let kept = all.filter(|(i, _)| !disturbed.get(*i).copied().unwrap_or(false));
    kept.fold((0.0, 0.0), |(n, k), (_, (answered, of))| (n + *answered as f64, k + *of as f64))
}
