//! CPU time that a quota or a set of CPUs withholds from the server's threads, although the server's CPUs are not full.
//! loadline could not read this quota or set.

use super::rule::{Verdict, cannot_say};
use crate::Facts;
use crate::context::evidence::throttled;
use crate::context::view::{Task, View};
use crate::number::{percent, ratio};
use crate::signals::ready::ReadyThreads;
use crate::thresholds::{COMPETE, CPU_WAIT, LIKELY, SEVERAL_CPUS};

/// Describes working threads that are always ready to run, but wait for a CPU although CPUs are idle. Threads that are
/// always ready to run wait neither for a lock nor for a request. Returns `None` if the threads are not always ready,
/// or if the CPUs are so busy that other work may explain the wait. Uses the trial with the most clients near the
/// highest rate, in which the most threads are ready.
pub(crate) fn lack_of_cpus(facts: &Facts<'_>) -> Option<String> {
    let view = facts.crowded_server().filter(finds_idle_cpus)?;
    let threads = ReadyThreads::of(&view.workers());
    let waited = threads.wants * threads.unmet;
    (threads.lack_cpus(view.given(), 0.0) >= LIKELY).then(|| {
        format!(
            "the server's working threads ran {} and waited for a CPU {} of the time, although CPUs were idle",
            percent(threads.wants - waited),
            percent(waited)
        )
    })
}

/// Returns a verdict without a cause if the working threads lack CPU time although CPUs are idle. If CPUs are idle,
/// threads lack CPU time because of a CPU quota or a set of CPUs that loadline could not read.
pub(super) fn withheld(facts: &Facts<'_>, view: &View<'_>) -> Option<Verdict> {
    let text = lack_of_cpus(facts)?;
    Some(match throttled(view) {
        Some(_) => Verdict::RuledOut(text),
        None => cannot_say(LIMITS_OF_CPUS),
    })
}

/// Counters that show a limit on the CPU time of the server.
const LIMITS_OF_CPUS: &str =
    "cgroup.cpu_throttled_periods and process.cpu_mask, which show the CPU quota and the CPU set of the server";

fn finds_idle_cpus(view: &View<'_>) -> bool {
    view.processors_busy().is_some_and(|busy| busy < COMPETE)
}

