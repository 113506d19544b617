//! Connections that the server accepted and then refused in its own words, because it held as many connections as it
//! may. PostgreSQL refuses a connection with "too many clients already", for example.

use run::{ErrorKind, Evidence, FigureUnit, Trial};

use crate::Facts;
use crate::context::evidence::measured;
use crate::context::single::server_of;
use crate::context::view::View;
use crate::number::{counted, ratio};
use crate::thresholds::CONNECTS_DROPPED;

/// Connections of one trial that the server accepted and refused, beside the connections that it served.
pub(crate) struct RefusedHandshakes<'a> {
    view: View<'a>,
    /// Number of connections on which the handshake succeeded, so that the server served them.
    pub(crate) served: f64,
    /// Number of connections that the server accepted and then refused.
    pub(crate) refused: f64,
    /// Reason that the server gave for the first refusal.
    pub(crate) reason: &'a str,
}

/// Returns the refused connections in the trial with the most clients near the highest rate.
pub(crate) fn refused_handshakes<'a>(facts: &Facts<'a>) -> Option<RefusedHandshakes<'a>> {
    RefusedHandshakes::of(facts.crowded_server()?.trial)
}

impl<'a> RefusedHandshakes<'a> {
    /// Returns the connections that the server refused in its own words while it served others. Returns `None` unless
    /// no handshake in the window succeeded, the server sent bytes in the failed handshakes, and their reason is known.
    /// A connection in a full accept queue gets no byte from the server.
    pub(crate) fn of(trial: &'a Trial) -> Option<Self> {
        let (view, window) = (server_of(trial)?, &trial.measured.tally);
        let refused = trial.tally.errors.count(ErrorKind::HandshakeFailed);
        let reason = trial.first_reason(ErrorKind::HandshakeFailed)?;
        let in_words = window.handshakes == 0 && window.handshake_bytes_received > 0;
        let goes_on = window.errors.count(ErrorKind::HandshakeFailed) > 0;
        let is_share = ratio(refused as f64, trial.tally.attempted as f64)? >= CONNECTS_DROPPED;
        let served = trial.tally.handshakes;
        (in_words && goes_on && is_share && served > 0 && window.completed > 0).then_some(Self {
            view,
            served: served as f64,
            refused: refused as f64,
            reason,
        })
    }

    /// Returns the sentence about the served and the refused connections, with the server's reason.
    pub(crate) fn text(&self) -> String {
        let refused = counted(self.refused, "other connection");
        format!(
            "the server holds no more than {}; it accepted {refused} and refused them: {}",
            self.held(),
            self.reason
        )
    }

    /// Returns the number of the served connections, with their noun.
    pub(crate) fn held(&self) -> String {
        counted(self.served, "connection")
    }

    /// Returns the refused connections as a line of evidence.
    pub(crate) fn line(&self) -> Evidence {
        measured(&self.view, ("errors", "handshake_failed"), (self.refused, FigureUnit::Plain), Some(0.0), self.text())
    }
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Point, Who};
    use run::{ErrorKind, FailureKind, FirstFailure, Trial};

    const REASON: &str = "it refuses the connection with FATAL 53300: sorry, too many clients already";

    /// Makes a run of a database that serves 20 connections with 5 ms for each statement. The clients that it refuses
    /// connect again at once, so they fill its accept queue, too. The server writes `bytes` to each refused client.
    fn serves_20_connections(bytes: u64) -> PlantedRun {
        let refuses = move |t: &mut Trial, p: &Point| {
            t.tally.handshakes = p.n.min(20.0) as u64;
            if p.n <= 20.0 {
                return;
            }
            let refused = 370;
            (t.tally.attempted, t.tally.connected) = (490, 451);
            for tally in [&mut t.tally, &mut t.measured.tally] {
                tally.errors.0.insert(ErrorKind::HandshakeFailed, refused);
                tally.handshake_bytes_received = bytes * refused;
            }
            t.rates.concurrency = 20.0;
            (t.latency_us.mean, t.latency_us.p50, t.latency_us.p99) = (5300.0, 5200.0, 6000.0);
            let kind = FailureKind::Error(ErrorKind::HandshakeFailed);
            t.first_failures = vec![FirstFailure { kind, at_s: 0.1, reason: REASON.into() }];
        };
        let drops = |p: &Point| if p.n > 20.0 { 20.0 } else { 0.0 };
        PlantedRun::new(5000.0, 4000.0)
            .steps(&[1, 2, 16, 128])
            .rates(&[])
            .per_s(Who::Server, "tcp.listen_overflows", "", drops)
            .per_s(Who::Server, "listen.drops", "0.0.0.0:5432", drops)
            .change(refuses)
    }

    /// An earlier version of loadline named the accept queue, and advised a longer backlog.
    #[test]
    fn a_server_that_refuses_connections_in_its_own_words_does_not_accept_slowly() {
        let b = serves_20_connections(86).verdict();
        assert_eq!(b.id, "server-concurrency", "{b:#?}");
        assert!(b.sentence.contains("no more than 20 connections") && b.sentence.contains(REASON), "{}", b.sentence);
        assert!(b.advice[0].contains("(now 20)"), "{:?}", b.advice);
        let ruled_out = b.ruled_out.iter().find(|r| r.id == "accept-queue").unwrap();
        assert!(ruled_out.why.contains("too many clients"), "{ruled_out:?}");
    }

    /// Handshakes that fail without a byte from the server show nothing about the server's limit.
    #[test]
    fn handshakes_that_end_without_a_word_leave_the_accept_queue_possible() {
        let b = serves_20_connections(0).verdict();
        assert_eq!(b.id, "accept-queue", "{b:#?}");
    }
}
