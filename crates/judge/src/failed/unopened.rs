//! Checks that the clients of a closed loop could send requests: that all connections were open when the measured window
//! began, and that no client only waited to connect again.

use run::{Intensity, Trial};

use crate::number::{counted, figure};
use crate::thresholds::ALL_OPEN;

/// Returns a sentence if the measured window began before nearly all connections were open. The generator's last report
/// before the window may be 0.1 s old, so connections that opened after this report count as open. Connections that the
/// server closed again count as open, too.
pub(crate) fn unopened(trial: &Trial) -> Option<String> {
    let Intensity::Closed { connections, .. } = trial.intensity else { return None };
    let (asked, open) = (u64::from(connections), trial.measured.open_at_begin?);
    let before = trial.tally.connected.saturating_sub(trial.measured.tally.connected);
    let late = asked.saturating_sub(open.max(before));
    (late as f64 > (1.0 - ALL_OPEN) * asked as f64).then(|| {
        format!(
            "only {} of {} were open when measuring began, and {} at most in the end: the figures are those of fewer \
             connections; give a longer --warmup",
            figure((asked - late) as f64),
            counted(asked as f64, "connection"),
            figure(trial.tally.connected.min(asked) as f64)
        )
    })
}

/// Returns a sentence if at least one client on average had no request in flight because its connects kept failing. At
/// least half of the new connections must have failed. If fewer failed, the clients may have had no request in flight
/// because they were connecting, as with a server that closes each connection after its answer.
pub(crate) fn without_request(trial: &Trial) -> Option<String> {
    let Intensity::Closed { connections, pipeline: 1, think } = &trial.intensity else { return None };
    let tally = &trial.measured.tally;
    let (failed, waiting) = (tally.error_count(), f64::from(*connections) - trial.rates.concurrency);
    let keeps_failing = failed > 0 && tally.connected <= failed.saturating_mul(2);
    (think.mean_ms <= 0.0 && keeps_failing && waiting >= 1.0).then(|| {
        format!(
            "on average, {} of {} had no request in flight: they waited to connect again after {}, so the figures are those \
             of the other clients",
            figure(waiting),
            counted(f64::from(*connections), "client"),
            counted(failed as f64, "failure")
        )
    })
}

#[cfg(test)]
mod tests {
    use run::{Tally, ThinkTime};

    use super::*;

    #[test]
    fn a_window_that_began_before_its_connections_were_open_says_so() {
        let said = |open_at_begin, in_window, in_all| {
            let intensity = Intensity::Closed { connections: 15_000, pipeline: 1, think: ThinkTime::default() };
            let mut trial = Trial { intensity, ..Trial::default() };
            trial.measured.open_at_begin = open_at_begin;
            trial.measured.tally = Tally { connected: in_window, ..Tally::default() };
            trial.tally = Tally { connected: in_all, ..Tally::default() };
            unopened(&trial)
        };
        let late = said(Some(9000), 4000, 13_000).unwrap();
        assert!(late.starts_with("only 9,000 of 15,000 connections were open") && late.contains("13,000 at"), "{late}");
        assert_eq!(said(None, 15_000, 15_000), None);
        assert_eq!(said(Some(14_950), 50, 15_000), None, "a server that closes some now and then");
        assert_eq!(said(Some(9000), 0, 15_000), None, "all had opened since the last report");
        assert_eq!(said(Some(9000), 40_000, 80_000), None, "the server closes idle connections");
    }

    /// A server with three places drops each further connection at once.
    #[test]
    fn clients_that_only_connect_again_are_counted() {
        let said = |mean_ms, concurrency, connected, resets| {
            let think = ThinkTime { mean_ms, exponential: false };
            let intensity = Intensity::Closed { connections: 8, pipeline: 1, think };
            let mut trial = Trial { intensity, ..Trial::default() };
            trial.rates.concurrency = concurrency;
            trial.measured.tally = Tally { connected, ..Tally::default() };
            trial.measured.tally.errors.0.insert(run::ErrorKind::Reset, resets);
            without_request(&trial)
        };
        let told = said(0.0, 3.0, 60, 60).unwrap();
        assert!(told.starts_with("on average, 5 of 8 clients had no request in flight"), "{told}");
        assert_eq!(said(0.0, 3.0, 4000, 60), None, "the server closes each connection after its answer");
        assert_eq!(said(0.0, 7.9, 60, 60), None);
        assert_eq!(said(0.0, 3.0, 0, 0), None);
        assert_eq!(said(50.0, 3.0, 60, 60), None, "clients with a think time");
    }
}
