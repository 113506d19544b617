//! Share of its CPU quota that the server's control group uses.

use crate::Facts;
use crate::context::view::View;
use crate::number::ratio;
use crate::signals::full::full;
use crate::signals::limit_evidence::plateau;
use crate::signals::{Signal, chance};
use crate::thresholds::{CHARGED_APART, ONE_PLACE, ONE_THREAD};

/// Returns the share of its CPU quota that the server uses, as a signal. Returns `None` without a quota.
pub(crate) fn used(view: &View<'_>) -> Option<Signal> {
    let share = ratio(view.cpu_used()?, view.cpu_quota()?)?;
    Some(full("share of its CPU quota that the server used", 1.0, share))
}

/// Returns the probability that the server's CPU quota is used up, although the kernel hardly ever throttles the
/// server. A runtime that starts as many threads as the quota has CPUs (Go, tokio, the JVM) uses the whole quota and
/// never exceeds it. If the host's CPUs are full, too, the server may lack CPU time because of the host, not because of
/// the quota. With a quota of about one CPU, one busy thread is as full as the quota; the rule `server-single-thread`
/// covers this case.
pub(crate) fn used_up(facts: &Facts<'_>, view: &View<'_>) -> f64 {
    let Some(used) = used(view).filter(|_| !fills_one_thread(view)) else { return 0.0 };
    let host = full("", 1.0, view.processors_busy().unwrap_or(1.0));
    chance(used.log_odds() + plateau(facts)) * (1.0 - host.chance())
}

/// Returns the part of a side's unused quota that the kernel's stops (throttling) explain, 0 to 1. If the quota is the
/// limit, the side runs on P CPUs until the quota is used up, and then stops for the share 1 - used / P of the time.
/// The kernel stops a side only if P is above the quota, so the stops take at least the share 1 - used / quota. The
/// kernel's counter adds up the stops of all CPUs. The kernel's counter therefore shows at least the time for which the
/// side was stopped. Returns 1 if the quota or the length of the stops is unknown.
pub(crate) fn stops_explain(view: &View<'_>) -> f64 {
    let used = view.share_of_time("cgroup.cpu_time").or_else(|| view.cpu_used());
    let unused = used.zip(view.cpu_quota()).map(|(used, quota)| 1.0 - used / quota - CHARGED_APART);
    let stopped = view.share_of_time("cgroup.cpu_throttled_time");
    let explained = stopped.zip(unused.filter(|unused| *unused > 0.0)).map(|(stopped, unused)| stopped / unused);
    explained.map_or(1.0, |part| part.clamp(0.0, 1.0))
}

/// Returns true if the quota is about one CPU, and one thread does nearly all the work.
fn fills_one_thread(view: &View<'_>) -> bool {
    let busiest = view.threads().first().map_or(0.0, |thread| thread.busy);
    view.cpu_quota().is_some_and(|quota| quota <= ONE_PLACE)
        && view.cpu_used().is_some_and(|used| busiest >= ONE_THREAD * used)
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Who};
    use run::Bottleneck;

    /// Returns the verdict on a server in a control group with a quota of `quota` CPUs, on a host with four CPUs. The
    /// server has `threads` equally busy threads, which together use 97 % of the quota. The kernel throttles 3 % of the
    /// periods.
    fn limited(quota: f64, threads: u32) -> Bottleneck {
        let used = move |p: &crate::planted::Point| p.x / p.capacity * 0.97 * quota * 1e6;
        let mut run = PlantedRun::new(1000.0, 1000.0 * quota)
            .none(Who::Server, "thread.cpu")
            .level(Who::Server, "cgroup.cpu_quota", "/srv", quota)
            .per_s(Who::Server, "cgroup.cpu_periods", "/srv", |_| 10.0)
            .per_s(Who::Server, "cgroup.cpu_throttled_periods", "/srv", |_| 0.3)
            .per_s(Who::Server, "process.cpu", "srv:100", used)
            .per_s(Who::Server, "cpu.user", "total", used)
            .per_s(Who::Server, "cpu.idle", "total", move |p| 3.9e6 - used(p))
            .level(Who::Server, "connection.receive_queue", "", 60.0);
        for tid in 0..threads {
            let name = format!("srv:100/{}", 101 + tid);
            run = run.per_s(Who::Server, "thread.cpu", &name, move |p| used(p) / f64::from(threads));
        }
        run.verdict()
    }

    /// Servers of Rust (tokio), Go and Java start one thread for each CPU of their quota, so they are hardly throttled.
    /// An earlier version of loadline said of servers with one thread per CPU: "2 of 4 threads are full: more CPUs will
    /// not help". That version also said "look for a lock" and "requests take turns".
    #[test]
    fn a_runtime_sized_by_its_quota_uses_it_up_without_being_throttled() {
        for (quota, threads) in [(2.0, 2), (2.0, 6), (1.0, 6)] {
            let verdict = limited(quota, threads);
            assert!(verdict.id == "server-cpu-quota" && verdict.confidence >= 0.85, "{quota} {threads}: {verdict:#?}");
            assert!(verdict.sentence.contains("uses its whole CPU quota"), "{verdict:#?}");
        }
    }

    /// A larger quota does not help a server with one thread, because this thread is full, too.
    #[test]
    fn a_full_thread_is_not_blamed_on_a_quota_of_one_cpu() {
        let verdict = limited(1.0, 1);
        assert_eq!(verdict.id, "server-single-thread", "{verdict:#?}");
        assert!(verdict.evidence.iter().any(|line| line.text.contains("quota of 1 CPU")), "{verdict:#?}");
    }
}
