//! CPU quota of an upstream: the probability that the quota limits the upstream, and the text about the quota.

use run::UpstreamLoad;

use crate::context::evidence::is_quota_used;
use crate::context::view::View;
use crate::number::{figure, percent, positive, ratio};
use crate::signals::{Signal, chance};
use crate::thresholds::{NEARLY_FULL, ONE_LOAD, QUOTA_UNUSED, THROTTLED, THROTTLED_WIDTH};

/// CPU quota of an upstream, as the kernel counted it in one trial.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quota {
    /// Number of CPUs that the quota allows; absent if unknown.
    pub(super) cpus: Option<f64>,
    /// Share of the periods in which the quota ran out, 0 to 1; absent if unknown.
    pub(super) throttled: Option<f64>,
}

impl Quota {
    /// Reads the quota of the upstream at `address`.
    pub(super) fn of(view: &View<'_>, address: &str) -> Self {
        let read = |id| view.side.recording.reading(id, address, view.window).value();
        let periods = read("behind.cpu_periods").and_then(positive);
        let out = read("behind.cpu_throttled_periods");
        let throttled = periods.zip(out).map(|(periods, out)| (out / periods).clamp(0.0, 1.0));
        Self { cpus: read("behind.cpu_quota").and_then(positive), throttled }
    }

    /// Returns the number of CPUs that the upstream may use: the quota or `cpus`, whichever is smaller. `cpus` is the
    /// number of CPUs on which the upstream's processes may run.
    pub(super) fn at_most(&self, cpus: Option<f64>) -> Option<f64> {
        cpus.map(|cpus| self.cpus.map_or(cpus, |quota| quota.min(cpus)))
    }

    /// Returns the used share of a quota that is smaller than `cpus`, the number of CPUs on which the upstream's
    /// processes may run. `used` is the CPU use of the upstream, in CPUs.
    pub(super) fn used_share(&self, used: f64, cpus: Option<f64>) -> Option<f64> {
        let quota = self.cpus.filter(|quota| cpus.is_none_or(|cpus| *quota < cpus))?;
        ratio(used, quota)
    }

    /// Returns the probability that the quota is the limit because it runs out in many periods. Short bursts, such as
    /// garbage collection, may exhaust a quota that is mostly unused, so an unused quota lowers the probability. `used`
    /// is the CPU use of the upstream, in CPUs. `shows_limit` is false if the run shows neither a limit nor a queue. If
    /// the run shows neither, the quota may run out only at the measured load, so the probability is lower.
    pub(super) fn ran_out(&self, used: Option<f64>, shows_limit: bool) -> f64 {
        let Some(share) = self.throttled else { return 0.0 };
        let signal = Signal::new("", share, (THROTTLED, THROTTLED_WIDTH));
        let doubt = if shows_limit { 0.0 } else { ONE_LOAD };
        let most = if is_quota_used(used, self.cpus) { 1.0 } else { QUOTA_UNUSED };
        chance(signal.log_odds() - doubt) * most
    }
}

