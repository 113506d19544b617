//! Basic figures of a single trial: its clients, good answers and failed share.

use run::{ErrorKind, Hist, Intensity, Run, Summary, Tally, Trial};

use crate::context::view::View;
use crate::number::{finite, positive, ratio};
use crate::thresholds::{ALL_ANSWERED, MOST_FAIL, POOL_SLOWED};

/// Returns the number of clients of a trial: connections times requests in flight on each. If the load does not set the
/// number of connections, returns the mean number of requests in flight.
pub(crate) fn clients(trial: &Trial) -> f64 {
    trial.intensity.in_flight().unwrap_or(trial.rates.concurrency)
}

pub(crate) fn closed(trial: &Trial) -> bool {
    matches!(trial.intensity, Intensity::Closed { .. })
}

/// Returns the share of the answers with an unexpected status, 0 to 1.
pub(crate) fn refused(trial: &Trial) -> f64 {
    let t = &trial.measured.tally;
    ratio(t.unexpected_status as f64, t.completed as f64).unwrap_or(0.0).clamp(0.0, 1.0)
}

/// Returns the histogram of a trial's response times. Returns `None` if the histogram is missing or empty.
pub(crate) fn responses(trial: &Trial) -> Option<&Hist> {
    trial.histograms.get("response").filter(|times| !times.is_empty())
}

/// Returns the rate of good answers: completed, with an expected status. Leaves out refusals, because otherwise a
/// server that quickly refuses everything would look fast.
pub fn good(trial: &Trial) -> f64 {
    trial.rates.completed_rate * (1.0 - refused(trial))
}

/// Counts the connections that ended while a request had no complete answer. If a connection breaks, all its requests
/// fail, so the number is limited to the number of connections.
pub(crate) fn broken(trial: &Trial) -> u64 {
    let kinds = [ErrorKind::Reset, ErrorKind::ShortResponse, ErrorKind::CutResponse, ErrorKind::TryAgainLater];
    let failed = kinds.iter().fold(0, |sum: u64, kind| sum.saturating_add(trial.tally.errors.count(*kind)));
    failed.min(trial.tally.connected)
}

/// Returns true if most answers of a trial were refusals, so its response times mostly belong to refusals.
pub fn mostly_refused(trial: &Trial) -> bool {
    refused(trial) > MOST_FAIL
}

/// Returns true if the measured window has answers, but no good answer. Without a good answer, all response times of
/// the window belong to refusals.
pub(crate) fn none_good(trial: &Trial) -> bool {
    refused(trial) >= 1.0
}

/// Returns the highest rate of good answers of any trial; 0 without trials.
pub(crate) fn highest_rate<'t>(trials: impl IntoIterator<Item = &'t Trial>) -> f64 {
    trials.into_iter().map(good).fold(0.0, f64::max)
}

/// Returns the rate of good answers from the first connect of a trial to the end of its window. If a server limits its
/// requests per second, a short window may have no good answer at all.
pub fn good_of_all(trial: &Trial) -> f64 {
    let good = trial.tally.good() as f64;
    ratio(good, trial.measured.window.end_s).unwrap_or(0.0)
}

/// Limit of the 99th percentile of the response times, microseconds: half of the default drain (the time after the load
/// in which answers are awaited). If the 99th percentile is at least half of the default drain, unanswered requests may
/// merely need longer than the drain. The requests that wait at the end of an overload wait longer than all requests
/// that were answered.
const SLOW_US: f64 = 1e6;

/// Returns the number of requests of the whole trial that count as never answered. If answers take about as long as the
/// drain (the time after the load), counts only the requests on connections without any answer. The count is at most
/// the number of connections that the server's listener dropped. If answers are slow, unanswered requests on answered
/// connections may still be waiting for their turn.
pub(crate) fn unanswered(trial: &Trial) -> f64 {
    let all = trial.tally.unanswered.max(trial.measured.tally.unanswered) as f64;
    let times = trial.latency_us;
    // If more than one request in a hundred is unanswered, the 99th percentile is unknown, so the maximum is compared
    // instead.
    let slow = times.count > 0 && (if times.p99.is_finite() { times.p99 } else { times.max }) >= SLOW_US;
    if slow { all.min(trial.tally.phantom as f64).min(dropped(trial)) } else { all }
}

