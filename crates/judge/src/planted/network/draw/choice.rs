//! Draws the limiting part of a simulated network, and the limits of its other parts.

use crate::planted::network::limit::Cause;

/// Range of the limits of the parts that are not the bottleneck, as multiples of the lowest limit.
pub(super) const ROOM: (f64, f64) = (1.25, 6.0);
/// Probability that a part that is not the bottleneck still gets nearly the lowest limit.
const TIES: f64 = 0.08;

pub(super) const HOST: Cause = Cause::ServerHost { client: false, backend: false };

/// Architecture of the drawn server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// One thread per connection, and all threads can compute at the same time.
    Parallel,
    /// Threads with one event loop each.
    Loops,
    /// One thread per connection, of which only one computes at a time.
    OneAtATime,
    /// One thread per connection, and a lock around a part of the work.
    Mutex,
    /// Workers that sleep or wait for an upstream service.
    Workers,
}

/// Random choices for one simulated network.
pub(super) struct Draw {
    pub(super) random: fastrand::Rng,
    /// Lowest rate at which a resource of the simulated network is full, requests per second.
    pub(super) rate: f64,
    pub(super) target: Cause,
    pub(super) kind: Kind,
    pub(super) cpus: u32,
    pub(super) shared: bool,
    pub(super) other: f64,
}

impl Draw {
    pub(super) fn chance(&mut self, share: f64) -> bool {
        self.random.f64() < share
    }

    pub(super) fn between(&mut self, (low, high): (f64, f64)) -> f64 {
        low * (high / low).powf(self.random.f64())
    }

    pub(super) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.random.usize(..all.len())]
    }

    /// Draws the rate (requests per second) that a part of the network allows. `room` is the range of the drawn rate,
    /// in multiples of the lowest limit.
    pub(super) fn limit(&mut self, cause: Cause, room: (f64, f64)) -> f64 {
        if cause == self.target {
            return self.rate;
        }
        let factor = if self.chance(TIES) { self.between((1.0, 1.1)) } else { self.between(room) };
        self.rate * factor
    }
}

pub(super) fn kind_for(random: &mut fastrand::Rng, target: Cause) -> Kind {
    let all: &[Kind] = match target {
        HOST => &[Kind::Parallel, Kind::Parallel, Kind::Mutex, Kind::Workers, Kind::Loops],
        Cause::ServerLoops => &[Kind::Loops],
        Cause::Serial => &[Kind::OneAtATime, Kind::OneAtATime, Kind::Mutex],
        Cause::Workers => &[Kind::Workers],
        Cause::ServerQuota => &[Kind::Parallel, Kind::Loops, Kind::OneAtATime],
        // If each request had a new connection and thread, the threads would end before their counters are read.
        Cause::AcceptQueue => &[Kind::Loops],
        _ => &[Kind::Parallel, Kind::Loops, Kind::Mutex, Kind::Workers],
    };
    all[random.usize(..all.len())]
}

/// Parts that may be the limit, each with its weight in the random choice.
const TARGETS: &[(Cause, u32)] = &[
    (HOST, 20),
    (Cause::ServerLoops, 12),
    (Cause::Serial, 13),
    (Cause::Workers, 14),
    (Cause::Connections, 4),
    (Cause::Backend, 9),
    (Cause::Generator, 8),
    (Cause::ServerQuota, 7),
    (Cause::GeneratorQuota, 3),
    (Cause::RateLimit, 5),
    (Cause::AcceptQueue, 5),
    (Cause::Load, 8),
];

pub(super) fn target(random: &mut fastrand::Rng) -> Cause {
    let all: u32 = TARGETS.iter().map(|(_, weight)| weight).sum();
    let mut at = random.u32(..all);
    for (cause, weight) in TARGETS {
        if at < *weight {
            return *cause;
        }
        at -= weight;
    }
    HOST
}
