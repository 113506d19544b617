//! Signs in the counters that a resource is full, so that a larger load would not raise throughput. A lever is a
//! temporary change that an experiment makes, such as slowing a CPU.
//!
//! If nothing is full, throughput of a closed loop also follows the speed of each resource. In this case, throughput
//! follows the speed in proportion to the resource's share of the response time. The effect of a slower resource
//! therefore shows a full resource only together with a sign in the counters, such as a queue.

use run::{Run, Trial};

use super::suspects::suspects_of;
use crate::Facts;
use crate::context::single::{clients, good};
use crate::generator::load_threads;
use crate::in_flight::places::Places;
use crate::in_flight::server_queue;
use crate::in_flight::waiting::Waiting;
use crate::number::{positive, ratio};
use crate::rules::{RULES, Tier};
use crate::signals::cpu::ServerCpu;
use crate::thresholds::{EXCLUDED, FLAT, LIKELY, NEARLY_FULL, ONE_THREAD, QUEUE_SHARE};

/// Returns true if throughput may depend on the speed of a resource although nothing is full. If the result is true,
/// only a larger load can test the verdict. Returns false for verdicts that need no full resource, such as rate limits.
pub fn may_be_unsaturated(run: &Run) -> bool {
    let verdict = &run.findings.bottleneck;
    let lever = match suspects_of(verdict).next() {
        Some(suspect) => Some(suspect.lever).filter(|_| suspect.needs_saturation),
        // If no lever acts on the verdict's cause, a larger load tests the verdict, unless the cause is specific.
        None => is_left_over(&verdict.id).then_some("server-cpu"),
    };
    lever.is_some_and(|lever| !is_seen(&Facts::of(run), lever))
}

/// Returns true for a verdict that is given only because no specific cause shows its signs.
fn is_left_over(id: &str) -> bool {
    RULES.iter().any(|rule| rule.id == id && rule.tier == Tier::LeftOver)
}

/// Returns true if the counters show that a larger load would not raise throughput. `lever` is the lever on the
/// resource that may be full.
pub(super) fn is_seen(facts: &Facts<'_>, lever: &str) -> bool {
    has_stopped_growing(facts)
        || match lever {
            "client-cpu" => is_generator_full(facts),
            "server-cpu" => is_queue_at_server(facts) || is_server_full(facts),
            _ => is_queue_at_server(facts),
        }
}

/// Returns true if a larger load hardly raised throughput, or if the server fell behind an offered rate.
fn has_stopped_growing(facts: &Facts<'_>) -> bool {
    facts.is_rate_limited() || growth(&facts.sweep).is_some_and(|growth| growth < EXCLUDED)
}

/// Returns an upper bound of the elasticity of throughput for the load, d ln(throughput) / d ln(clients), at the last
/// step of the sweep. Throughput is a concave function of the number of clients. The slope of throughput at the last
/// step is therefore at most the mean slope since an earlier step. The earlier step has at most half of the clients of
/// the last step, so that noise matters little.
fn growth(sweep: &[&Trial]) -> Option<f64> {
    let last = sweep.last()?;
    let before = sweep.iter().rfind(|step| 2.0 * clients(step) <= clients(last))?;
    let slope = ratio(good(last) - good(before), clients(last) - clients(before))?;
    ratio(slope * clients(last), good(last))
}

/// Returns true if requests wait at the server or in front of its upstream, and not only for the server to accept
/// their connections.
fn is_queue_at_server(facts: &Facts<'_>) -> bool {
    let places = Places::of(facts);
    let queue = server_queue::queue(facts, places.as_ref());
    queue.is_some_and(|queue| !queue.may_wait_for_accept(places.as_ref()))
}

/// Returns true if answers wait unread at the generator, or if the generator's threads have no time left.
fn is_generator_full(facts: &Facts<'_>) -> bool {
    let threads = facts.client().map(|view| load_threads(facts, &view)).unwrap_or_default();
    let is_used_up = !threads.is_empty() && threads.iter().all(|thread| leaves_no_room(thread.busy));
    is_used_up || Waiting::of(facts).is_some_and(|waiting| waiting.at_client())
}

/// Returns true if the load leaves no time of the server's CPUs or of its only working thread, or if requests wait for
/// a CPU.
fn is_server_full(facts: &Facts<'_>) -> bool {
    ServerCpu::of(facts)
        .is_some_and(|cpu| are_cpus_full(&cpu) || is_only_thread_full(&cpu) || waits_for_cpu(facts, &cpu))
}

/// Returns true if the server, its upstreams and the generator together fill their CPUs under the load.
fn are_cpus_full(cpu: &ServerCpu<'_>) -> bool {
    let used = cpu.chain.as_ref().and_then(|chain| ratio(chain.serving() + chain.generator(), chain.cpus));
    let is_of_load = cpu.own().max(cpu.in_sum(false)) >= LIKELY;
    is_of_load && used.is_some_and(|used| leaves_no_room(used / cpu.view.given()))
}

/// Returns true if one thread does nearly all the work, although further requests are in flight, and has no time left.
fn is_only_thread_full(cpu: &ServerCpu<'_>) -> bool {
    let (Some(thread), Some((used, _))) = (cpu.thread(), cpu.used) else { return false };
    let busy = thread.ran.value;
    let is_only = cpu.is_crowded() && busy >= ONE_THREAD * used && thread.chance >= LIKELY;
    is_only && leaves_no_room(busy / cpu.view.given())
}

/// Returns true if the load keeps the server's CPUs busy, and many of the requests without a CPU wait for a CPU. Each
/// waiting thread counts as one request. Returns false if other programs use the CPUs, because these programs may cause
/// the wait.
fn waits_for_cpu(facts: &Facts<'_>, cpu: &ServerCpu<'_>) -> bool {
    let waiting: f64 = cpu.view.workers().iter().filter_map(|thread| thread.wait).sum();
    let on_no_cpu = cpu.used.and_then(|(used, _)| positive(clients(cpu.view.trial) - used));
    let is_busy = cpu.cpus.is_some_and(|busy| busy.value >= NEARLY_FULL) && facts.other_processes_cpu().is_none();
    let is_of_load = cpu.spins.is_none() && cpu.had_room.is_none_or(|room| room >= LIKELY);
    is_busy && is_of_load && on_no_cpu.is_some_and(|all| waiting >= QUEUE_SHARE * all)
}

/// Returns true if a resource with this utilization is too full for a larger load. By the utilization law, throughput
/// can grow at most to throughput divided by the utilization. Growth of less than [`FLAT`] counts as no growth.
fn leaves_no_room(utilization: f64) -> bool {
    utilization * (1.0 + FLAT) >= 1.0
}
