//! Utilization of the resources that an experiment's levers (temporary changes) slow. The utilization of a resource
//! gives a lower bound of the resource's elasticity. The elasticity is the relative change of throughput, divided by
//! the relative change of the resource's speed.
//!
//! A lever that takes the share d of a resource leaves the share 1 - d. If the resource is the limit, 1 - d is also the
//! throughput ratio. In general, the ratio depends on the utilization U, the share of the time for which the resource
//! was in use. If U is above 1 - d, the lever fills the resource, and the throughput ratio is (1 - d) / U. If U is
//! lower, the ratio is 1. If the ratio (1 - d) / U agrees with the measurement, a faster resource may gain nothing,
//! although throughput fell with the lever.

use run::{
    Bottleneck, Effect, Evidence, InstanceFilter, LeverSlots, Proof, ProofTrial, Trial, TrialKind, UpstreamLimit,
};
use stats::average;
use stats::queueing::least_elasticity;

use super::Estimates;
use super::suspects::suspects_of;
use super::watched::WatchedShare;
use crate::context::single::server_of;
use crate::context::view::{Task, View, busy, mask};
use crate::generator::load_threads;
use crate::number::ratio;
use crate::signals::interrupts::ran;
use crate::thresholds::{MORE_THAN_ALL, MOST};
use crate::{Facts, context::disks, in_flight::upstreams};

/// Bottlenecks whose resource is not a CPU. Each bottleneck has the counters whose evidence states the resource's use
/// and limit.
const USED_OF_LIMIT: &[(&str, &[&str])] = &[
    ("network-medium", &["medium.bytes", "interface.tx_bytes", "interface.rx_bytes"]),
    ("server-cpu-quota", &["process.cpu"]),
    ("server-disk", &["disk.busy"]),
    ("tcp-window", &["connection.peer_window", "connection.send_queue"]),
];

/// Lowers the lower end of each elasticity's interval, if the utilization of the resource allows a smaller elasticity.
/// `used` contains the known utilizations of each lever's resource, and `effects` the effect of each lever.
pub(super) fn lower(found: &mut Estimates, effects: &[Effect], used: &[Vec<f64>]) {
    for (at, used) in used.iter().enumerate().filter(|(at, _)| found.bases[*at].is_measured()).collect::<Vec<_>>() {
        let least = least(used, effects[at].high, 1.0 - found.doses[at]).filter(|(least, _)| *least < 1.0);
        let Some((least, _)) = least else { continue };
        let too_high = (found.elasticities[at].low - least).max(0.0);
        found.elasticities[at].low -= too_high;
        found.remainder.high += too_high;
    }
}

/// Returns the least elasticity that the utilizations `used` of a resource allow, and the utilization that allows it.
/// `highest` is the upper end of the throughput ratio, and `left` the share of the resource that the lever left. If a
/// resource is full within the error of its counters, its utilization allows only an elasticity of 1.
fn least(used: &[f64], highest: f64, left: f64) -> Option<(f64, f64)> {
    let of = |used: f64| if is_full(used) { 1.0 } else { least_elasticity(used, highest, left) };
    used.iter().map(|used| (of(*used), *used)).min_by(|a, b| a.0.total_cmp(&b.0))
}

/// Returns true if a resource is full within the error of its counters.
fn is_full(used: f64) -> bool {
    used + MORE_THAN_ALL >= 1.0
}

/// Returns true if the resource may have become full only because of the lever. Without the lever, the resource was in
/// use for the share `used` of the time. `highest` is the upper end of the throughput ratio. `left` is the share of the
/// resource that the lever left.
pub(super) fn may_be_filled_by_the_lever(used: f64, highest: f64, left: f64) -> bool {
    !is_full(used) && highest >= (left / used).min(1.0)
}

/// Returns one list for each lever (a slowdown of a resource). The list contains the utilizations of the resource at
/// full speed, 0 to 1. One utilization comes from the time slots in which the lever is off. Another utilization comes
/// from the decisive trial (the load that represents the run). The time slots alone may show a utilization that is too
/// high, because requests still queue for several slots after the lever is off. The list is empty if no utilization is
/// known.
pub(super) fn of_levers(
    facts: &Facts<'_>,
    verdict: &Bottleneck,
    trial: &ProofTrial,
    effects: &[Effect],
) -> Vec<Vec<f64>> {
    let load = load_of(facts, trial);
    let of = |(lever, effect): (&LeverSlots, &Effect)| {
        let of_cpus = |load, slowed| of_cpus(facts, verdict, (load, &lever.lever), &slowed);
        let in_slots = load.and_then(|load| of_cpus(load, Slowed::of(lever, effect)));
        let before = facts.decisive.and_then(|load| of_cpus(load, Slowed::NOT));
        let told = || suspects_of(verdict).any(|suspect| suspect.lever == lever.lever).then(|| of_verdict(verdict))?;
        let of_other = || lever.wanted.into_iter().chain(told()).reduce(f64::max);
        in_slots.or_else(of_other).into_iter().chain(before).collect()
    };
    trial.levers.iter().zip(effects).map(of).collect()
}

