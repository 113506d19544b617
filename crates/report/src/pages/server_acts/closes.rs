//! Sentences about a server that closes connections on its own: idle ones, all at once, or without an announcement.

use run::number::{count, number, prose::counted, prose::percent, quantity};
use run::{EndsTogether, ErrorKind, Intensity, Protocol, SilentCloses, Tally, Trial};

use crate::Unit;

/// Describes a server that closed idle connections. The shortest idle time of a closed connection shows whether the
/// server closes connections right after an answer or after a timeout. Returns `None` if the server closed any
/// connection just as a request was sent, because another sentence describes such a server.
pub(super) fn idle_closes(trial: &Trial) -> Option<String> {
    let closed = Some(trial.tally.closed_by_server).filter(|n| *n > 0 && trial.tally.keep_alive_races == 0)?;
    let idle_s = trial.closes_idle_after_s.filter(|_| trial.ended_together.is_none())?;
    let moment = match idle_s > 0.0 {
        true => format!("after {} without a request", quantity(idle_s * 1e6, Unit::Micros)),
        false => "right after an answer".into(),
    };
    let closed = counted(closed as f64, "idle connection");
    Some(format!("the server closed {closed}{}, the first of them {moment}", said(trial)))
}

/// Returns the message with which the server closed the first idle connection, after a space; empty if the server sent
/// no message.
fn said(trial: &Trial) -> String {
    trial.first_reason(ErrorKind::KeepAliveRace).map_or_else(String::new, |words| format!(" {words}"))
}

/// Returns the number of refused connects.
pub(super) fn refused(tally: &Tally) -> u64 {
    tally.errors.count(ErrorKind::ConnectRefused)
}

/// Describes a server that ended most of its connections at the same moment.
pub(super) fn together(ends: &EndsTogether, refused: u64) -> String {
    let why = match refused {
        0 => "it, or a proxy before it, restarted".to_owned(),
        n => format!("it went away and refused {}", counted(n as f64, "connect")),
    };
    format!(
        "the server ended {} of {} at the same moment, {} after the load began: {why}",
        count(ends.connections),
        counted(ends.open as f64, "connection"),
        quantity(ends.at_s * 1e6, Unit::Micros)
    )
}

/// Describes a server that closes connections without an announcement. Returns `None` if another sentence of the report
/// already describes how the server closes connections.
pub(super) fn unannounced(protocol: &Protocol, trial: &Trial) -> Option<String> {
    Some(match trial.silent_closes()? {
        // The arms of this `match` return `None` if another sentence already mentions that the server closed
        // connections.
        SilentCloses::AtRandom(_) if trial.tally.resent > 0 => return None,
        SilentCloses::AfterAnswers(_) if trial.first_reason(ErrorKind::ShortResponse).is_some() => return None,
        SilentCloses::AfterAnswers(_) if trial.tally.keep_alive_races > 0 => return None,
        SilentCloses::AtRandom(share) => format!(
            "the server closes connections instead of an answer, after no fixed number of answers: about {} of all \
             requests get none",
            percent(share)
        ),
        SilentCloses::AfterAnswers(answers) => {
            format!(
                "the server closes each connection after {} without announcing it, and the next request on it fails: {}",
                some(answers),
                advice(protocol)
            )
        }
    })
}

/// Returns advice about a server that closes connections without an announcement. Only a server of HTTP/1 can announce
/// a close.
fn advice(protocol: &Protocol) -> &'static str {
    match protocol {
        Protocol::Http1(_) => "send `Connection: close` from the server, or measure with --new-connections",
        _ => "measure with --new-connections",
    }
}

/// Returns the text `each answer` for one answer, and otherwise a text such as `about 9 answers`.
fn some(answers: f64) -> String {
    if answers < 1.5 { "each answer".into() } else { format!("about {} answers", number(answers.round())) }
}

