//! Outcomes of the TCP connects in a run in which no request completed.

use run::{Bottleneck, ErrorKind, IncidentKind, Run, Tally};

use crate::number::{counted, figure, total};

/// Counts of the connects that a run started, by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Connects {
    attempted: u64,
    established: u64,
    timed_out: u64,
    refused: u64,
    /// Connects that failed on the generator's host before any packet was sent.
    local: u64,
    failed: u64,
    /// Established connections on which the handshake (TLS, HTTP/2, WebSocket) failed.
    handshakes: u64,
}

impl Connects {
    fn of(run: &Run) -> Self {
        run.trials.iter().filter(|t| !t.kind.is_auxiliary()).fold(Self::default(), |sum, t| sum.plus(&t.tally))
    }

    fn plus(self, tally: &Tally) -> Self {
        let count = |kind| tally.errors.count(kind);
        Self {
            attempted: self.attempted + tally.attempted,
            established: self.established + tally.connected,
            timed_out: self.timed_out + count(ErrorKind::ConnectTimeout),
            refused: self.refused + count(ErrorKind::ConnectRefused),
            local: self.local + count(ErrorKind::ClientFds) + count(ErrorKind::ClientPorts),
            failed: self.failed + count(ErrorKind::ConnectFailed),
            handshakes: self.handshakes + count(ErrorKind::HandshakeFailed),
        }
    }

    /// Returns the number of connects that were still without an outcome when their load ended.
    fn waiting(self) -> u64 {
        let ended = self.established + self.timed_out + self.refused + self.local + self.failed;
        self.attempted.saturating_sub(ended)
    }
}

/// Returns a sentence about a run in which no request completed. The sentence gives the number of connects with each
/// outcome.
pub(crate) fn nothing_completed(run: &Run) -> Option<String> {
    let connects = Connects::of(run);
    let kinds = [
        (connects.waiting(), "still had no answer when their load ended"),
        (connects.timed_out, "timed out"),
        (connects.refused, "were refused"),
        (connects.failed, "failed"),
        (connects.handshakes, "were established, but the handshake on them failed"),
        (connects.local, "failed for lack of local ports or descriptors"),
    ];
    let each: Vec<String> =
        kinds.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", figure(*n as f64))).collect();
    let each = if each.is_empty() { String::new() } else { format!(": {}", each.join(", ")) };
    let attempted = counted(connects.attempted as f64, "connect");
    let answered = total(run.trials.iter().filter(|t| !t.kind.is_auxiliary()).map(|t| t.tally.completed));
    let none = match answered {
        0 => "no request completed".into(),
        _ => {
            format!("no request completed in the measured window ({} did before or after it)", figure(answered as f64))
        }
    };
    match connects {
        Connects { attempted: 0, .. } => None,
        Connects { established: 0, .. } => Some(format!("{none}: none of {attempted} was established{each}")),
        _ => Some(format!(
            "{none}, though {} of {attempted} were established{each}{}",
            figure(connects.established as f64),
            open_at_the_end(run)
        )),
    }
}

/// Returns the tallies of the run's loads.
fn tallies(run: &Run) -> impl Iterator<Item = &Tally> {
    run.trials.iter().filter(|t| !t.kind.is_auxiliary()).map(|t| &t.tally)
}

/// Returns text about the requests that were open when their load ended; an empty text without such requests.
fn open_at_the_end(run: &Run) -> String {
    match total(tallies(run).map(|tally| tally.unanswered)) {
        0 => String::new(),
        n => format!("; the load ended before the answers to {} came", counted(n as f64, "request")),
    }
}

/// Advice for a run that ended because the server's process ended.
const READ_THE_LOG: &str = "Read the server's log: it tells why the server ended.";

fn server_ended(run: &Run) -> bool {
    run.ended_by().is_some_and(|(_, incident)| incident.kind == IncidentKind::ServerEnded)
}

/// If the server's process ended, puts the advice to read the server's log first. If the verdict names no cause,
/// removes all other advice, because it would remedy failures that the server's end caused.
pub(crate) fn advise_after_the_end(run: &Run, verdict: &mut Bottleneck) {
    if !server_ended(run) {
        return;
    }
    verdict.advice.retain(|advice| verdict.id != "unknown" && advice != READ_THE_LOG);
    verdict.advice.insert(0, READ_THE_LOG.into());
}

/// Returns the next steps for a run in which no request completed.
pub(crate) fn advice(run: &Run) -> Vec<String> {
    let connects = Connects::of(run);
    match connects.established {
        _ if connects.attempted == 0 => Vec::new(),
        _ if server_ended(run) => vec![READ_THE_LOG.into()],
        0 => vec![
            "Look for a limit on new connections between here and the server (a firewall, a limit of SYN packets, a full \
             accept queue)."
                .into(),
            "Give connects time for a second SYN: `loadline load URL --connections 1 --warmup 10s --duration 10s`.".into(),
        ],
        _ if answers_are_wrong(run) => {
            vec!["Correct the server's answers: they came, but were wrong. The reason of the first one is at Errors.".into()]
        }
        _ if tallies(run).any(|tally| tally.errors.count(ErrorKind::ResponseTimeout) > 0) => {
            vec![format!("Send one request by hand, and give responses more time: --timeout, {}.", length_flag(run))]
        }
        // No request reached the timeout, so a longer timeout would change nothing.
        _ => {
            vec![format!(
                "Send one request by hand, and let each load last longer than a response takes: {}.",
                length_flag(run)
            )]
        }
    }
}

/// Returns the flag that makes the loads of the run's command longer. Commands that measure several loads divide one
/// budget among the loads.
fn length_flag(run: &Run) -> &'static str {
    match run.plan.command.as_str() {
        "find" | "prove" | "compare" => "--budget",
        _ => "--duration",
    }
}

