//! Counts of a single load: requests, connections and failures of each kind.

use run::{Outcome, Tally, Trial};

use crate::pages::{first_failures, statuses, trials};
use crate::{AnswerLine, KeyFigure, Tone, Unit};
use run::number::{count, prose::counted, quantity};

/// Returns the main figure with two counts: the requests and the connections of the load.
pub(super) fn counts(trial: &Trial) -> KeyFigure {
    let tally = &trial.tally;
    let detail = format!(
        "{} sent{}, {} of {} established",
        count(tally.sent),
        test_requests(trial),
        count(tally.connected),
        counted(tally.attempted as f64, "connection")
    );
    KeyFigure { name: "Requests".into(), value: count(tally.completed), detail, tone: Tone::Plain }
}

/// Returns a remark about the requests that loadline sent before or after the load to test the server; empty if there
/// were none. Without the remark, a replay of 800 requests would show a count of 801 without a reason.
fn test_requests(trial: &Trial) -> String {
    match trial.test_requests {
        0 => String::new(),
        1 => " (1 of them a test request)".into(),
        n => format!(" ({} of them test requests)", count(n)),
    }
}

/// Returns the summary line about errors: the share of failed requests in the measured window, and the number of
/// failures in the whole load.
pub(super) fn errors(trial: &Trial, outcome: Outcome) -> AnswerLine {
    let tally = &trial.tally;
    let never_sent = trial.never_sent();
    let unanswered = trial.failures(tally).saturating_add(tally.unanswered).saturating_add(never_sent);
    let (bad, all) = (unanswered.saturating_add(tally.unexpected_status), unanswered.saturating_add(tally.completed));
    let failures = Some(failures(trial)).filter(|text| !text.is_empty());
    let expected = expected(tally);
    if bad == 0 {
        let of_all = format!("of {}{}{expected}", counted(all as f64, "request"), test_requests(trial));
        // Failed connects and handshakes are no failed requests, but have a reason, too.
        let detail = [Some(of_all), failures].into_iter().flatten().chain(first_failures::sentences(trial));
        return AnswerLine::new("Errors", "none", detail.collect::<Vec<_>>().join("; "));
    }
    let (share, of_which) = match outcome.failed_share {
        Some(share) => (share, format!("of the measured requests ({} of {} in all){expected}", count(bad), count(all))),
        None => (bad as f64 / all as f64, format!("of {}{expected}", counted(all as f64, "request"))),
    };
    let refused = trial.histograms.get("refused").filter(|hist| !hist.is_empty());
    let refused =
        refused.map(|hist| format!("refusals took {} (median)", quantity(hist.quantile_us(0.5), Unit::Micros)));
    let first = first_failures::sentences(trial);
    // A terminal may cut the end of the line, so the short list of kinds comes first, and then the server's own words.
    let detail: Vec<String> = [of_which].into_iter().chain(failures).chain(first).chain(refused).collect();
    AnswerLine::new("Errors", quantity(share, Unit::Share), detail.join("; ")).toned(Tone::Bad)
}

/// Returns the part of the line that counts the responses of 4xx and 5xx that were expected; empty if there were none.
fn expected(tally: &Tally) -> String {
    let counts = statuses::expected_errors(tally);
    let counts: Vec<String> = counts.iter().map(|(class, n)| format!("{} of {class}", count(*n))).collect();
    if counts.is_empty() { String::new() } else { format!(", besides expected ones ({})", counts.join(", ")) }
}