pub(super) fn races(protocol: &Protocol, trial: &Trial) -> String {
    let tally = &trial.tally;
    let again = match tally.resent {
        0 => "no request was sent again, as none is known to be idempotent".into(),
        n => format!("{} sent again", count(n)),
    };
    let why = match refused(tally) {
        _ if trial.ended_together.is_some() => "most of them at that moment".into(),
        0 => without_announcement(protocol, trial),
        n => format!("it also refused {}, so it went away", counted(n as f64, "connect")),
    };
    let is_timeout = trial.closes_idle_after_s.is_some() && closes_after_answers(trial).is_none();
    let noun = if is_timeout { "idle connection" } else { "connection" };
    format!(
        "the server closed {}{} just as requests left: {why}; {again}",
        counted(tally.keep_alive_races as f64, noun),
        said(trial)
    )
}

fn thinks(trial: &Trial) -> bool {
    matches!(&trial.intensity, Intensity::Closed { think, .. } if think.mean_ms > 0.0)
}

/// Returns the number of answers after which the server closes each connection. If the clients pause between requests,
/// returns `None`, because the server then closes connections after an idle time, not after a number of answers.
fn closes_after_answers(trial: &Trial) -> Option<f64> {
    match trial.silent_closes()? {
        SilentCloses::AfterAnswers(answers) if !thinks(trial) => Some(answers),
        _ => None,
    }
}

/// Explains why the server closes connections at moments when a request may be on its way.
fn without_announcement(protocol: &Protocol, trial: &Trial) -> String {
    let pause = if thinks(trial) { "the think time" } else { "the time between two requests of a connection" };
    match (closes_after_answers(trial), trial.closes_idle_after_s) {
        (Some(answers), _) => {
            format!("it closes each connection after {} without announcing it ({})", some(answers), advice(protocol))
        }
        (_, None) => "it closes connections that are in use without announcing it".into(),
        (_, Some(s)) if s <= 0.0 => {
            format!("it closes connections right after an answer without announcing it ({})", advice(protocol))
        }
        (_, Some(s)) => {
            format!("its keep-alive timeout ({}) is no longer than {pause}", quantity(s * 1e6, Unit::Micros))
        }
    }
}

#[cfg(test)]
mod tests {
    use run::{Errors, FailureKind, LoadPlan};

    use super::*;

    /// Returns the sentences about a load over HTTP/1.
    fn sentences(trial: &Trial) -> Vec<String> {
        super::super::sentences(&LoadPlan::default().protocol, trial)
    }

    /// An echo server has no message that announces a close.
    #[test]
    fn other_protocols_get_no_advice_about_http() {
        let tally = Tally { connected: 727, completed: 7234, keep_alive_races: 723, resent: 723, ..Tally::default() };
        let echo = Protocol::Echo { message_bytes: 1 };
        let said = super::super::sentences(&echo, &Trial { tally, ..Trial::default() });
        assert!(said[0].contains("without announcing it (measure with --new-connections)"), "{said:?}");
    }

    /// A WebSocket server that closes with a code and a reason announces its close.
    #[test]
    fn a_close_with_a_reason_is_announced() {
        let first = |reason: &str| run::FirstFailure {
            kind: FailureKind::Error(ErrorKind::ShortResponse),
            at_s: 0.1,
            reason: reason.into(),
        };
        let closes = |reason| {
            let errors = Errors([(ErrorKind::ShortResponse, 723)].into());
            let tally = Tally { connected: 727, completed: 3615, errors, ..Tally::default() };
            sentences(&Trial { tally, first_failures: vec![first(reason)], ..Trial::default() })
        };
        assert!(closes("")[0].contains("without announcing it"), "{:?}", closes(""));
        assert!(closes("the server closed the connection with code 1011").is_empty());
    }

    /// Clients that pause after each answer are idle when the server closes their connections after ten answers.
    #[test]
    fn a_close_right_after_an_answer_is_told_without_a_time() {
        let tally = Tally { completed: 129, connected: 17, closed_by_server: 12, ..Tally::default() };
        let said = sentences(&Trial { tally, closes_idle_after_s: Some(0.0), ..Trial::default() });
        assert_eq!(said, ["the server closed 12 idle connections, the first of them right after an answer"]);
    }

