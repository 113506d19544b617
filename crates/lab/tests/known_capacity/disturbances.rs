//! Simulated disturbances of a machine or a server.

use testkit::{Drift, Neighbour, Pauses, VirtualServer};

/// Stops the machine about three times in two seconds, for 2.5 ms on average. Each stop is several times as long as a
/// response of the model `own_objective` without load.
pub(crate) fn stuttering(server: VirtualServer) -> VirtualServer {
    server.paused(Pauses { rate: 1.5, mean_s: 0.0025 })
}

/// Stops the machine about every other second, for 20 ms on average.
pub(crate) fn pausing(server: VirtualServer) -> VirtualServer {
    server.paused(Pauses { rate: 0.5, mean_s: 0.02 })
}

/// Changes the machine's speed randomly, with a standard deviation of 8 % and a time scale of one second (about one
/// measurement).
pub(crate) fn drifting(server: VirtualServer) -> VirtualServer {
    server.drifting(Drift { sd: 0.08, forgets_s: 1.0 })
}

/// Changes the machine's speed randomly, with a standard deviation of 3 % and a time scale of four seconds.
pub(crate) fn wandering(server: VirtualServer) -> VirtualServer {
    server.drifting(Drift { sd: 0.03, forgets_s: 4.0 })
}

/// Changes the machine's speed randomly, with a standard deviation of 8 %, but so slowly that one run sees little of
/// the change.
pub(crate) fn slowly(server: VirtualServer) -> VirtualServer {
    server.drifting(Drift { sd: 0.08, forgets_s: 20.0 })
}

/// Stops the server itself once for 1.5 s, at a random moment of the search. The meter of pauses does not see the stop
/// of the server, because the machine continues.
pub(crate) fn stalling(server: VirtualServer) -> VirtualServer {
    let seed = server.seed() as f64;
    server.stalled(12.0 + 12.0 * (seed * 0.618_034).fract(), 1.5)
}

/// Starts a program that takes half of the server's CPU for 8 s, at a random moment of the search.
pub(crate) fn beside_a_program(server: VirtualServer) -> VirtualServer {
    let begin_s = 20.0 * (server.seed() as f64 * 0.618_034).fract();
    server.beside(&[Neighbour { begin_s, length_s: 8.0, share: 0.5 }])
}

/// Starts programs again and again, each for 0.1 to 3 s. Each program takes 5 to 100 % of the server's CPU. During a
/// fifth of the whole time, one of the started programs runs.
pub(crate) fn beside_many_programs(server: VirtualServer) -> VirtualServer {
    let mut random = fastrand::Rng::with_seed(server.seed() ^ 0xbe51de);
    let mut begin_s = 0.0;
    let neighbours: Vec<Neighbour> = std::iter::repeat_with(|| {
        let length_s = 0.1 * 30_f64.powf(random.f64());
        begin_s += 8.0 * length_s * random.f64();
        let neighbour = Neighbour { begin_s, length_s, share: 0.05 + 0.95 * random.f64() };
        begin_s += length_s;
        neighbour
    })
    .take_while(|neighbour| neighbour.begin_s < 40.0)
    .collect();
    server.beside(&neighbours)
}

/// Lets another program take much of the server's CPU during the whole search. The other program's share changes every
/// 0.2 to 3 s, and is 20 to 90 %. The trials do not record the program, because a program that is always there is no
/// disturbance.
pub(crate) fn swamped(server: VirtualServer) -> VirtualServer {
    const SLICE_S: f64 = 0.008;
    let mut random = fastrand::Rng::with_seed(server.seed() ^ 0x5a3a);
    let (mut now_s, mut slices) = (0.0, Vec::new());
    while now_s < 60.0 {
        let (share, count) = (0.2 + 0.7 * random.f64(), 25 * (1 + random.u32(..15)));
        let at = |slice: u32| now_s + SLICE_S * f64::from(slice);
        slices.extend((0..count).map(|slice| (at(slice), at(slice) + share * SLICE_S)));
        now_s = at(count);
    }
    server.disturbed(&slices)
}

/// Gives half of the server's CPU to other virtual machines for 8 s, at a random moment of the search.
pub(crate) fn robbed(server: VirtualServer) -> VirtualServer {
    let begin_s = 6.0 + 14.0 * (server.seed() as f64 * 0.618_034).fract();
    server.robbed_by(&[Neighbour { begin_s, length_s: 8.0, share: 0.5 }])
}

/// Returns the server and its machine without any disturbance.
pub(crate) fn undisturbed(server: VirtualServer) -> VirtualServer {
    server
}
