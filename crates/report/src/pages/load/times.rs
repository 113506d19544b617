//! Times of a single load: the response time, and the time to the first byte.

use run::{Intensity, SummaryFigure, Trial};

use super::rates::waiting_for_streams;
use crate::pages::{parts, times::percentiles};
use crate::{AnswerLine, Tone};
use run::number::prose::counted;

/// Returns the summary line with percentiles of the response time. The line also states when the measurement of a
/// response time starts.
pub(super) fn latency(trial: &Trial, new_connections: bool) -> AnswerLine {
    let response = &trial.latency_us;
    if response.count == 0 {
        let nothing = match (trial.measured.tally.completed, trial.tally.completed) {
            (0, 0) => "nothing completed".into(),
            (0, n) => {
                format!("nothing completed in the measured window ({} before or after it)", counted(n as f64, "answer"))
            }
            (n, _) => format!("none of {} in the measured window was good", counted(n as f64, "answer")),
        };
        return AnswerLine::new("Latency", "unknown:", nothing).toned(Tone::Bad);
    }
    let open = matches!(trial.intensity, Intensity::Open { .. } | Intensity::SClients { .. });
    let since = match (open, new_connections) {
        (true, false) => "from the intended start",
        (true, true) => "from the intended start, with the connect",
        (false, true) => "from the connect",
        (false, false) if waiting_for_streams(trial).is_some() => "with the wait for a stream",
        (false, false) => "from the send",
    };
    use SummaryFigure::{Max, P50, P90, P99, P999};
    let told = percentiles(response, &[P50, P90, P99, P999, Max]);
    AnswerLine::new("Latency", told, format!("({since})")).leading("latency")
}

/// Returns the summary line with percentiles of the time to the first byte, and of the time from the first byte to the
/// last byte. Returns `None` if the times to the first byte are unknown, or if they hardly differ from the response
/// times because the answers are short.
pub(super) fn first_byte(trial: &Trial) -> Option<AnswerLine> {
    let (first, last) = (&trial.first_byte_us, &trial.latency_us);
    let told = |times| percentiles(times, &[SummaryFigure::P50, SummaryFigure::P99, SummaryFigure::P999]);
    if first.count == 0 || told(first) == told(last) || parts::is_transfer_negligible(trial) {
        return None;
    }
    Some(AnswerLine::new("First byte", told(first), parts::transfer(trial)))
}

#[cfg(test)]
mod tests {
    use run::{Outcome, Run};

    use super::super::{counts::errors, rates::completed};
    use super::*;

    /// In this test, every answer in the measured window has an unexpected status.
    #[test]
    fn refusals_are_no_completion_and_their_kind_comes_before_their_words() {
        let mut trial = Trial::default();
        (trial.tally.completed, trial.tally.unexpected_status) = (3000, 2990);
        (trial.measured.tally.completed, trial.measured.tally.unexpected_status) = (1585, 1585);
        let kind = run::FailureKind::Status(String::new());
        trial.first_failures = vec![run::FirstFailure { kind, at_s: 0.0263, reason: "\"-NOAUTH\"".into() }];
        assert_eq!(latency(&trial, false).detail, "none of 1,585 answers in the measured window was good");
        let outcome = Outcome { good_rate: Some(0.0), failed_share: Some(1.0), ..Outcome::default() };
        let line = completed(&Run::default(), &trial, outcome);
        assert!(line.detail.ends_with("good answers: 0/s"), "{line:?}");
        let detail = errors(&trial, outcome).detail;
        let words = detail.find("first error answer at 26.3 ms: \"-NOAUTH\"").unwrap();
        assert!(detail.find("2,990 error answers").is_some_and(|kind| kind < words), "{detail}");
    }
}
