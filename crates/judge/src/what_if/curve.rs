//! Throughput and response time as functions of the number of users, or of the arrival rate.

use run::LoadPoint;

use super::model::Model;
use super::solve::{arriving, cap, contended, stations, with_users};

/// Maximum number of users for which the queueing network is solved. For more users, the solution would take too long.
pub(super) const MOST_USERS: u32 = 100_000;
/// Number of points of the curve up to the load of the prediction. Beyond the load of the prediction, the curve has as
/// many points as up to this load.
const POINTS: u32 = 10;

/// Returns the curve up to twice the load of `then`, and up to at most [`MOST_USERS`] users.
pub(super) fn curve(then: &Model) -> Vec<LoadPoint> {
    match then.arrivals {
        Some(rate) => against_arrivals(then, rate),
        None => against_users(then),
    }
}

/// Returns the curve as a function of the number of users. Each step has about 1.5 times as many users as the step
/// before.
fn against_users(then: &Model) -> Vec<LoadPoint> {
    let (stations, cap, end) = (stations(then), cap(then), then.users.saturating_mul(2).min(MOST_USERS));
    let steps = std::iter::successors(Some(1u32), |n| Some((n + n.div_ceil(2)).min(end)).filter(|next| next > n));
    let point = |users| {
        let (rate, response_s) = contended(then, with_users(&stations, cap, users, then.think_s), users);
        LoadPoint { users, rate, response_us: response_s * 1e6, ..LoadPoint::default() }
    };
    steps.map(point).collect()
}

fn against_arrivals(then: &Model, asked: f64) -> Vec<LoadPoint> {
    let point = |at: u32| {
        let arrivals = asked * f64::from(at) / f64::from(POINTS);
        let (rate, response_s) = arriving(then, arrivals);
        let users = under_way(rate, response_s);
        LoadPoint { users, arrivals: Some(arrivals), rate, response_us: response_s * 1e6, ..LoadPoint::default() }
    };
    (1..=2 * POINTS).map(point).collect()
}

/// Returns the number of requests in flight, by Little's law. Returns 0 if the number of requests is infinite.
pub(super) fn under_way(rate: f64, response_s: f64) -> u32 {
    let all = rate * response_s;
    if all.is_finite() { all.round().clamp(0.0, f64::from(u32::MAX)) as u32 } else { 0 }
}
