//! Requests that a load left in the server's queue. Until a server has emptied its queue, it answers no new requests.

use run::number::{number, prose::counted, span};
use run::{Run, Trial};

/// Minimum and maximum time in which a server may empty the queue of a load, seconds. A queue takes about as long to
/// empty as the load lasted.
const QUEUE_TIME_S: (f64, f64) = (3.0, 10.0);

/// Returns the time to wait for an answer, seconds, when a request checks whether the server is alive after the last
/// load of `run`. In this time, the server should empty the queue that the load left, and then answer one request.
/// Before any load, one request took `first_s` seconds. If the user gave a `--timeout` below the minimum of
/// [`QUEUE_TIME_S`], this timeout replaces the minimum.
pub(crate) fn alive_timeout_s(run: &Run, first_s: f64) -> f64 {
    let plan = &run.plan.load;
    let loaded_s = run.trials.last().map_or(plan.warmup_s + plan.duration_s, |trial| trial.measured.window.end_s);
    loaded_s.clamp(QUEUE_TIME_S.0.min(plan.timeout_s), QUEUE_TIME_S.1) + first_s
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
    use run::{Rates, Tally, Window};

    use super::*;

    fn trial(sent: u64, completed: u64, completed_rate: f64) -> Trial {
        let tally = Tally { sent, completed, ..Tally::default() };
        Trial { tally, rates: Rates { completed_rate, ..Rates::default() }, ..Trial::default() }
    }

    /// A step of a search that lasted 1 s left a queue of about 1 s. An earlier version of loadline always waited 10 s
    /// in a search, although the whole budget was 8 s and `--timeout` was 1 s.
    #[test]
    fn a_check_waits_as_long_as_the_last_load_lasted() {
        let of = |timeout_s: f64, loaded_s: f64| {
            let mut run = Run { trials: vec![trial(100, 0, 0.0)], ..Run::default() };
            run.plan.load.timeout_s = timeout_s;
            run.trials[0].measured.window = Window { begin_s: 0.0, end_s: loaded_s };
            alive_timeout_s(&run, 0.5)
        };
        assert_eq!((of(1.0, 1.0), of(10.0, 1.0), of(1.0, 5.0)), (1.5, QUEUE_TIME_S.0 + 0.5, 5.5));
        assert_eq!(of(10.0, 60.0), QUEUE_TIME_S.1 + 0.5);
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
