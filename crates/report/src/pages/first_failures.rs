//! Reasons for the first failures of a load. If the server itself gave a reason for a failure, the text quotes it.

use run::number::quantity;
use run::{FailureKind, FirstFailure, Trial};

use crate::Unit;

/// Maximum number of failure reasons in the summary line "Errors".
const MAX_SHOWN: usize = 2;

/// Returns at most [`MAX_SHOWN`] sentences, each about the first failure of one kind. An example is `first 503 at 412
/// ms: "no backend"`. Leaves out failures without a known reason, and kinds of failures whose requests were all sent
/// again.
pub(super) fn sentences(trial: &Trial) -> Vec<String> {
    let is_counted = |kind: &FailureKind| match kind {
        FailureKind::Error(kind) => trial.tally.errors.0.contains_key(kind),
        FailureKind::Status(_) => true,
    };
    let told = |first: &&FirstFailure| !first.reason.is_empty() && is_counted(&first.kind);
    let mut known: Vec<&FirstFailure> = trial.first_failures.iter().filter(told).collect();
    known.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    known.into_iter().take(MAX_SHOWN).map(sentence).collect()
}

/// Returns the server's words in the first answer with an unexpected status.
pub(super) fn first_words(trial: &Trial) -> Option<&str> {
    let words = |first: &FirstFailure| matches!(first.kind, FailureKind::Status(_)) && !first.reason.is_empty();
    let earliest = |a: &&FirstFailure, b: &&FirstFailure| a.at_s.total_cmp(&b.at_s);
    trial.first_failures.iter().filter(|first| words(first)).min_by(earliest).map(|first| first.reason.as_str())
}

fn sentence(first: &FirstFailure) -> String {
    let at = quantity(first.at_s * 1e6, Unit::Micros);
    match &first.kind {
        FailureKind::Status(status) if status.is_empty() => format!("first error answer at {at}: {}", first.reason),
        FailureKind::Status(status) => format!("first {status} at {at}: {}", first.reason),
        FailureKind::Error(kind) => format!("first of the {} at {at}: {}", kind.words(), first.reason),
    }
}

#[cfg(test)]
mod tests {
    use run::ErrorKind;

    use super::*;

    #[test]
    fn the_words_of_the_server_are_shown_in_the_order_of_their_time() {
        let first = |kind, at_s, reason: &str| FirstFailure { kind, at_s, reason: reason.into() };
        let status = |name: &str| FailureKind::Status(name.into());
        let trial = Trial {
            first_failures: vec![
                first(status("503"), 2.0, "\"no backend\""),
                first(status("404"), 0.1, ""),
                first(status(""), 0.5, "\"-LOADING\""),
                first(FailureKind::Error(ErrorKind::ShortResponse), 3.0, "code 1011"),
                // All requests with this failure were sent again, so the failure was not counted.
                first(FailureKind::Error(ErrorKind::Reset), 0.3, "code 1001"),
            ],
            tally: run::Tally { errors: run::Errors([(ErrorKind::ShortResponse, 1)].into()), ..run::Tally::default() },
            ..Trial::default()
        };
        assert_eq!(first_words(&trial), Some("\"-LOADING\""));
        assert_eq!(
            sentences(&trial),
            ["first error answer at 500 ms: \"-LOADING\"", "first 503 at 2 s: \"no backend\""]
        );
    }
}