/// Returns true if most failures of the run are answers that violated the protocol or had a wrong body.
fn answers_are_wrong(run: &Run) -> bool {
    let of = |tally: &Tally, kind| tally.errors.count(kind) as f64;
    let wrong = |tally| of(tally, ErrorKind::WrongBody) + of(tally, ErrorKind::Malformed);
    let all: f64 = tallies(run).map(|tally| tally.error_count() as f64).sum();
    2.0 * tallies(run).map(wrong).sum::<f64>() > all
}

#[cfg(test)]
mod tests {
    use run::{ErrorKind, IncidentKind, Run};

    use crate::planted::PlantedRun;

    fn nothing(change: impl Fn(&mut run::Tally)) -> Run {
        let mut run = PlantedRun::new(1000.0, 4000.0).rates(&[]).run();
        run.trials.truncate(1);
        let trial = &mut run.trials[0];
        (trial.rates.completed_rate, trial.latency_us) = (0.0, run::Summary::default());
        trial.measured.tally = run::Tally::default();
        trial.tally = run::Tally { attempted: 24, ..run::Tally::default() };
        change(&mut trial.tally);
        crate::judge(&mut run);
        run
    }

    #[test]
    fn a_server_that_answers_no_connect_is_told_with_the_number_of_connects() {
        let run = nothing(|tally| {
            tally.errors.0.insert(ErrorKind::ConnectTimeout, 4);
        });
        let found = &run.findings.bottleneck;
        let expected = "none of 24 connects was established: 20 still had no answer when their load ended, 4 timed out";
        assert!(found.id == "unknown" && found.sentence.contains(expected), "{found:#?}");
        assert!(found.advice.iter().any(|advice| advice.contains("--warmup")), "{found:#?}");
    }

    #[test]
    fn answers_outside_of_the_measured_window_are_counted() {
        let run = nothing(|tally| (tally.connected, tally.completed) = (24, 219));
        let sentence = &run.findings.bottleneck.sentence;
        assert!(
            sentence.starts_with("no request completed in the measured window (219 did before or after it)"),
            "{sentence}"
        );
    }

    #[test]
    fn answers_with_wrong_bodies_need_no_more_time() {
        let run = nothing(|tally| {
            tally.connected = 24;
            tally.errors.0.insert(ErrorKind::WrongBody, 9389);
        });
        let advice = run.findings.bottleneck.advice.join(" ");
        assert!(advice.contains("Correct the server's answers") && !advice.contains("--timeout"), "{advice}");
    }

    #[test]
    fn a_server_that_ended_needs_no_more_time() {
        let mut run = nothing(|tally| tally.connected = 24);
        let text = "the server ended at 0.0 s".to_owned();
        run.trials[0].incidents.push(run::Incident {
            kind: IncidentKind::ServerEnded,
            begin_s: 0.0,
            end_s: None,
            text,
        });
        assert_eq!(super::advice(&run), [super::READ_THE_LOG]);
    }

    /// An earlier version of loadline advised to raise a limit on connections, because connects were refused after the
    /// server's end.
    #[test]
    fn after_the_end_of_the_server_the_advice_is_about_the_end() {
        let mut run = PlantedRun::new(1000.0, 4000.0).rates(&[]).run();
        let last = run.trials.last_mut().unwrap();
        last.tally.errors.0.insert(ErrorKind::ConnectRefused, 300);
        let text = "the server ended at 0.5 s".to_owned();
        let ended = run::Incident { kind: IncidentKind::ServerEnded, begin_s: 0.5, end_s: None, text };
        last.incidents.push(ended);
        crate::judge(&mut run);
        let found = &run.findings.bottleneck;
        assert_eq!(found.advice.first().map(String::as_str), Some(super::READ_THE_LOG), "{found:#?}");
    }

    #[test]
    fn connections_without_an_answer_are_told_as_such() {
        let mut run = nothing(|tally| tally.connected = 24);
        run.plan.command = "load".into();
        crate::judge(&mut run);
        let found = &run.findings.bottleneck;
        assert!(found.sentence.contains("though 24 of 24 connects were established"), "{found:#?}");
        let advice = found.advice.join(" ");
        assert!(advice.contains("--duration") && !advice.contains("--timeout"), "{advice}");
    }

    /// An earlier version of loadline advised `--duration`, which `find` refuses.
    #[test]
    fn a_search_is_given_more_time_by_its_budget() {
        let mut run = nothing(|tally| tally.connected = 24);
        let timed_out = |run: &mut Run| run.trials[0].tally.errors.0.insert(ErrorKind::ResponseTimeout, 1);
        run.plan.command = "find".into();
        for has_timeouts in [false, true] {
            if has_timeouts {
                timed_out(&mut run);
            }
            let advice = super::advice(&run).join(" ");
            assert!(advice.contains("--budget") && !advice.contains("--duration"), "{advice}");
        }
    }

    #[test]
    fn requests_open_at_the_end_need_a_longer_load_and_only_timeouts_a_longer_timeout() {
        let open = nothing(|tally| (tally.connected, tally.unanswered) = (24, 10));
        let sentence = &open.findings.bottleneck.sentence;
        assert!(sentence.contains("the load ended before the answers to 10 requests came"), "{sentence}");
        let timed_out = nothing(|tally| {
            tally.connected = 24;
            tally.errors.0.insert(ErrorKind::ResponseTimeout, 24);
        });
        let [open, timed_out] = [open, timed_out].map(|run| run.findings.bottleneck.advice.join(" "));
        assert!(!open.contains("--timeout") && timed_out.contains("--timeout"), "{open} {timed_out}");
    }
}
