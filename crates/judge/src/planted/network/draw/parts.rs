//! Parts of a simulated network: the server's threads, its upstream service, the generator, and the network.

use super::choice::{Draw, HOST, Kind, ROOM};
use crate::planted::network::limit::Cause;
use crate::planted::network::world::{Limiter, Listener, Threads};

/// Range of the generator's limit, as multiples of the lowest limit. The generator can handle several times the lowest
/// limit of the other parts, so it is seldom close to being the limit.
pub(super) const GENERATOR_ROOM: (f64, f64) = (3.0, 40.0);
/// Number of connections in a pool that is never the limit.
pub(crate) const UNLIMITED: usize = 100_000;

/// Upstream service of the simulated server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backend {
    pub(super) threads: Threads,
    pub(super) cpu_s: f64,
    pub(super) sleep_s: f64,
    /// Maximum number of connections to the upstream service.
    pub(super) connections: usize,
    pub(super) here: bool,
}

/// Random parameters of the parts of a simulated network: programs, rate limiter and listen queue. The times are
/// seconds per request.
pub(super) struct Parts {
    pub(super) backend: Option<Backend>,
    pub(super) cpu_s: f64,
    pub(super) serial_s: f64,
    pub(super) sleep_s: f64,
    pub(super) rare_s: f64,
    pub(super) generator_s: f64,
    pub(super) limiter: Option<Limiter>,
    pub(super) listener: Option<Listener>,
}

pub(super) fn way_s(draw: &mut Draw) -> f64 {
    if draw.shared {
        return 0.0;
    }
    if draw.chance(0.4) { draw.between((0.001, 0.04)) } else { draw.between((50e-6, 200e-6)) }
}

pub(super) fn backend(draw: &mut Draw) -> Option<Backend> {
    let named = matches!(draw.target, Cause::Backend | Cause::Connections);
    if !named && !draw.chance(0.25) || draw.target == Cause::AcceptQueue {
        return None;
    }
    let here = draw.chance(0.6);
    let limit = draw.limit(Cause::Backend, ROOM);
    let (threads, cpu_s, sleep_s) = match draw.random.usize(..3) {
        // The upstream service computes in one thread. In another case, the upstream service computes in one thread per
        // connection, on all CPUs of its own host.
        0 => (Threads::Loops(1), 1.0 / limit, 0.0),
        1 if !here => (Threads::PerConnection, 4.0 / limit, 0.0),
        // The upstream service has child processes that mostly wait, for example for a disk or another service.
        _ => {
            let children = draw.random.usize(1..=8);
            let each_s = children as f64 / limit;
            let cpu_s = each_s * draw.between((0.01, 0.3)) / children as f64;
            (Threads::Pool(children), cpu_s, each_s - cpu_s)
        }
    };
    let at_once = (draw.limit(Cause::Connections, ROOM) * (cpu_s + sleep_s)).ceil().max(1.0);
    let pooled = draw.target == Cause::Connections || draw.chance(0.3);
    Some(Backend { threads, cpu_s, sleep_s, connections: if pooled { at_once as usize } else { UNLIMITED }, here })
}

pub(super) fn generator(draw: &mut Draw) -> (usize, f64) {
    let threads = if draw.cpus > 1 && draw.chance(0.3) { 2 } else { 1 };
    let room = if draw.target == Cause::GeneratorQuota { ROOM } else { GENERATOR_ROOM };
    let limit = draw.limit(Cause::Generator, room);
    (threads, threads as f64 / limit)
}

pub(super) fn loops(draw: &mut Draw) -> usize {
    let most = draw.cpus as usize;
    match draw.target {
        Cause::ServerLoops => draw.random.usize(1..most.max(2)),
        HOST | Cause::AcceptQueue => most,
        _ => draw.random.usize(1..=most),
    }
}

/// Returns the threads of the server, and the time for which a request sleeps in the server, seconds.
pub(super) fn threads(draw: &mut Draw, loops: usize, busy_s: f64) -> (Threads, f64) {
    match draw.kind {
        Kind::Loops => (Threads::Loops(loops), if draw.chance(0.3) { draw.between((0.5, 4.0)) * busy_s } else { 0.0 }),
        Kind::Workers => {
            let hold = draw.limit(Cause::Workers, ROOM);
            // With fewer workers, the server could not reach the rate `hold`, because a request occupies its worker for
            // at least the time of its work.
            let least = (hold * busy_s * 1.05).ceil().max(1.0) as usize;
            let workers = least.max(draw.random.usize(1..=16));
            (Threads::Pool(workers), workers as f64 / hold - busy_s)
        }
        _ => (Threads::PerConnection, if draw.chance(0.3) { draw.between((0.5, 4.0)) * busy_s } else { 0.0 }),
    }
}