/// Returns true if a quota that loadline cannot read may withhold CPU time from a thread. The thread often waits for a
/// CPU although it may use several CPUs, which are mostly idle.
pub(super) fn may_lack_quota(view: &View<'_>, task: &Task) -> bool {
    let waits = task.wait.and_then(|wait| ratio(wait, task.wants())).is_some_and(|unmet| unmet > CPU_WAIT);
    let allowed = task.mask.map(|mask| f64::from(mask.count_ones())).or(task.allowed).or_else(|| view.cpu_allowed());
    let is_unread = view.value("cgroup.cpu_periods").is_none();
    waits && is_unread && finds_idle_cpus(view) && allowed.is_some_and(|cpus| cpus >= SEVERAL_CPUS)
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Point, Who};
    use run::Bottleneck;

    /// Makes a run of a server with `threads` equal threads on four CPUs. At the highest rate, each thread runs for the
    /// share `ran` of the time and waits for a CPU for the share `waited`.
    fn threads(threads: u32, ran: f64, waited: f64) -> PlantedRun {
        let busy = |share: f64| move |p: &Point| p.x / p.capacity * share * 1e6;
        let used = ran * f64::from(threads);
        let mut planted = PlantedRun::new(4000.0, 250.0)
            .none(Who::Server, "thread.cpu")
            .none(Who::Server, "cgroup.cpu_periods")
            .none(Who::Server, "cgroup.cpu_throttled_periods")
            .level(Who::Server, "connection.receive_queue", "", 60.0)
            .per_s(Who::Server, "cpu.user", "total", busy(used))
            .per_s(Who::Server, "cpu.idle", "total", move |p| 3.9e6 - busy(used)(p))
            .per_s(Who::Server, "process.cpu", "srv:100", busy(used));
        for tid in 101..101 + threads {
            let name = format!("srv:100/{tid}");
            planted = planted.per_s(Who::Server, "thread.cpu", &name, busy(ran)).per_s(
                Who::Server,
                "thread.run_delay",
                &name,
                busy(waited),
            );
        }
        planted
    }

    fn has_missing_quota(verdict: &Bottleneck) -> bool {
        verdict.missing.iter().any(|line| line.contains("cgroup.cpu_throttled_periods"))
    }

    /// In this test, loadline runs in a debug container, and cannot read the quota of half a CPU of the server's own
    /// container. An earlier version of loadline said "look for a lock" with a confidence of 90 %.
    #[test]
    fn threads_that_are_ready_and_get_no_cpu_wait_for_no_lock() {
        for (n, ran) in [(1, 0.5), (8, 0.25)] {
            let verdict = threads(n, ran, 0.99 - ran).verdict();
            assert!(verdict.confidence < 0.7 && has_missing_quota(&verdict), "{n}: {verdict:#?}");
            assert!(verdict.sentence.contains("waited for a CPU"), "{verdict:#?}");
            assert!(verdict.advice.len() == 1 && verdict.advice[0].contains("control group"), "{verdict:#?}");
        }
    }

    /// The only thread of a server runs 80 % of the time, and its quota of 0.8 CPUs withholds the rest. A thread that
    /// runs nearly all the time and hardly waits for a CPU, however, is full.
    #[test]
    fn a_thread_that_waits_beside_idle_cpus_may_lack_a_quota() {
        let (quota, full) = (threads(1, 0.8, 0.19).verdict(), threads(1, 0.98, 0.01).verdict());
        assert!(quota.confidence <= 0.5 && !quota.advice.is_empty(), "{quota:#?}");
        assert!(quota.id != "server-single-thread" || quota.sentence.contains("quota"), "{quota:#?}");
        assert!(full.id == "server-single-thread" && full.confidence >= 0.9, "{full:#?}");
    }

    /// In this test, only one of eight threads at a time owns a lock. The threads sleep while they wait for the lock,
    /// so the verdict is still a fixed number of workers.
    #[test]
    fn threads_that_seldom_wait_for_a_cpu_may_wait_for_a_lock() {
        let verdict = threads(8, 0.1, 0.02).verdict();
        assert!(verdict.id == "server-concurrency" && verdict.confidence >= 0.8, "{verdict:#?}");
    }

    /// In this test, sixteen workers share four CPUs with numbers above 51, whose mask loadline cannot read. The sum of
    /// the workers' numbers of allowed CPUs would be all 64 CPUs of the host.
    #[test]
    fn workers_that_share_a_set_of_cpus_fill_it() {
        let shared = |waited: f64, cpus: u32| {
            let busy = |share: f64| move |p: &Point| p.x / p.capacity * share * 1e6;
            let mut planted = PlantedRun::new(4000.0, 1000.0)
                .none(Who::Server, "thread.cpu")
                .none(Who::Server, "process.cpu")
                .none(Who::Server, "process.cpus_allowed")
                .level(Who::Server, "cpu.online", "", 64.0)
                .level(Who::Server, "connection.receive_queue", "", 60.0)
                .per_s(Who::Server, "cpu.user", "total", busy(4.0))
                .per_s(Who::Server, "cpu.idle", "total", move |p| 63.9e6 - busy(4.0)(p));
            for pid in 201..217 {
                let (process, thread) = (format!("srv:{pid}"), format!("srv:{pid}/{pid}"));
                let named = process.clone();
                planted = planted
                    .level(Who::Server, "process.cpus_allowed", &process, 4.0)
                    .per_s(Who::Server, "process.cpu", &process, busy(0.249))
                    .per_s(Who::Server, "process.run_delay", &process, busy(waited))
                    .per_s(Who::Server, "thread.cpu", &thread, busy(0.249))
                    .per_s(Who::Server, "thread.run_delay", &thread, busy(waited))
                    .change(move |t, _| t.server.iter_mut().for_each(|s| s.processes.push(named.clone())));
            }
            let idle =
                move |cpu: u32| move |p: &Point| if cpu < cpus { 1e6 - busy(4.0 / f64::from(cpus))(p) } else { 1e6 };
            planted = (0..16)
                .fold(planted, |planted, cpu| planted.per_s(Who::Server, "cpu.idle", &cpu.to_string(), idle(cpu)));
            planted.verdict()
        };
        let (full, unseen, apart) = (shared(0.74, 16), shared(0.005, 4), shared(0.005, 16));
        for full in [full, unseen] {
            assert!(full.id == "server-cpu" && full.confidence >= 0.9, "{full:#?}");
        }
        assert_ne!(apart.id, "server-cpu", "workers that never wait have CPUs of their own: {apart:#?}");
    }
}
