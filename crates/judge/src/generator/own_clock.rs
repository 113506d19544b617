//! Delays that the generator's own clock shows in an open loop. In an open loop, the generator knows the time at which
//! each request is due. If the generator gets too little CPU time, it sends requests late and reads answers late.

use run::Trial;

use crate::number::{positive, ratio};

/// Returns the share of an open loop's response time, 0 to 1, that the generator itself causes because it acts late. A
/// response time begins at the moment at which the request is due. Three delays belong to the response time:
///
/// - The generator sends the request late. The mean of this start delay is measured (`start_error_us`).
/// - The generator reads the answer late. An answer arrives at a random moment. On average, an answer therefore waits
///   for the generator's thread at least as long as a request that is due.
/// - The request waits for a free connection. A connection is in use from the send until the generator reads the
///   answer, so late reading lengthens the wait for a connection.
///
/// `threads` is the number of threads that generate the load. Returns `None` for a closed loop, because its requests
/// are not due at known moments.
pub(super) fn delay_share(trial: &Trial, threads: f64) -> Option<f64> {
    let late_us = Some(trial.start_error_us).filter(|late| late.count > 0)?.mean;
    let (service_us, blocked_us) = (positive(trial.service_us.mean)?, trial.blocked_us.mean);
    let read_us = late_us.max(until_awake_us(trial, threads));
    let of_service = (read_us / service_us).clamp(0.0, 1.0);
    ratio(late_us + of_service * (service_us + blocked_us), trial.latency_us.mean).map(|share| share.clamp(0.0, 1.0))
}

/// Returns the mean time from a random moment until the generator's thread runs, microseconds. The function considers
/// the periods in which a generator thread woke up late or stalled (`held_up`). The probability that a random moment
/// falls into a period is proportional to the period's length `h`. On average, half of the period (`h / 2`) is then
/// still left (residual time of a renewal process; Kleinrock, Queueing Systems 1, 1975, section 5.2).
fn until_awake_us(trial: &Trial, threads: f64) -> f64 {
    let window = trial.measured.window;
    let inside = |period: &run::Window| period.end_s.min(window.end_s) - period.begin_s.max(window.begin_s);
    let each = trial.measured.held_up.iter().map(inside).filter(|period_s| *period_s > 0.0);
    let waited: f64 = each.map(|period_s| period_s * f64::midpoint(0.0, period_s)).sum();
    ratio(waited * 1e6, (window.end_s - window.begin_s) * threads).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use run::{Summary, Window};

    use super::*;

    /// Returns a trial with the figures of a real open loop of 6,814 requests per second. Three busy programs ran on
    /// the generator's CPU. All times are means in microseconds.
    fn starved(late_us: f64, held_up: Vec<Window>) -> Trial {
        let mean = |mean| Summary { count: 7491, mean, ..Summary::default() };
        let mut trial = Trial { latency_us: mean(8202.0), service_us: mean(2285.0), ..Trial::default() };
        (trial.blocked_us, trial.start_error_us) = (mean(5116.0), mean(late_us));
        (trial.measured.window, trial.measured.held_up) = (Window { begin_s: 0.0, end_s: 1.0 }, held_up);
        trial
    }

    #[test]
    fn late_sending_shows_late_reading_and_busy_connections() {
        let share = |late_us, held_up| delay_share(&starved(late_us, held_up), 1.0).unwrap();
        assert!((share(922.0, Vec::new()) - 0.476).abs() < 0.01);
        assert!(share(5.0, Vec::new()) < 0.01, "a generator that is in time explains nothing");
        assert_eq!(share(3000.0, Vec::new()), 1.0, "more than all of it is all of it");
        // With one period of 74 ms, the mean time until the thread runs is 2.7 ms, which is longer than the service
        // time.
        let long = vec![Window { begin_s: 0.9, end_s: 0.974 }];
        assert!(share(922.0, long.clone()) > 0.99);
        assert!(delay_share(&starved(922.0, long), 4.0).unwrap() < 0.6, "one of four threads");
        assert!(share(922.0, vec![Window { begin_s: 2.0, end_s: 3.0 }]) < 0.5, "outside of the window");
        assert_eq!(delay_share(&Trial::default(), 1.0), None);
    }
}