/// Lists the kinds of failures with their counts. If failed connects do not count as failed requests, each kind of
/// failed connects is listed with the number of all connects.
fn failures(trial: &Trial) -> String {
    let tally = &trial.tally;
    if !trial.counts_connects_apart() {
        return trials::failures(tally);
    }
    let (connects, others) = tally.errors.0.iter().partition(|(kind, _)| kind.is_of_connect());
    let requests = trials::failures(&Tally { errors: run::Errors(others), ..tally.clone() });
    let requests = Some(requests).filter(|text| !text.is_empty());
    let never_sent = Some(trial.never_sent()).filter(|n| *n > 0).map(|n| format!("{} never sent", count(n)));
    let connects: std::collections::BTreeMap<run::ErrorKind, u64> = connects;
    let all = count(tally.attempted);
    let connects = connects.iter().map(|(kind, n)| format!("{} of {all} {}", count(*n), kind.words()));
    requests.into_iter().chain(never_sent).chain(connects).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use run::{ErrorKind, Hist, Intensity};

    use super::*;

    /// In a real replay of 800 recorded requests, an earlier version of loadline printed "801 sent" without a reason.
    #[test]
    fn the_test_request_is_named_beside_the_counts() {
        let mut trial = Trial::default();
        (trial.tally.sent, trial.tally.completed, trial.test_requests) = (801, 801, 1);
        assert!(counts(&trial).detail.starts_with("801 sent (1 of them a test request), "), "{:?}", counts(&trial));
        let line = errors(&trial, Outcome::default());
        assert_eq!(line.detail, "of 801 requests (1 of them a test request)");
        trial.test_requests = 2;
        assert!(counts(&trial).detail.starts_with("801 sent (2 of them test requests), "), "{:?}", counts(&trial));
    }

    /// The number of failures covers the whole load, but the share of failures covers only the measured window. The
    /// text about errors must name the period of each figure.
    #[test]
    fn the_share_of_errors_and_their_number_name_their_bases() {
        let mut trial = Trial::default();
        trial.tally.completed = 400;
        trial.tally.errors.0.insert(ErrorKind::Reset, 373);
        let outcome = Outcome { failed_share: Some(0.541), ..Outcome::default() };
        let figure = errors(&trial, outcome);
        assert_eq!(figure.value, "54.1 %");
        assert!(figure.detail.starts_with("of the measured requests (373 of 773 in all)"), "{figure:?}");
        let unmeasured = errors(&trial, Outcome::default());
        assert!(unmeasured.value == "48.3 %" && unmeasured.detail.starts_with("of 773 requests"), "{unmeasured:?}");
        let mut refused = Hist::new();
        refused.record_ns(3_800_000);
        trial.histograms.insert("refused".into(), refused);
        assert!(errors(&trial, outcome).detail.contains("refusals took 3.8"), "{:?}", errors(&trial, outcome));
        assert_eq!(errors(&Trial::default(), Outcome::default()).value, "none");
    }

    #[test]
    fn refused_connects_beside_answered_requests_are_told_apart() {
        let mut trial = Trial { intensity: open_loop(), ..Trial::default() };
        trial.tally = Tally { attempted: 34, connected: 8, due: 350, sent: 350, completed: 350, ..Tally::default() };
        trial.tally.errors.0.insert(ErrorKind::ConnectRefused, 26);
        let line = errors(&trial, Outcome { failed_share: Some(0.0), ..Outcome::default() });
        assert_eq!((&*line.value, &*line.detail), ("none", "of 350 requests; 26 of 34 connects refused"));
        trial.tally.due = 400;
        let line = errors(&trial, Outcome { failed_share: Some(0.125), ..Outcome::default() });
        assert!(line.detail.contains("(50 of 400 in all)"), "{line:?}");
        assert!(line.detail.ends_with("; 50 never sent, 26 of 34 connects refused"), "{line:?}");
    }

    /// A replay of a log with 404s printed "Errors none", and no line of the summary mentioned the 404s.
    #[test]
    fn expected_errors_are_shown_although_they_are_no_failures() {
        let mut trial = Trial::default();
        (trial.tally.completed, trial.tally.status) = (100, [("2xx".into(), 60), ("4xx".into(), 40)].into());
        let detail = |trial: &Trial| errors(trial, Outcome::default()).detail;
        assert_eq!(detail(&trial), "of 100 requests, besides expected ones (40 of 4xx)");
        (trial.tally.unexpected_status, trial.tally.unexpected_statuses) = (39, [("404".into(), 39)].into());
        let text = detail(&trial);
        assert!(text.starts_with("of 100 requests, besides expected ones (1 of 4xx); 39 of status 404"), "{text}");
        (trial.tally.unexpected_status, trial.tally.unexpected_statuses) = (40, [("404".into(), 40)].into());
        assert!(!detail(&trial).contains("expected"), "{}", detail(&trial));
    }

    fn open_loop() -> Intensity {
        Intensity::Open { rate: 100.0, arrival: run::Arrival::Constant, max_connections: 64, pipeline: 1 }
    }
}