/// Describes the use of an upstream's quota in words. A runtime that starts one thread for each CPU of its quota may
/// use the whole quota without ever being throttled.
pub(super) fn words(load: &UpstreamLoad) -> String {
    let size = load.cpu_quota.map_or_else(String::new, |cpus| format!(" of {}", crate::number::cpus(cpus)));
    if let Some(share) = load.throttled.filter(|share| *share >= THROTTLED) {
        return format!("its CPU quota{size} ran out in {} of its periods", percent(share));
    }
    let thread = load.busiest_thread.filter(|busy| *busy >= NEARLY_FULL).map_or_else(String::new, |busy| {
        format!(", and one thread of it ran or waited for a CPU {} of the time", percent(busy))
    });
    format!("it used {} of its CPU quota{size}{thread}", figure(load.cpu_used.unwrap_or(0.0)))
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Point, Who};
    use run::{Bottleneck, Upstream, UpstreamLimit};

    const ADDRESS: &str = "127.0.0.1:9000";

    /// Makes a run of a server with `connections` to an upstream with a quota of two CPUs. At the rate 200/s, the
    /// upstream's threads together use `used` CPUs. In each second, the quota runs out in `out` of ten periods.
    fn under_quota(planted: PlantedRun, connections: f64, used: f64, out: f64) -> PlantedRun {
        on_threads(6, planted, connections, used, out)
    }

    /// Makes a run like [`under_quota`], with the given number of threads.
    fn on_threads(threads: u32, planted: PlantedRun, connections: f64, used: f64, out: f64) -> PlantedRun {
        let cpu_us = move |p: &Point| (p.x / 200.0).min(1.0) * used * 1e6;
        let planted = planted
            .per_s(Who::Server, "process.cpu", "java:300", cpu_us)
            .level(Who::Server, "behind.connections", ADDRESS, connections)
            .per_s(Who::Server, "behind.busy", ADDRESS, move |p| p.n.min(connections))
            .level(Who::Server, "behind.cpu_quota", ADDRESS, 2.0)
            .per_s(Who::Server, "behind.cpu_periods", ADDRESS, |_| 10.0)
            .per_s(Who::Server, "behind.cpu_throttled_periods", ADDRESS, move |_| out)
            .change(|trial, _| {
                let processes = vec!["java:300".to_string()];
                let upstream = Upstream { address: ADDRESS.into(), depth: 1, processes, ..Upstream::default() };
                trial.server.iter_mut().for_each(|side| side.behind = vec![upstream.clone()]);
            });
        (0..threads).fold(planted, |planted, thread| {
            let name = format!("java:300/{}", 301 + thread);
            planted.per_s(Who::Server, "thread.cpu", &name, move |p| cpu_us(p) / f64::from(threads))
        })
    }

    /// Makes the run of a server with a pool of four connections to an upstream with a quota.
    fn pool_of_four(used: f64, out: f64) -> Bottleneck {
        let planted = PlantedRun::new(20_000.0, 200.0).level(Who::Server, "connection.receive_queue", "", 60.0);
        under_quota(planted, 4.0, used, out).verdict()
    }

    /// This test repeats a situation that was observed with a JVM in a container: short bursts of the garbage collector
    /// exhaust a quota of which only 40 % is used. The server's pool of four connections is the limit.
    #[test]
    fn bursts_that_exhaust_a_mostly_unused_quota_are_a_doubtful_limit() {
        let bursts = pool_of_four(0.8, 3.0);
        assert!(bursts.id == "server-concurrency" && bursts.confidence < 0.6, "{bursts:#?}");
        assert!(
            bursts.sentence.contains("or the server handles only about 4 requests at a time (srv has 4"),
            "{bursts:#?}"
        );
        let used_up = pool_of_four(1.9, 9.0);
        assert!(used_up.sentence.contains("ran out in 90 %") && used_up.confidence >= 0.9, "{used_up:#?}");
        assert!(!used_up.sentence.contains("or the server handles"), "{used_up:#?}");
    }

    /// As with Go, the JVM, .NET and tokio in a container, an upstream has as many threads as its quota has CPUs. Such
    /// a runtime uses its whole quota, but the quota hardly ever runs out. Earlier versions of loadline named a lock or
    /// a thread as the limit, although the quota had no CPU time for a further thread.
    #[test]
    fn a_quota_that_a_runtime_sizes_itself_by_is_the_limit_of_an_upstream() {
        for threads in [2, 6] {
            let planted = PlantedRun::new(10_000.0, 200.0).level(Who::Server, "behind.unread", ADDRESS, 60.0 * 64.0);
            let planted = on_threads(threads, planted, 128.0, 1.95, 0.5);
            let mut run = planted.run();
            crate::judge(&mut run);
            let (verdict, load) = (&run.findings.bottleneck, &run.findings.behind[0]);
            assert_eq!((load.limit, load.cpu_allowed), (Some(UpstreamLimit::Quota), Some(2.0)), "{verdict:#?}");
            assert!(verdict.sentence.contains("it used 1.95 of its CPU quota of 2 CPUs"), "{verdict:#?}");
            assert_eq!(verdict.sentence.contains("one thread of it"), threads == 2, "{verdict:#?}");
            assert!(!verdict.serial && verdict.confidence >= 0.85, "{verdict:#?}");
            assert!(verdict.advice[0].starts_with("Raise the CPU quota"), "{verdict:#?}");
            assert!(!verdict.advice.iter().any(|advice| advice.contains("threads of java")), "{verdict:#?}");
        }
    }

    /// Two threads that together use one CPU leave half of a quota of two CPUs unused.
    #[test]
    fn half_a_quota_is_not_used_up() {
        let planted = PlantedRun::new(20_000.0, 200.0).level(Who::Server, "connection.receive_queue", "", 60.0);
        let verdict = on_threads(2, planted, 4.0, 1.0, 0.5).verdict();
        assert!(verdict.id == "server-concurrency" && verdict.waits_for.is_none(), "{verdict:#?}");
    }

    /// In this test, throughput doubles with the number of clients, so bursts that exhaust the quota are not the limit.
    #[test]
    fn bursts_under_a_load_that_may_grow_show_no_limit() {
        let grows = PlantedRun::new(20_000.0, 1e9).steps(&[1, 2, 4, 8]).rates(&[]);
        let often = under_quota(grows, 8.0, 0.8, 6.0).verdict();
        assert!(often.waits_for.is_none() && !often.sentence.contains("quota"), "{often:#?}");
        let fixed = |trial: &mut run::Trial, _: &Point| trial.kind = run::TrialKind::Fixed;
        let one_load = || PlantedRun::new(20_000.0, 1e9).steps(&[8]).rates(&[]).change(fixed);
        let bursts = under_quota(one_load(), 8.0, 0.8, 3.0).verdict();
        assert!(bursts.waits_for.is_none() && !bursts.sentence.contains("quota"), "{bursts:#?}");
        let used_up = under_quota(one_load(), 8.0, 1.9, 9.0).verdict();
        assert!(used_up.sentence.contains("ran out in 90 %") && used_up.confidence >= 0.8, "{used_up:#?}");
    }

    /// The line about a full upstream is a sign of a queue, and also describes the upstream. Two lists of evidence
    /// therefore contain the line, but the verdict must show it once.
    #[test]
    fn the_line_about_a_full_upstream_is_shown_once() {
        let verdict = pool_of_four(1.9, 9.0);
        let lines = verdict.evidence.iter().filter(|line| line.text.contains("was throttled in 90 %")).count();
        assert_eq!(lines, 1, "{verdict:#?}");
    }
}
