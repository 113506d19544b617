//! Lines about the rates of a single load, its requests in flight, and requests that waited for a stream.

use run::{Intensity, Outcome, Run, SummaryFigure, Trial};

use crate::pages::{rate, times::percentiles};
use crate::{AnswerLine, Unit};
use run::number::{number, prose::counted, quantity};

pub(super) fn completed(run: &Run, trial: &Trial, outcome: Outcome) -> AnswerLine {
    let rates = &trial.rates;
    let completed = trial.measured.tally.completed;
    if run.interrupted && completed > 0 && trial.is_cut_off() {
        let window = quantity(trial.measured.length_s * 1e6, Unit::Micros);
        let why = format!("in {window}, too short a window for a rate");
        return AnswerLine::new("Completed", counted(completed as f64, "request"), why);
    }
    let good = outcome.good_rate.filter(|_| trial.measured.tally.unexpected_status > 0);
    let good = good.map_or_else(String::new, |good| format!("; good answers: {}/s", number(good)));
    let in_flight = match waiting_for_streams(trial) {
        Some((in_flight, waiting)) => {
            format!("{} in flight and {} more waiting for a stream{good}", number(in_flight), number(waiting))
        }
        None => format!("{} in flight{good}", number(rates.concurrency)),
    };
    let closed = matches!(trial.intensity, Intensity::Closed { .. });
    let detail = match closed {
        true => format!("with {in_flight}"),
        false => format!(
            "of {} offered, {} sent; {in_flight}",
            quantity(rates.offered_rate, Unit::PerSecond),
            quantity(rates.sent_rate, Unit::PerSecond)
        ),
    };
    AnswerLine::new("Completed", format!("{} {}", number(rates.completed_rate), rate::unit(run)), detail)
}

/// Returns the summary line with the share of the offered rate that was sent, and with the delays until requests were
/// sent. Returns `None` for a load without a rate. The line is optional, because the line with the completed rate also
/// has the sent rate.
pub(super) fn sent(trial: &Trial) -> Option<AnswerLine> {
    use SummaryFigure::{Max, P50, P99};
    let share = quantity(trial.rate_ratio?, Unit::Share);
    let lag = Some(&trial.schedule_lag_us).filter(|lag| lag.count > 0);
    let lag = lag.map_or(String::new(), |lag| format!("; schedule lag: {}", percentiles(lag, &[P50, P99, Max])));
    Some(AnswerLine::new("Sent", share, format!("of the offered rate{lag}")).optional())
}

/// Returns two mean numbers of requests: those in flight at the server, and those that waited in the generator for a
/// free stream (HTTP/2, HTTP/3). Returns `None` for an open loop, or if no request had to wait because of the server's
/// limit on streams.
pub(super) fn waiting_for_streams(trial: &Trial) -> Option<(f64, f64)> {
    let Intensity::Closed { connections, pipeline, .. } = trial.intensity else { return None };
    let limit = trial.stream_limit.filter(|limit| *limit < pipeline)?;
    let (concurrency, most) = (trial.rates.concurrency, f64::from(connections) * f64::from(limit));
    (concurrency > most).then_some((most, concurrency - most))
}

/// Returns the summary line about a server that allows fewer streams on a connection than the load needs.
pub(super) fn stream_limit(trial: &Trial) -> Option<AnswerLine> {
    let asked = trial.intensity.pipeline();
    let limit = trial.stream_limit.filter(|limit| *limit < asked)?;
    let told = format!(
        "the server allows {} at once on a connection, fewer than --streams {asked}: further ones wait in the generator; \
         service times begin when a request leaves",
        counted(f64::from(limit), "request")
    );
    Some(AnswerLine::new("Note", "", told))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_with_a_rate_names_the_share_that_was_sent_and_the_lag() {
        assert_eq!(sent(&Trial::default()), None);
        let schedule_lag_us = run::Summary { count: 9, p50: 12.0, p99: 85.0, max: 1200.0, ..run::Summary::default() };
        let trial = Trial { rate_ratio: Some(0.987), schedule_lag_us, ..Trial::default() };
        let line = sent(&trial).unwrap();
        assert_eq!((line.name.as_str(), line.value.as_str()), ("Sent", "98.7 %"));
        assert!(line.detail.starts_with("of the offered rate; schedule lag: p50 12"), "{line:?}");
        assert!(line.detail.contains("max 1.2"), "{line:?}");
    }

    #[test]
    fn a_window_without_rates_has_a_count_and_a_length() {
        let mut trial = Trial::default();
        (trial.measured.tally.completed, trial.measured.length_s) = (2, 0.0038);
        let line = completed(&Run { interrupted: true, ..Run::default() }, &trial, Outcome::default());
        assert_eq!((&*line.value, &*line.detail), ("2 requests", "in 3.8 ms, too short a window for a rate"));
    }

    #[test]
    fn a_limit_of_streams_is_told_with_the_requests_that_wait_for_one() {
        let intensity = Intensity::Closed { connections: 2, pipeline: 16, think: run::ThinkTime::default() };
        let mut trial = Trial { intensity, stream_limit: Some(3), ..Trial::default() };
        trial.rates.concurrency = 32.0;
        let line = completed(&Run::default(), &trial, Outcome::default());
        assert_eq!(line.detail, "with 6 in flight and 26 more waiting for a stream");
        let limit = stream_limit(&trial).unwrap().detail;
        assert!(limit.contains("3 requests at once on a connection") && limit.contains("16"), "{limit}");
        trial.stream_limit = Some(100);
        assert_eq!(completed(&Run::default(), &trial, Outcome::default()).detail, "with 32 in flight");
        assert_eq!(stream_limit(&trial), None);
    }
}
