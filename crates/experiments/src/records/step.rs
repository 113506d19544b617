//! Steps of the experiment `lab adding-clients`. A step leads from one trial to the next, which usually has one more
//! client.

use run::Trial;

use super::derive::known;
use super::values::RESPONSE_N_OVER_X_US;

/// Number of clients, throughput and response time of a trial, and their change since the previous trial.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) n: f64,
    pub(super) x: f64,
    pub(super) r_us: f64,
    pub(super) growth: f64,
    pub(super) more_us: f64,
}

pub(super) fn steps(trials: &[Trial]) -> Vec<Step> {
    let one = |t: &Trial| {
        (known(t.key.clients.map(f64::from)), t.rates.completed_rate, known(t.results.get(RESPONSE_N_OVER_X_US)))
    };
    trials
        .windows(2)
        .map(|pair| {
            let ((_, x0, r0), (n, x, r_us)) = (one(&pair[0]), one(&pair[1]));
            Step { n, x, r_us, growth: x / x0 - 1.0, more_us: r_us - r0 }
        })
        .collect()
}
