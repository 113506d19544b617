//! Rate of completed requests of one side of a trial.

use run::{Side, Trial};

use crate::number::{positive, ratio};

/// Returns the completed requests per second of a side. For one of several generator hosts, returns the host's own
/// rate. For a side that is not one of several generator hosts, returns the rate of the trial.
pub(crate) fn rate_of(trial: &Trial, side: &Side) -> Option<f64> {
    let all = positive(trial.rates.completed_rate)?;
    let client = std::iter::once(&trial.client).chain(&trial.client_hosts).any(|one| std::ptr::eq(one, side));
    if trial.client_hosts.is_empty() || !client {
        return Some(all);
    }
    let completed =
        |host: &str| trial.host_loads.iter().find(|load| load.host == host).map(|load| load.completed as f64);
    let sum: f64 = trial.host_loads.iter().map(|load| load.completed as f64).sum();
    positive(all * ratio(completed(&side.host)?, sum)?)
}
