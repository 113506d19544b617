//! Requests that a load left in the server's queue. A server that still works on them answers no new request.

use run::Trial;
use run::number::{count, number, span};

/// Returns why the server may have been alive although no answer came within `waited_s` after the load; `None` if its
/// queue could have been worked off in that time.
pub(super) fn explanation(trials: &[Trial], waited_s: f64) -> Option<String> {
    let unanswered = |trial: &Trial| trial.tally.sent.saturating_sub(trial.tally.completed);
    let left = trials.iter().map(unanswered).fold(0, u64::saturating_add);
    let rate = trials.iter().map(|trial| trial.rates.completed_rate).fold(0.0, f64::max);
    let needed_s = left as f64 / rate;
    (rate > 0.0 && needed_s >= waited_s).then(|| {
        format!(
            "no answer came within {} after the load. The load left {} requests without an answer, for which the server needs \
             about {} at the {}/s that it answered: it may still work on them. Ask again later, or load it less",
            span(waited_s),
            count(left),
            span(needed_s),
            number(rate)
        )
    })
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
        let delays = [trial(500, 500, 100.0), trial(2500, 500, 25.0)];
        let said = explanation(&delays, 10.0).unwrap();
        assert!(said.contains("2,000 requests") && said.contains("about 20 s at the 100/s"), "{said}");
        assert_eq!(explanation(&[trial(20_100, 20_000, 2000.0)], 10.0), None, "a queue of 0.05 s");
        assert_eq!(explanation(&[trial(100, 0, 0.0)], 10.0), None, "it never answered");
    }
}