/// Returns the number of connections that the server's listener dropped. Returns infinity if no counter shows dropped
/// connections. On the client, a dropped connection may look established although the server does not have it.
fn dropped(trial: &Trial) -> f64 {
    let dropped = |id| server_of(trial)?.whole_trial(id);
    ["listen.drops", "tcp.listen_drops"].into_iter().find_map(dropped).unwrap_or(f64::INFINITY)
}

/// Returns the number of requests without an answer that do not count as failed, because their answers may take longer
/// than the drain.
pub(crate) fn still_open(trial: &Trial) -> u64 {
    trial.tally.unanswered.max(trial.measured.tally.unanswered) - unanswered(trial) as u64
}

/// Returns the share of the measured requests that failed, 0 to 1: with an error, with an unexpected answer, or without
/// an answer. Returns `None` without a request. Unanswered requests are counted over the whole trial, not only in the
/// measured window.
pub fn failed_share(trial: &Trial) -> Option<f64> {
    failed_of(trial, &trial.measured.tally)
}

/// Returns the failed share, 0 to 1, of all requests of a trial, from its first connect to the end of the drain.
pub(crate) fn failed_share_of_all(trial: &Trial) -> Option<f64> {
    failed_of(trial, &trial.tally)
}

/// Returns the number of measured requests that failed, and the number of all measured requests.
pub(crate) fn failed_and_all(trial: &Trial) -> (f64, f64) {
    counted(trial, &trial.measured.tally)
}

fn failed_of(trial: &Trial, t: &Tally) -> Option<f64> {
    let (failed, all) = counted(trial, t);
    ratio(failed, all).map(|s| s.clamp(0.0, 1.0))
}

/// Returns the number of failed requests and the number of all requests in a tally of a trial. Requests without an
/// answer, and requests that were never sent because connects failed, are counted over the whole trial.
fn counted(trial: &Trial, t: &Tally) -> (f64, f64) {
    let without_answer = trial.failures(t) as f64 + unanswered(trial) + trial.never_sent() as f64;
    let failed = without_answer + t.unexpected_status as f64;
    (failed, t.completed as f64 + without_answer)
}

/// Returns the bytes per second of good answers of a trial whose requests have a known size.
pub(crate) fn good_bytes(trial: &Trial) -> f64 {
    good(trial) * trial.key.record_bytes.unwrap_or(0) as f64
}

/// Returns true if an experiment gave each trial a different size of requests. Only bytes per second are comparable
/// between trials with different sizes.
pub(crate) fn several_sizes(run: &Run) -> bool {
    let mut sizes: Vec<u64> = run.trials.iter().filter_map(|t| t.key.record_bytes).collect();
    let known = sizes.len();
    sizes.sort_unstable();
    sizes.dedup();
    known == run.trials.len() && sizes.len() > 1 && sizes.len() == known
}

/// Returns true if an open loop completed nearly all of its offered rate.
pub(crate) fn keeps_up(trial: &Trial) -> bool {
    completed_share(trial) >= ALL_ANSWERED
}

/// Returns the share of an open loop's load that was completed in the window, about 0 to 1.
///
/// Random arrivals may produce fewer requests than the offered rate. The share is therefore relative to the smaller
/// rate: the offered rate, or the rate of the requests that arrived. Without a warm-up, no answer can arrive until the
/// shortest response time has passed. If no queue lengthened the later response times, this first part of the window is
/// left out.
pub(crate) fn completed_share(trial: &Trial) -> f64 {
    let measured = &trial.measured;
    let due_rate = ratio(measured.tally.due as f64, measured.length_s).and_then(positive).unwrap_or(f64::INFINITY);
    let Summary { min, p90, .. } = trial.latency_us;
    let is_steady = p90 <= (1.0 + POOL_SLOWED) * min;
    let empty_s = finite(min / 1e6 - measured.window.begin_s).filter(|_| is_steady).unwrap_or(0.0);
    let empty = ratio(empty_s, measured.length_s).unwrap_or(0.0).clamp(0.0, 1.0);
    trial.rates.completed_rate / (trial.rates.offered_rate.min(due_rate) * (1.0 - empty))
}

/// Returns the server's side of a trial.
pub(crate) fn server_of(trial: &Trial) -> Option<View<'_>> {
    trial.server.as_ref().map(|s| View::new("server", trial, s))
}