/// Finds a lever whose resource seems to be the limit, but may have become full only because of the lever. Returns the
/// lever, and the utilization of its resource without the lever. Returns `None` if no lever may have filled its
/// resource.
pub(super) fn filled<'a>(
    facts: &Facts<'_>,
    verdict: &Bottleneck,
    proof: &Proof,
    effects: &'a [Effect],
) -> Option<(&'a str, f64)> {
    let own = WatchedShare::of(facts.decisive).own_each(effects);
    let used = of_levers(facts, verdict, ProofTrial::of_speeds(&proof.trials)?, &own);
    let filled = |((effect, own), used): ((&'a Effect, &Effect), Vec<f64>)| {
        let part = proof.parts().find(|part| part.lever == effect.lever)?;
        let is_open = part.basis.is_measured() && part.estimate.value >= MOST && part.estimate.low < MOST;
        let (least, used) = least(&used, own.high, 1.0 - own.dose).filter(|_| is_open)?;
        (least < MOST).then_some((effect.lever.as_str(), used))
    };
    effects.iter().zip(&own).zip(used).find_map(filled)
}

/// Returns the load during which a trial's levers (slowdowns of resources) were switched on and off.
pub(super) fn load_of<'a>(facts: &Facts<'a>, trial: &ProofTrial) -> Option<&'a Trial> {
    facts.run.trials.iter().find(|load| load.kind == TrialKind::Proof && load.label == trial.label)
}

/// Returns the utilization of the verdict's resource by the verdict's evidence, if this resource is no CPU. A disk that
/// a thread always waits for is in use all the time, although it is idle for moments between two requests.
pub(super) fn of_verdict(verdict: &Bottleneck) -> Option<f64> {
    let (_, counters) = USED_OF_LIMIT.iter().find(|(id, _)| *id == verdict.id)?;
    let used = |line: &Evidence| match line.counter.as_str() {
        counter if counters.contains(&counter) => ratio(line.value?, line.limit?),
        counter if verdict.id == "server-disk" && disks::WAITS.contains(&counter) => line.value,
        _ => None,
    };
    verdict.evidence.iter().filter_map(used).reduce(f64::max).map(|used| used.min(1.0))
}

/// A slowdown in some time slots of a load. The methods convert a utilization over the whole load into the utilization
/// without the slowdown.
struct Slowed {
    /// Share of the time slots with the lever on.
    on: f64,
    /// Throughput with the lever, divided by throughput without it.
    ratio: f64,
    /// Share of the resource that the lever left.
    left: f64,
}

impl Slowed {
    /// Values for a resource that was not slowed.
    const NOT: Self = Self { on: 0.0, ratio: 1.0, left: 1.0 };

    fn of(lever: &LeverSlots, effect: &Effect) -> Self {
        let on: Vec<f64> = lever.on.iter().map(|on| f64::from(u8::from(*on))).collect();
        Self { on: average(&on), ratio: effect.ratio, left: 1.0 - effect.dose }
    }

    /// Returns the utilization of a thread without the lever. With the lever, the thread also waits for the CPU thief
    /// (a busy loop).
    fn thread(&self, wants: f64) -> f64 {
        wants / (1.0 - self.on + self.on * self.ratio / self.left)
    }

    /// Returns the utilization that the CPUs would have without the lever. While the lever is on, its CPU thief (a busy
    /// loop) also keeps the CPUs busy.
    fn cpus(&self, busy: f64) -> f64 {
        (busy - self.on * (1.0 - self.left)) / (1.0 - self.on + self.on * self.ratio)
    }
}

/// Returns the utilization of the CPU resource that a lever slows, from the recording of the load. Either the busiest
/// thread or all CPUs together may be the limit, so the larger of the two utilizations counts. If the verdict names one
/// thread, or work that only one thread at a time can do, the CPUs do not count.
fn of_cpus(facts: &Facts<'_>, verdict: &Bottleneck, (load, lever): (&Trial, &str), slowed: &Slowed) -> Option<f64> {
    let (thread, cpus) = match lever {
        "client-cpu" if load.client_hosts.is_empty() => (of_generator(facts, load), None),
        "server-cpu" => of_server(&server_of(load)?),
        "behind-cpu" => of_upstream(facts, &server_of(load)?)?,
        _ => return None,
    };
    let cpus = cpus.filter(|_| thread.is_none() || !names_one_thread(verdict, lever));
    let all = [thread.map(|wants| slowed.thread(wants)), cpus.map(|busy| slowed.cpus(busy))];
    all.into_iter().flatten().reduce(f64::max).map(|used| used.clamp(0.0, 1.0))
}

