//! Predicts throughput under three further levers: more load, fewer CPUs, and more source addresses. A lever is a
//! temporary change that an experiment makes, such as slowing a CPU. Each further lever tests a cause that the usual
//! lever for the verdict does not test.

use run::{CPU_COUNT_LEVER, Effect, LOAD_LEVER, ProofTrial, Run, SOURCES_LEVER};

use super::estimate;
use super::observed::{are_places_seen, observation};
use super::saturated::may_be_unsaturated;
use crate::Facts;
use crate::context::single::sides_of;
use crate::context::view::View;
use crate::in_flight::delayed::delayed_answers;
use crate::signals::full::busiest as busiest_cpu;
use crate::thresholds::MOST;

/// Returns true if throughput may mostly follow the speed of the server's CPU. If the result is true, a trial with
/// fewer CPUs is useful. Returns `None` if the effect of the CPU's speed was not measured.
pub fn may_follow_server_cpu(run: &Run) -> Option<bool> {
    let trial = ProofTrial::of_speeds(&run.findings.proof.as_ref()?.trials)?;
    let at = trial.levers.iter().position(|lever| lever.lever == "server-cpu")?;
    Some(estimate(trial).ok()?.elasticities.get(at)?.high >= MOST)
}

/// Returns true if more load tests the verdict better than slower CPUs do. Throughput may follow a CPU's speed although
/// the CPU has idle time. If nothing shows that a resource is full, only more load therefore tests the verdict. If the
/// verdict names no device, more load is also the better test. All CPUs and threads of server and generator must then
/// have been mostly idle. Slowing an idle CPU proves nothing, because its elasticity is at most its utilization.
pub fn load_comes_first(run: &Run) -> bool {
    may_be_unsaturated(run) || has_idle_devices(run)
}

/// Returns true if the verdict names no device, and all CPUs and threads of server and generator were mostly idle.
fn has_idle_devices(run: &Run) -> bool {
    if !["not-saturated", "unknown"].contains(&run.findings.bottleneck.id.as_str()) {
        return false;
    }
    let trial = run.findings.picks.decisive.and_then(|at| run.trials.get(at));
    trial.is_some_and(|trial| {
        let is_idle = |side: &View<'_>| busiest_cpu(side).is_some_and(|busy| busy < MOST);
        trial.server.is_some() && sides_of(trial).iter().all(is_idle)
    })
}

/// Returns true if a rate limit that delays answers would also explain a verdict about a fixed number of workers. A
/// rate limit is possible if no counter shows the workers or their queue, or if answers come sooner at a lower rate.
pub fn may_be_rate_limit(run: &Run) -> bool {
    let verdict = &run.findings.bottleneck;
    let facts = Facts::of(run);
    let is_seen = observation(&facts, verdict).is_some() || are_places_seen(verdict) || verdict.serial;
    let is_about_workers = verdict.id == "server-concurrency" && verdict.waits_for.is_none();
    is_about_workers && (!is_seen || delayed_answers(&facts).is_some())
}

/// Predicts the effect of `lever` (more load, fewer CPUs, or more source addresses) from the verdict, before the
/// experiment. Returns `None` if the verdict predicts nothing.
pub fn predicted_further(run: &Run, lever: &str, dose: f64) -> Option<Effect> {
    let ratio = match (lever, run.findings.bottleneck.id.as_str()) {
        (_, "unknown" | "") => return None,
        // If nothing is full, throughput grows in proportion to the load. If all CPUs are full, throughput falls in
        // proportion to the number of CPUs.
        (LOAD_LEVER, "not-saturated") | (CPU_COUNT_LEVER, "server-cpu") => 1.0 - dose,
        // These levers are more load, fewer CPUs and more source addresses. They do not change other limits, such as a
        // number of workers, a lock or a pool, so no change of throughput is predicted.
        (LOAD_LEVER | CPU_COUNT_LEVER | SOURCES_LEVER, _) => 1.0,
        _ => return None,
    };
    Some(Effect { lever: lever.into(), dose, ratio, low: ratio, high: ratio, at: String::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_servers_gain_nothing_from_load_and_serial_work_nothing_from_cpus() {
        let of = |id: &str, lever, dose| {
            let mut run = Run::default();
            run.findings.bottleneck.id = id.into();
            predicted_further(&run, lever, dose).map(|effect| effect.ratio)
        };
        assert_eq!(of("not-saturated", LOAD_LEVER, -1.0), Some(2.0));
        assert_eq!(of("server-concurrency", LOAD_LEVER, -1.0), Some(1.0));
        assert_eq!(of("server-concurrency", SOURCES_LEVER, -1.0), Some(1.0));
        assert_eq!(of("server-cpu", CPU_COUNT_LEVER, 0.5), Some(0.5));
        assert_eq!(of("server-single-thread", CPU_COUNT_LEVER, 0.5), Some(1.0));
        assert_eq!((of("unknown", LOAD_LEVER, -1.0), of("server-cpu", "disk", 0.5)), (None, None));
    }
}
