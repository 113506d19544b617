//! Simulated disturbances of a machine or a server.

use testkit::{Drift, Pauses, VirtualServer};

/// Stops the machine for 2.5 ms three times in two seconds. Each stop is several times as long as the median's limit.
pub(crate) fn stuttering(server: VirtualServer) -> VirtualServer {
    server.paused(Pauses { rate: 1.5, mean_s: 0.0025 })
}

/// Stops the machine for 20 ms every other second.
pub(crate) fn pausing(server: VirtualServer) -> VirtualServer {
    server.paused(Pauses { rate: 0.5, mean_s: 0.02 })
}

/// Changes the machine's speed by 8 % from one window to the next.
pub(crate) fn drifting(server: VirtualServer) -> VirtualServer {
    server.drifting(Drift { sd: 0.08, forgets_s: 1.0 })
}

/// Changes the machine's speed by 3 %, but more slowly.
pub(crate) fn wandering(server: VirtualServer) -> VirtualServer {
    server.drifting(Drift { sd: 0.03, forgets_s: 4.0 })
}

/// Changes the machine's speed by 8 %, but so slowly that one run sees little of the change.
pub(crate) fn slowly(server: VirtualServer) -> VirtualServer {
    server.drifting(Drift { sd: 0.08, forgets_s: 20.0 })
}

/// Stops the server itself once for 1.5 s, at a random moment of the search. The meter of machine pauses does not see
/// this stop.
pub(crate) fn stalling(server: VirtualServer) -> VirtualServer {
    let seed = server.seed() as f64;
    server.stalled(12.0 + 12.0 * (seed * 0.618_034).fract(), 1.5)
}

/// Disturbs nothing.
pub(crate) fn undisturbed(server: VirtualServer) -> VirtualServer {
    server
}
