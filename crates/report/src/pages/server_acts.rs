//! Sentences about actions of the server without a request, such as closing connections or sending unrequested
//! messages.

mod closes;

use run::number::{count, prose::counted};
use run::{ErrorKind, Protocol, Tally, Trial};

use self::closes::{idle_closes, races, refused, together, unannounced};

/// Returns one sentence for each kind of action that the server took without a request. Also returns sentences about
/// requests that the server redirected or did not process.
pub(super) fn sentences(protocol: &Protocol, trial: &Trial) -> Vec<String> {
    let tally = &trial.tally;
    let unprocessed = (tally.unprocessed > 0).then(|| {
        let why = trial.first_reason(ErrorKind::StreamRefused).map_or_else(String::new, |why| format!(" ({why})"));
        format!(
            "{} sent again, since the server closed their connection unanswered{why}",
            counted(tally.unprocessed as f64, "request")
        )
    });
    let together = trial.ended_together.as_ref().map(|ends| together(ends, refused(tally)));
    let races = (tally.keep_alive_races > 0).then(|| races(protocol, trial));
    let left = (tally.closes_left_to_client > 0).then(|| {
        format!(
            "the server left the close to loadline on {} (it announced their end, or answered before it had the whole \
             request), so the TIME_WAIT is on this side",
            counted(tally.closes_left_to_client as f64, "connection")
        )
    });
    let unasked = (tally.unasked_messages > 0)
        .then(|| format!("{} unrequested messages came; none counts as an answer", count(tally.unasked_messages)));
    let all = [
        unprocessed,
        cluster_redirects(tally),
        redirects(tally),
        together,
        races,
        idle_closes(trial),
        unannounced(protocol, trial),
        left,
        unasked,
    ];
    all.into_iter().flatten().collect()
}

/// Returns a sentence with the number of commands that nodes of a Redis cluster redirected.
fn cluster_redirects(tally: &Tally) -> Option<String> {
    let kinds = [(tally.moved, "MOVED"), (tally.asked, "ASK")].into_iter().filter(|(n, _)| *n > 0);
    let kinds: Vec<String> = kinds.map(|(n, kind)| format!("{} {kind}", count(n))).collect();
    (!kinds.is_empty()).then(|| format!("the cluster redirected commands: {}; each was sent again", kinds.join(", ")))
}

/// Returns a sentence with the number of redirects among the expected answers. If every answer is a redirect, returns
/// `None`, because a note about the test request already says so.
fn redirects(tally: &Tally) -> Option<String> {
    let refused = tally.unexpected_statuses.iter().filter(|(status, _)| status.starts_with('3'));
    let refused = refused.fold(0, |sum: u64, (_, n)| sum.saturating_add(*n));
    let n = tally.status.get("3xx").copied().unwrap_or(0).saturating_sub(refused);
    (n > 0 && n < tally.completed).then(|| {
        format!(
            "{} of {} had a 3xx status: loadline measures a redirect, not its destination; --expect-status 200 counts \
             redirects as errors",
            count(n),
            counted(tally.completed as f64, "answer")
        )
    })
}

#[cfg(test)]
mod tests {
    use run::{FailureKind, Intensity, LoadPlan, ThinkTime};

    use super::*;

    /// Returns the sentences about a load over HTTP/1.
    fn sentences(trial: &Trial) -> Vec<String> {
        super::sentences(&LoadPlan::default().protocol, trial)
    }

    /// In this test, the server first answers with status 200, and later redirects to its login page.
    #[test]
    fn redirects_that_begin_during_the_load_are_counted() {
        let said = |redirects: u64, unexpected: u64| {
            let status = [("2xx".to_string(), 100 - redirects), ("3xx".to_string(), redirects)].into();
            let unexpected_statuses = [("302".to_string(), unexpected)].into();
            let tally = Tally { completed: 100, status, unexpected_statuses, ..Tally::default() };
            sentences(&Trial { tally, ..Trial::default() })
        };
        assert!(said(40, 0)[0].starts_with("40 of 100 answers had a 3xx status"), "{:?}", said(40, 0));
        assert!(said(0, 0).is_empty() && said(100, 0).is_empty(), "the test request was redirected");
        assert!(said(40, 40).is_empty(), "they count as errors");
    }

    #[test]
    fn idle_closes_and_the_reason_of_unprocessed_requests_are_told() {
        let kind = FailureKind::Error(ErrorKind::StreamRefused);
        let reason = "GOAWAY with ENHANCE_YOUR_CALM (11) and the words \"too_many_pings\"".to_owned();
        let trial = Trial {
            tally: Tally { unprocessed: 435, closed_by_server: 128, ..Tally::default() },
            first_failures: vec![run::FirstFailure { kind, at_s: 0.1, reason }],
            closes_idle_after_s: Some(0.0201),
            ..Trial::default()
        };
        assert_eq!(
            sentences(&trial),
            [
                "435 requests sent again, since the server closed their connection unanswered (GOAWAY with \
                 ENHANCE_YOUR_CALM (11) and the words \"too_many_pings\")",
                "the server closed 128 idle connections, the first of them after 20.1 ms without a request"
            ]
        );
        let kind = FailureKind::Error(ErrorKind::KeepAliveRace);
        let first_failures = vec![run::FirstFailure { kind, at_s: 0.1, reason: "with status 408".into() }];
        let tally = Tally { closed_by_server: 128, ..Tally::default() };
        let trial = Trial { tally, first_failures, ..trial };
        assert!(sentences(&trial)[0].starts_with("the server closed 128 idle connections with status 408, the first"));
    }

    #[test]
    fn each_kind_of_act_has_its_sentence() {
        let think = ThinkTime { mean_ms: 100.0, exponential: false };
        let mut trial = Trial {
            intensity: Intensity::Closed { connections: 4, pipeline: 1, think },
            closes_idle_after_s: Some(0.1),
            ..Trial::default()
        };
        assert!(sentences(&trial).is_empty());
        trial.tally = Tally {
            unprocessed: 3,
            keep_alive_races: 8,
            resent: 8,
            closes_left_to_client: 5,
            unasked_messages: 2,
            ..Tally::default()
        };
        let told = sentences(&trial);
        assert_eq!(told.len(), 4);
        assert_eq!(
            told[1],
            "the server closed 8 idle connections just as requests left: its keep-alive timeout (100 ms) is no longer than \
             the think time; 8 sent again"
        );
        trial.closes_idle_after_s = Some(0.0);
        assert!(sentences(&trial)[1].contains("right after an answer without announcing it"));
        let redirected = Tally { moved: 12, asked: 3, ..Tally::default() };
        let sentence = cluster_redirects(&redirected).unwrap();
        assert_eq!(sentence, "the cluster redirected commands: 12 MOVED, 3 ASK; each was sent again");
        trial.tally.resent = 0;
        assert!(sentences(&trial)[1].ends_with("idempotent"));
        trial.closes_idle_after_s = None;
        assert!(
            sentences(&trial)[1].contains("8 connections just as requests left: it closes connections that are in use")
        );
    }
}
