//! Silences: times without any answer although requests were in flight, much longer than an answer usually takes.

use run::{IncidentKind, Trial, Window};

use crate::context::single::good;
use crate::number::{counted, duration};
use crate::thresholds::{FEWEST_REQUESTS, HARMLESS, LONG_SILENCE, NOTICED_US, ONE_AT_A_TIME};

/// Returns a sentence about the longest silence of a trial. Returns `None` for a short silence, or if a pause of the
/// generator or of a host explains the silence. Also returns `None` if an incident already reports the silence, or with
/// a single request in flight, which may simply be slow.
pub(crate) fn sentence(trial: &Trial) -> Option<String> {
    let silence = trial.measured.silence?;
    let (length_s, median_us) = (silence.length_s(), trial.latency_us.p50);
    let is_known = trial.incidents.iter().any(|incident| incident.kind == IncidentKind::Silence);
    let is_long = trial.latency_us.count > 0 && 1e6 * length_s >= NOTICED_US.max(LONG_SILENCE * median_us);
    let missed = good(trial) * length_s;
    if is_known
        || !is_long
        || missed < FEWEST_REQUESTS as f64
        || trial.rates.concurrency < ONE_AT_A_TIME
        || paused(trial, silence)
    {
        return None;
    }
    Some(format!(
        "no answer came from {:.1} s to {:.1} s, although about {} waited and the median answer took {}: the \
         server, or the path to it, stood still",
        silence.begin_s,
        silence.end_s,
        counted(trial.rates.concurrency, "request"),
        duration(median_us)
    ))
}

/// Returns true if pauses of the generator or of a host may explain a silence.
fn paused(trial: &Trial, silence: Window) -> bool {
    let both = |pause: &Window| (pause.end_s.min(silence.end_s) - pause.begin_s.max(silence.begin_s)).max(0.0);
    let longest = |pauses: &[Window]| pauses.iter().map(both).sum::<f64>();
    let paused_s = longest(&trial.measured.pauses).max(longest(&trial.measured.held_up));
    paused_s > HARMLESS * silence.length_s()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the sentence about a silence that begins at 2.5 s, with 8 requests in flight and a median of 2 ms.
    fn silent(length_s: f64, change: impl Fn(&mut Trial)) -> Option<String> {
        let mut trial = Trial::default();
        (trial.latency_us.p50, trial.latency_us.count) = (2000.0, 9000);
        (trial.rates.completed_rate, trial.rates.concurrency) = (3500.0, 8.0);
        trial.measured.silence = Some(Window { begin_s: 2.5, end_s: 2.5 + length_s });
        change(&mut trial);
        sentence(&trial)
    }

    #[test]
    fn a_silence_far_longer_than_an_answer_is_told_with_its_moment() {
        let told = silent(0.5, |_| {}).unwrap();
        assert!(told.starts_with("no answer came from 2.5 s to 3.0 s, although about 8 requests waited"), "{told}");
        assert_eq!(silent(0.09, |_| {}), None, "nobody notices");
        assert_eq!(silent(0.5, |t| t.latency_us.p50 = 60_000.0), None, "an answer takes as long");
        assert_eq!(silent(0.5, |t| t.rates.completed_rate = 20.0), None, "ten answers are missing");
        assert_eq!(silent(0.5, |t| t.rates.concurrency = 1.0), None, "one slow answer");
        assert_eq!(silent(0.5, |t| t.measured.held_up = vec![Window { begin_s: 2.6, end_s: 2.9 }]), None);
        assert!(silent(0.5, |t| t.measured.pauses = vec![Window { begin_s: 0.6, end_s: 0.9 }]).is_some());
    }
}