/// Returns true if the verdict says that the resource of this lever is a single thread, or threads of which only one
/// runs at a time.
fn names_one_thread(verdict: &Bottleneck, lever: &str) -> bool {
    match lever {
        "server-cpu" => verdict.id == "server-single-thread" || verdict.serial,
        _ => {
            let limit = verdict.waits_for.as_ref().and_then(|waits_for| waits_for.limit);
            matches!(limit, Some(UpstreamLimit::Thread | UpstreamLimit::Lock))
        }
    }
}

/// Utilization of the busiest thread, and of all CPUs that the processes may use.
type ThreadAndCpus = (Option<f64>, Option<f64>);

fn of_generator(facts: &Facts<'_>, load: &Trial) -> Option<f64> {
    let threads = load_threads(facts, &View::new("client", load, &load.client));
    let wants: Vec<f64> = threads.iter().map(Task::wants).collect();
    (!wants.is_empty()).then(|| average(&wants))
}

fn of_server(view: &View<'_>) -> ThreadAndCpus {
    (busiest(view, &view.threads(), view.cpu_used()), view.processors_busy())
}

fn of_upstream(facts: &Facts<'_>, view: &View<'_>) -> Option<ThreadAndCpus> {
    let own = InstanceFilter::new(&upstreams::full(facts)?.behind.processes);
    let processes = view.processes_of(&own);
    let used = (!processes.is_empty()).then(|| processes.iter().map(|process| process.busy).sum());
    let cpus = mask(&busy(&processes)).and_then(|mask| view.busy_share_of(mask));
    Some((busiest(view, &view.threads_of(&own), used), cpus))
}

/// Returns the utilization of the busiest thread, including the time for which it waited for a CPU. For a pinned
/// thread, the soft interrupts on its CPU count, too. If all threads together use at most one CPU, they may take turns
/// at a lock. If threads take turns at a lock, the utilization of the lock equals the CPU use of all threads together.
fn busiest(view: &View<'_>, threads: &[Task], used: Option<f64>) -> Option<f64> {
    let one_cpu = used.filter(|used| *used <= 1.0);
    let wants = |thread: &Task| ran(view, thread) + thread.wait.unwrap_or(0.0);
    threads.iter().map(wants).chain(one_cpu).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::{PlantedRun, Who};

    /// Interrupts fill the CPU of a pinned thread. An earlier version of loadline assumed that the thread has time
    /// left, and did not prove that it is the limit.
    #[test]
    fn soft_interrupts_on_the_cpu_of_a_pinned_thread_are_its_use() {
        let used = |mask: f64| {
            let mut run = PlantedRun::new(1000.0, 4000.0)
                .per_s(Who::Server, "process.cpu", "srv:100", |_| 0.91e6)
                .per_s(Who::Server, "thread.cpu", "srv:100/101", |_| 0.91e6)
                .level(Who::Server, "thread.cpu_mask", "srv:100/101", mask)
                .none(Who::Server, "thread.run_delay")
                .per_s(Who::Server, "cpu.softirq", "1", |_| 0.08e6)
                .per_s(Who::Server, "cpu.idle", "1", |_| 0.01e6)
                .run();
            crate::judge(&mut run);
            of_server(&server_of(&run.trials[0]).unwrap()).0.unwrap()
        };
        assert!((used(2.0) - 0.99).abs() < 0.005, "{}", used(2.0));
        assert!((used(3.0) - 0.91).abs() < 0.005, "{}", used(3.0));
    }

    /// The server of this test flushes its file to the disk after each write. The disk is idle for a moment between a
    /// flush and the next write. Still, one of the server's threads is always waiting for a write or a flush.
    #[test]
    fn a_disk_that_a_thread_always_waits_for_is_in_use_all_the_time() {
        let line = |counter: &str, value, limit| Evidence {
            counter: counter.into(),
            value: Some(value),
            limit: Some(limit),
            ..Evidence::default()
        };
        let used = |evidence| of_verdict(&Bottleneck { id: "server-disk".into(), evidence, ..Bottleneck::default() });
        let (busy, awaited) = (line("disk.busy", 0.953, 1.0), line("process.disk_wait", 0.99, 0.1));
        assert_eq!((used(vec![busy.clone()]), used(vec![busy, awaited])), (Some(0.953), Some(0.99)));
    }
}