    /// In this test, the server closes each connection after one or seven answers, without sending `Connection: close`.
    #[test]
    fn silent_closes_after_some_answers_are_named() {
        let said = |connected, completed, lost, refused| {
            let errors = [(ErrorKind::Reset, lost), (ErrorKind::ConnectRefused, refused)];
            let errors = Errors(errors.into_iter().filter(|(_, n)| *n > 0).collect());
            sentences(&Trial { tally: Tally { connected, completed, errors, ..Tally::default() }, ..Trial::default() })
        };
        let one = said(3501, 3501, 3496, 0);
        assert!(one[0].contains("after each answer") && one[0].contains("--new-connections"), "{one:?}");
        assert!(said(4534, 31_732, 4533, 0)[0].contains("after about 7 answers"));
        let tally = Tally { connected: 727, completed: 7234, keep_alive_races: 723, resent: 723, ..Tally::default() };
        assert_eq!(
            sentences(&Trial { tally, closes_idle_after_s: Some(5e-5), ..Trial::default() }),
            [
                "the server closed 723 connections just as requests left: it closes each connection after about 10 answers \
              without announcing it (send `Connection: close` from the server, or measure with --new-connections); 723 sent \
              again"
            ]
        );
        assert!(said(4534, 31_732, 400, 0).is_empty(), "a tenth of the connections were reset");
        assert!(said(400, 30_000, 390, 12).is_empty(), "a server that went away");
        let errors = Errors([(ErrorKind::CutResponse, 1857)].into());
        let cut = Tally { connected: 1862, completed: 16_737, errors, ..Tally::default() };
        assert!(sentences(&Trial { tally: cut, ..Trial::default() }).is_empty(), "answers cut off in the middle");
        let mut restarted = Trial::default();
        (restarted.tally.connected, restarted.tally.completed, restarted.rates.concurrency) = (64, 9000, 64.0);
        restarted.tally.errors.0.insert(ErrorKind::Reset, 64);
        assert!(sentences(&restarted).is_empty(), "each client lost one connection");
    }

    /// In this test, the server drops a tenth of the requests at random. A connection of this test gets 9 answers on
    /// average, and at most 60 answers.
    #[test]
    fn a_server_that_drops_requests_at_random_has_no_number_of_answers() {
        let dropping = |answers: &[u64]| {
            let lost = answers.len() as u64;
            let errors = Errors([(ErrorKind::ShortResponse, lost)].into());
            let completed = answers.iter().sum();
            let tally = Tally { connected: lost, completed, errors, ..Tally::default() };
            let squared = answers.iter().map(|n| n * n).sum();
            let (lost_connections, answers_before_loss, answers_before_loss_squared) = (lost, completed, squared);
            let tally = Tally { lost_connections, answers_before_loss, answers_before_loss_squared, ..tally };
            sentences(&Trial { tally, ..Trial::default() })
        };
        let random: Vec<u64> = (0..40).map(|i| (-f64::ln(1.0 - (f64::from(i) + 0.5) / 40.0) * 9.0) as u64).collect();
        let said = dropping(&random);
        assert!(said[0].contains("no fixed number of answers: about 10"), "{said:?}");
        let equal = dropping(&[9; 40]);
        assert!(equal[0].contains("after about 9 answers"), "{equal:?}");
    }

    #[test]
    fn a_server_that_went_away_has_no_timeout() {
        let errors = Errors([(ErrorKind::ConnectRefused, 50)].into());
        let tally = Tally { keep_alive_races: 8, errors, ..Tally::default() };
        let said = sentences(&Trial { tally, closes_idle_after_s: Some(0.563), ..Trial::default() });
        assert!(said[0].contains("refused 50 connects, so it went away") && !said[0].contains("563 ms"), "{said:?}");
    }

    /// In this test, a server behind a load balancer restarted. During the restart, the load balancer accepted
    /// connections, so no connect was refused.
    #[test]
    fn a_restart_without_refused_connects_is_no_timeout() {
        let ended_together = Some(EndsTogether {
            at_s: 4.2,
            connections: 60,
            open: 64,
            all: 60,
            longest_idle_s: 0.09,
            ..EndsTogether::default()
        });
        let tally = Tally { keep_alive_races: 8, resent: 8, ..Tally::default() };
        let said = sentences(&Trial { tally, ended_together, closes_idle_after_s: Some(0.05), ..Trial::default() });
        assert_eq!(
            said,
            [
                "the server ended 60 of 64 connections at the same moment, 4.2 s after the load began: it, or a proxy \
                 before it, restarted",
                "the server closed 8 idle connections just as requests left: most of them at that moment; 8 sent again"
            ]
        );
    }
}
