//! Disturbances of a machine and of a server.

use testkit::{Drift, Pauses, VirtualServer};

/// Makes the machine stand still for 2.5 ms three times in two seconds, which is several times the median's limit.
pub(crate) fn stuttering(server: VirtualServer) -> VirtualServer {
    server.paused(Pauses { rate: 1.5, mean_s: 0.0025 })
}

/// Makes the machine stand still for 20 ms every other second.
pub(crate) fn pausing(server: VirtualServer) -> VirtualServer {
    server.paused(Pauses { rate: 0.5, mean_s: 0.02 })
}

/// Makes the machine's speed change by 8 % from one window to the next.
pub(crate) fn drifting(server: VirtualServer) -> VirtualServer {
    server.drifting(Drift { sd: 0.08, forgets_s: 1.0 })
}

/// Makes the machine's speed change by 3 %, more slowly.
pub(crate) fn wandering(server: VirtualServer) -> VirtualServer {
    server.drifting(Drift { sd: 0.03, forgets_s: 4.0 })
}

/// Makes the machine's speed change by 8 %, so slowly that a run sees little of it.
pub(crate) fn slowly(server: VirtualServer) -> VirtualServer {
    server.drifting(Drift { sd: 0.08, forgets_s: 20.0 })
}

/// Makes the server itself stand still once for 1.5 s, at some moment of the search. No pause meter sees this stall.
pub(crate) fn stalling(server: VirtualServer) -> VirtualServer {
    let seed = server.seed() as f64;
    server.stalled(12.0 + 12.0 * (seed * 0.618_034).fract(), 1.5)
}

/// Leaves the machine alone.
pub(crate) fn undisturbed(server: VirtualServer) -> VirtualServer {
    server
}
