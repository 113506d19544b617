//! Throughput and response time of a queueing network under a load.

use super::model::{Model, Part};
use stats::queueing::{Station, closed, open_response_s};

/// Returns the throughput and the response time (without think time), with contention. The load comes from users or
/// from arrivals.
pub(super) fn solve(model: &Model) -> (f64, f64) {
    match model.arrivals {
        Some(rate) => arriving(model, rate),
        None => contended(model, plain(model), model.users),
    }
}

/// Solves the queueing network for random arrivals at a rate. If a resource is full at `rate`, the response time is
/// infinite.
pub(super) fn arriving(model: &Model, rate: f64) -> (f64, f64) {
    let most = most(model);
    if rate >= most {
        return (most, f64::INFINITY);
    }
    let alone = open_response_s(&stations(model), rate);
    (rate, model.contention.map_or(alone, |contention| contention.arriving(rate, alone)))
}

/// Solves the queueing network for its users, without contention.
pub(super) fn plain(model: &Model) -> (f64, f64) {
    with_users(&stations(model), cap(model), model.users, model.think_s)
}

pub(super) fn contended(model: &Model, queued: (f64, f64), users: u32) -> (f64, f64) {
    model.contention.map_or(queued, |contention| contention.applied(queued, users))
}

pub(super) fn stations(model: &Model) -> Vec<Station> {
    let parts = model.parts().into_iter().filter(|p| !p.cap).map(|p| p.station());
    parts.chain([Station::delay(model.think_s)]).collect()
}

/// Returns the highest rate in requests per second that caps (quotas) allow.
pub(super) fn cap(model: &Model) -> f64 {
    model.parts().iter().filter(|p| p.cap).map(Part::limit).fold(f64::INFINITY, f64::min)
}

/// Solves the queueing network for users under a cap (the rate that quotas allow). By Little's law, the returned
/// response time includes the wait that the cap causes.
pub(super) fn with_users(stations: &[Station], cap: f64, users: u32, think_s: f64) -> (f64, f64) {
    let throughput = closed(stations, users).throughput.min(cap);
    (throughput, f64::from(users) / throughput - think_s)
}

/// Returns the lowest rate, in requests per second, at which one of the resources is full.
pub(super) fn most(model: &Model) -> f64 {
    model.parts().iter().map(Part::limit).fold(f64::INFINITY, f64::min)
}

/// Returns the rate at which one of the resources becomes full, reduced by the loss to contention. For the loss to
/// contention, the number of requests in flight is computed as if no request waited.
pub(super) fn most_with(model: &Model) -> f64 {
    let most = most(model);
    model.contention.map_or(most, |contention| most * contention.left(most * alone_s(model)))
}

/// Returns the time of a request that never waits, without think time.
pub(super) fn alone_s(model: &Model) -> f64 {
    model.parts().iter().filter(|p| !p.cap).map(|p| p.work_s).sum()
}
