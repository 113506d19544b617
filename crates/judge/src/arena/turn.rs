//! Figures of one server's turn: its measurement at the common rate.

use run::{ArenaRefusal, ArenaRefusalKind, ArenaTurn, CounterId, IncidentKind, SummaryFigure, Trial};

use crate::context::single::{failed_share, good};
use crate::number::{percent, positive};
use crate::thresholds::KEEPS_UP;

/// Name of the cost by which servers are ranked: CPU time per request.
const CPU: &str = "process_cpu_us";

/// Returns the figures of a turn (one measurement of a server at the common rate). The caller fills in the server and
/// the load profile. `errors` is the share of failed requests that is allowed.
pub fn measured(trial: &Trial, rate: f64, errors: f64) -> ArenaTurn {
    let server = trial.server.as_ref();
    let counter =
        |id: &'static str| server.and_then(|s| s.counters.get(&CounterId(id.into()))?.value()).and_then(positive);
    let time = |figure| trial.latency_us.figure(figure).exact().and_then(positive);
    let cpu = server.and_then(|server| server.costs.get(CPU)).and_then(|cost| cost.per_request.value());
    let refused = refused(trial, errors).map(|(kind, text)| ArenaRefusal { kind, text });
    ArenaTurn {
        rate,
        cpu_us: cpu.and_then(positive),
        rss_bytes: counter("process.rss"),
        pss_bytes: counter("process.pss"),
        p50_us: time(SummaryFigure::P50),
        p99_us: time(SummaryFigure::P99),
        refused,
        ..ArenaTurn::default()
    }
}

fn refused(trial: &Trial, errors: f64) -> Option<(ArenaRefusalKind, String)> {
    if let Some(incident) = trial.broken() {
        let died = matches!(incident.kind, IncidentKind::ServerEnded | IncidentKind::ServerUnreachable);
        let kind = if died { ArenaRefusalKind::Failed } else { ArenaRefusalKind::Stall };
        return Some((kind, incident.text.clone()));
    }
    if let Some(silence) = trial.incidents.iter().find(|incident| incident.kind == IncidentKind::Silence) {
        return Some((ArenaRefusalKind::Stall, silence.text.clone()));
    }
    if let Some(share) = failed_share(trial).filter(|share| *share > errors) {
        return Some((
            ArenaRefusalKind::Errors,
            format!("{} of the requests failed at the common rate", percent(share)),
        ));
    }
    let part = |of: f64| of / trial.rates.offered_rate;
    match (part(trial.rates.sent_rate), part(good(trial))) {
        (sent, _) if sent < KEEPS_UP => {
            Some((ArenaRefusalKind::Generator, format!("the generator sent {} of the common rate", percent(sent))))
        }
        (_, kept) if kept < KEEPS_UP => {
            Some((ArenaRefusalKind::TooSlow, format!("it completed {} of the common rate", percent(kept))))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{Rates, Tally};

    fn trial(sent_rate: f64, completed_rate: f64, failed: u64) -> Trial {
        let rates = Rates { sent_rate, completed_rate, offered_rate: 1000.0, ..Rates::default() };
        let mut trial = Trial { rates, ..Trial::default() };
        let tally =
            Tally { attempted: 1000, sent: 1000, completed: 1000, unexpected_status: failed, ..Tally::default() };
        trial.measured.tally = tally;
        trial
    }

    #[test]
    fn a_turn_counts_only_if_the_common_rate_was_sent_and_completed() {
        let kind = |trial: &Trial| measured(trial, 1000.0, 0.001).refused.map(|refused| refused.kind);
        assert_eq!(kind(&trial(1000.0, 1000.0, 0)), None);
        assert_eq!(kind(&trial(1000.0, 900.0, 0)), Some(ArenaRefusalKind::TooSlow));
        assert_eq!(kind(&trial(900.0, 900.0, 0)), Some(ArenaRefusalKind::Generator));
        assert_eq!(kind(&trial(1000.0, 1000.0, 5)), Some(ArenaRefusalKind::Errors));
        assert_eq!(measured(&trial(1000.0, 1000.0, 0), 1000.0, 0.001).cpu_us, None, "no server was observed");
    }
}
