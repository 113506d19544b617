//! Upstreams that work on the CPUs that a lever slows. A lever is a temporary change that an experiment makes, such as
//! slowing a CPU. If upstreams use the CPUs of a lever, the lever slows them, too, so only a part of its effect belongs
//! to its own resource.

use run::InstanceFilter;

use crate::Facts;
use crate::context::view::{View, busy, mask};
use crate::number::ratio;
use crate::thresholds::WORKS;

/// Returns the share of CPU time, 0 to 1, that belongs to the processes that the lever slows. The whole is the CPU time
/// of these processes and of the upstreams on the same CPUs. A program's share of the CPU time is also its share of the
/// lever's effect. Slower CPUs delay a request in proportion to its CPU time. Returns 1 if no upstream works on the
/// CPUs of these processes, or if the CPU use is unknown.
pub(super) fn own_share(facts: &Facts<'_>, lever: &str) -> f64 {
    let slowed = match lever {
        "server-cpu" => facts.server(),
        "client-cpu" => facts.client().filter(|_| facts.shared()),
        _ => None,
    };
    let Some((slowed, server)) = slowed.zip(facts.server()) else { return 1.0 };
    let Some(own) = slowed.cpu_used() else { return 1.0 };
    let others = facts.upstreams.iter().filter(|load| may_share(&slowed, &server, &load.behind.processes));
    let others: f64 = others.filter_map(|load| load.cpu_used).filter(|used| *used >= WORKS).sum();
    ratio(own, own + others).unwrap_or(1.0)
}

/// Returns true if the upstream that consists of `processes` may run on a CPU that the lever slows. `slowed` describes
/// the processes that the lever slows, and `server` has the upstream's counters. Also returns true if the CPUs of the
/// upstream or of the slowed processes are unknown.
fn may_share(slowed: &View<'_>, server: &View<'_>, processes: &[String]) -> bool {
    let upstream = mask(&busy(&server.processes_of(&InstanceFilter::new(processes))));
    slowed.mask().zip(upstream).is_none_or(|(own, upstream)| own & upstream != 0)
}