/// Returns both sides of a trial, client first.
pub(crate) fn sides_of(trial: &Trial) -> Vec<View<'_>> {
    std::iter::once(View::new("client", trial, &trial.client)).chain(server_of(trial)).collect()
}

/// Returns the response time with one client (R1), microseconds: the mean response time of the lightest step.
pub(crate) fn r1_us(unloaded: &Trial) -> Option<f64> {
    let seen = positive(unloaded.latency_us.mean).or_else(|| positive(unloaded.latency_us.p50));
    // Counters that other tools collected come without response times, so the mean follows from Little's law: clients
    // divided by rate.
    let by_law = || ratio(clients(unloaded) * 1e6, unloaded.rates.completed_rate).and_then(positive);
    seen.or_else(|| by_law().filter(|_| closed(unloaded) && unloaded.tally.sent == 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(completed: u64, unanswered: u64) -> Trial {
        let mut trial = Trial::default();
        trial.measured.tally.completed = completed;
        trial.tally.unanswered = unanswered;
        trial
    }

    /// A server closed its listener after 20 requests, and went on to answer on the open connections.
    #[test]
    fn refused_connects_are_no_failed_requests_if_other_connections_carry_these() {
        use run::{Arrival, ErrorKind, Measured};
        let mut refused = trial(350, 0);
        refused.intensity =
            Intensity::Open { rate: 100.0, arrival: Arrival::Constant, max_connections: 64, pipeline: 1 };
        let counts = Tally { attempted: 34, connected: 8, due: 350, sent: 350, completed: 350, ..Tally::default() };
        (refused.tally, refused.measured.tally) = (counts.clone(), counts);
        for tally in [&mut refused.tally, &mut refused.measured.tally] {
            tally.errors.0.insert(ErrorKind::ConnectRefused, 26);
        }
        assert_eq!((failed_share(&refused), failed_share_of_all(&refused)), (Some(0.0), Some(0.0)));
        // The server no longer accepts enough connections, so requests stay unsent.
        refused.tally.due = 700;
        assert_eq!(failed_share(&refused), Some(0.5));
        // Only few connects failed, so the requests may be unsent because the load is too high.
        let few = Trial { tally: Tally { attempted: 500, ..refused.tally.clone() }, ..refused.clone() };
        assert_eq!(failed_share(&few), Some(26.0 / 376.0));
        // In a closed loop, each client needs a connection of its own.
        let closed = Trial { intensity: Intensity::default(), ..refused.clone() };
        assert!((failed_share(&closed).unwrap() - 26.0 / 376.0).abs() < 1e-9);
        // If each request has its own connection, a retried connect does not make its request fail.
        let tally = Tally { attempted: 1899, connected: 711, due: 712, sent: 711, completed: 711, ..few.tally.clone() };
        let own = Trial { measured: Measured { tally: tally.clone(), ..Measured::default() }, tally, ..few.clone() };
        assert_eq!(failed_share(&own), Some(1.0 / 712.0));
        // Nothing was answered at all: the server is down.
        for tally in [&mut refused.tally, &mut refused.measured.tally] {
            (tally.connected, tally.sent, tally.completed) = (0, 0, 0);
        }
        assert_eq!(failed_share(&refused), Some(1.0));
    }

    #[test]
    fn unanswered_requests_failed_and_no_requests_give_no_share() {
        assert_eq!(failed_share(&trial(988, 12)), Some(0.012));
        assert_eq!(failed_share(&trial(0, 4)), Some(1.0));
        assert_eq!(failed_share(&trial(0, 0)), None);
    }

    /// In this test, two workers take 0.4 s per request. The requests in the queue at the end of an overload need
    /// longer than the drain.
    #[test]
    fn requests_that_wait_their_turn_at_the_end_did_not_fail() {
        let overloaded = |longest_us: f64, phantom: u64| {
            let mut trial = trial(14, 3);
            (trial.latency_us.count, trial.latency_us.p99, trial.latency_us.max) = (14, f64::NAN, longest_us);
            trial.tally.phantom = phantom;
            unanswered(&trial)
        };
        assert_eq!((overloaded(1.9e6, 0), overloaded(1.9e6, 2), overloaded(0.4e6, 0)), (0.0, 2.0, 3.0));
    }
}
