//! Requests that a load left in the server's queue. Until a server has emptied its queue, it answers no new requests.

use run::number::{number, prose::counted, span};
use run::{LoadPlan, Trial};

/// Minimum and maximum time to wait for an answer, seconds, when a request checks whether a server is alive. A queue
/// that a load left in the server takes about as long to drain as the load lasted, whatever the timeout was.
pub(super) const ALIVE_TIMEOUT_S: (f64, f64) = (3.0, 10.0);

/// Returns the time to wait for an answer, seconds, when a request checks whether the server is alive after a load.
pub(super) fn alive_timeout_s(plan: &LoadPlan) -> f64 {
    (plan.warmup_s + plan.duration_s).clamp(ALIVE_TIMEOUT_S.0, ALIVE_TIMEOUT_S.1)
}

/// Returns the reason why the server may be alive although it did not answer within `waited_s` after the load. Returns
/// `None` if the server could have emptied its queue within `waited_s`.
pub(super) fn explanation(trials: &[Trial], waited_s: f64) -> Option<String> {
    let unanswered = |trial: &Trial| trial.tally.sent.saturating_sub(trial.tally.completed);
    let left = trials.iter().map(unanswered).fold(0, u64::saturating_add);
    let rate = trials.iter().map(highest_rate).fold(0.0, f64::max);
    let needed_s = left as f64 / rate;
    (rate > 0.0 && needed_s >= waited_s).then(|| {
        format!(
            "no answer came within {} after the load. The load left {} without an answer, for which the server needs \
             about {} at its highest rate of {}/s: it may still work on them. Ask again later, or load it less",
            span(waited_s),
            counted(left as f64, "request"),
            span(needed_s),
            number(rate)
        )
    })
}

/// Number of steps per second in the series of completed requests.
const INTERVALS: usize = 10;

/// Returns the highest rate of any second in a load test. The mean completed rate would be too low: it leaves out
/// requests that timed out, although the server works on them, too.
fn highest_rate(trial: &Trial) -> f64 {
    let seconds = trial.measured.series_completed.windows(INTERVALS);
    let highest = seconds.map(|second| second.iter().sum::<f64>() / INTERVALS as f64).fold(0.0, f64::max);
    highest.max(trial.rates.completed_rate)
}

#[cfg(test)]
mod tests {
    use run::{Rates, Tally};

    use super::*;

    fn trial(sent: u64, completed: u64, completed_rate: f64) -> Trial {
        let tally = Tally { sent, completed, ..Tally::default() };
        Trial { tally, rates: Rates { completed_rate, ..Rates::default() }, ..Trial::default() }
    }

    #[test]
    fn a_server_with_a_long_queue_is_not_called_dead() {
        let mut delays = [trial(2500, 500, 7.0)];
        delays[0].measured.series_completed = [vec![100.0; 10], vec![0.0; 130]].concat();
        let said = explanation(&delays, 10.0).unwrap();
        assert!(said.contains("2,000 requests") && said.contains("about 20 s at its highest rate of 100/s"), "{said}");
        assert_eq!(explanation(&[trial(20_100, 20_000, 2000.0)], 10.0), None, "a queue of 0.05 s");
        assert_eq!(explanation(&[trial(100, 0, 0.0)], 10.0), None, "it never answered");
    }
}
