//! Load plan of one step of a search.

use run::{Intensity, LoadPlan};

use super::{Conductor, StepTimes};

/// Returns the conductor's load at an intensity, with these times. Threads without a connection would only cost.
pub(crate) fn plan(conductor: &dyn Conductor, intensity: Intensity, length: StepTimes) -> LoadPlan {
    let load = conductor.load().clone();
    let threads = match &intensity {
        Intensity::Closed { connections, .. } => load.threads.min(*connections),
        _ => load.threads,
    };
    // Every step gets its own arrivals and think times: repeated ones would repeat their luck.
    let seed = load.seed.wrapping_add((conductor.run().trials.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let StepTimes { warmup_s, least_warmup_s, measure_s: duration_s } = length;
    LoadPlan { seed, intensity, threads, warmup_s, least_warmup_s, duration_s, ..load }
}
