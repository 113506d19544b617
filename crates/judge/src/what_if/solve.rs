//! A network with its users, solved.

use super::model::{Model, Part};
use stats::queueing::{Station, closed, open_response_s};

/// Throughput and response time of a network's users, or of what arrives, thinking left out of the latter, contention included.
pub(super) fn solve(model: &Model) -> (f64, f64) {
    match model.arrivals {
        Some(rate) => arriving(model, rate),
        None => contended(model, plain(model), model.users),
    }
}

/// The same of requests that arrive at random at a rate: what is more than the first full resource lets through waits for ever.
pub(super) fn arriving(model: &Model, rate: f64) -> (f64, f64) {
    let most = most(model);
    if rate >= most {
        return (most, f64::INFINITY);
    }
    let alone = open_response_s(&stations(model), rate);
    (rate, model.contention.map_or(alone, |contention| contention.arriving(rate, alone)))
}

/// The same without contention: what queues, and nothing else.
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

/// Requests per second that are let through, at most.
pub(super) fn cap(model: &Model) -> f64 {
    model.parts().iter().filter(|p| p.cap).map(Part::limit).fold(f64::INFINITY, f64::min)
}

/// What a cap holds back waits: Little's law gives the response time.
pub(super) fn with_users(stations: &[Station], cap: f64, users: u32, think_s: f64) -> (f64, f64) {
    let throughput = closed(stations, users).throughput.min(cap);
    (throughput, f64::from(users) / throughput - think_s)
}

/// Requests per second at which the first resource is full.
pub(super) fn most(model: &Model) -> f64 {
    model.parts().iter().map(Part::limit).fold(f64::INFINITY, f64::min)
}

/// The same with what clients cost each other: as many are under way as fill that resource at the least.
pub(super) fn most_with(model: &Model) -> f64 {
    let most = most(model);
    model.contention.map_or(most, |contention| most * contention.left(most * alone_s(model)))
}

/// What one request takes by itself, without thinking.
pub(super) fn alone_s(model: &Model) -> f64 {
    model.parts().iter().filter(|p| !p.cap).map(|p| p.work_s).sum()
}
