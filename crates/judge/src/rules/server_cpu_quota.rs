//! Rule for a server whose control group is throttled: its CPU quota runs out before the end of a period.

use run::FigureUnit;

use super::rule::{PLAIN, Rule, Verdict, server};
use crate::Facts;
use crate::context::evidence::{Throttled, is_quota_used, measured, quota_of_others, throttled};
use crate::context::quota;
use crate::context::view::View;
use crate::number::{cpus, figure, percent};
use crate::signals::Signal;
use crate::thresholds::{HINT, LIKELY, QUOTA_UNUSED, SUREST, THROTTLED, THROTTLED_WIDTH};

pub(super) const RULE: Rule = Rule {
    id: "server-cpu-quota",
    needs: &["cgroup.cpu_periods", "cgroup.cpu_throttled_periods"],
    explains: &["server-cpu", "server-single-thread", "accept-queue"],
    signals,
    is_counted: |_| true,
    judge,
    advice: &[
        "Raise the CPU quota (cpu.max of the control group, `--cpus` of a container, `limits.cpu` of a pod), or run fewer server threads.",
    ],
    explain: "The kernel stops a control group for the rest of a period (usually 100 ms) once its CPU quota is used up. Until \
              the next period none of its threads run, so CPUs look idle although requests wait, and response times show \
              steps of one period. The kernel counts all periods, and those in which it stopped the group. A runtime that \
              starts one thread for each CPU of its quota (Go, tokio, the JVM) is hardly ever stopped, but uses the whole \
              quota while CPUs of the host are idle. Bursts, such as those of a garbage collector, may use up the quota of \
              many periods for moments, while the rest of it is not needed. Such a quota is not the limit.",
    ..PLAIN
};

fn signal(held: &Throttled) -> Signal {
    Signal::new("throttled share of the periods of the server's quota", held.share, (THROTTLED, THROTTLED_WIDTH))
}

/// Returns the signal of the stronger sign: throttled periods, or a quota that is used up without throttling.
fn signals(facts: &Facts<'_>) -> Vec<Signal> {
    let Some((view, held)) = facts.server().and_then(|view| Some((view, throttled(&view)?))) else { return Vec::new() };
    let by_periods = signal(&held);
    let chance = by_periods.chance() * quota::stops_explain(&view);
    let by_use = quota::used(&view).filter(|_| quota::used_up(facts, &view) > chance);
    vec![by_use.unwrap_or(by_periods)]
}

fn judge(facts: &Facts<'_>) -> Verdict {
    let view = match server(facts) {
        Ok(view) => view,
        Err(verdict) => return verdict,
    };
    let Some(held) = throttled(&view) else {
        return match view.value("cgroup.cpu_periods") {
            Some(_) => Verdict::RuledOut("the server's control group has no CPU quota".into()),
            None => Verdict::CannotSay(vec!["cgroup.cpu_periods of the server's control group".into()]),
        };
    };
    let explained = quota::stops_explain(&view);
    let (by_periods, by_use) = (signal(&held).chance() * explained, quota::used_up(facts, &view));
    if by_periods.max(by_use) < HINT {
        return Verdict::RuledOut(format!("{}{}", ran_out(&held), if explained < LIKELY { SHORT_STOPS } else { "" }));
    }
    if let Some(why) = quota_of_others(&view, "server").filter(|_| !facts.limited()) {
        return Verdict::RuledOut(why);
    }
    if by_use > by_periods {
        without_throttling(&view, &held, by_use)
    } else {
        with_throttling(&view, held, by_periods)
    }
}

/// End of the sentence about a quota that stops the server only for short moments.
const SHORT_STOPS: &str = ", but only for moments: the rest of the quota was not needed";

fn ran_out(held: &Throttled) -> String {
    format!("the CPU quota ran out in {} of its periods", percent(held.share))
}

fn with_throttling(view: &View<'_>, held: Throttled, chance: f64) -> Verdict {
    let is_used = is_quota_used(view.cpu_used(), view.cpu_quota());
    let size = view.cpu_quota().map_or(String::new(), |q| format!("{}, ", cpus(q)));
    Verdict::Binds {
        confidence: chance * if is_used { SUREST } else { QUOTA_UNUSED },
        sentence: format!(
            "the server's CPU quota is used up: {size}throttled in {} of its periods",
            percent(held.share)
        ),
        evidence: std::iter::once(held.evidence).chain(use_of_quota(view)).collect(),
    }
}

fn without_throttling(view: &View<'_>, held: &Throttled, chance: f64) -> Verdict {
    let (used, quota) = (view.cpu_used().unwrap_or(0.0), view.cpu_quota().unwrap_or(0.0));
    Verdict::Binds {
        confidence: chance * SUREST,
        sentence: format!(
            "the server uses its whole CPU quota: {} of {}; it runs no more threads than the quota allows, so it was \
             throttled in only {} of the periods",
            figure(used),
            cpus(quota),
            percent(held.share)
        ),
        evidence: use_of_quota(view).into_iter().collect(),
    }
}

/// Returns evidence of the part of its quota that the server used.
fn use_of_quota(view: &View<'_>) -> Option<run::Evidence> {
    let (used, quota) = (view.cpu_used()?, view.cpu_quota()?);
    let text = format!("the server used {} of its quota of {}", figure(used), cpus(quota));
    Some(measured(view, ("process.cpu", ""), (used, FigureUnit::Cpus), Some(quota), text))
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Who};

    /// Returns the verdict on a server with a quota of half a CPU, which runs out in `out` of the ten periods in a
    /// second. The server uses the share `used` of its quota.
    fn throttled(out: f64, used: f64) -> run::Bottleneck {
        let mut run = PlantedRun::new(1000.0, 5000.0)
            .level(Who::Server, "cgroup.cpu_quota", "/srv", 0.5)
            .per_s(Who::Server, "process.cpu", "srv:100", move |p| p.x * 100.0 * used)
            .per_s(Who::Server, "cgroup.cpu_periods", "/srv", |_| 10.0)
            .per_s(Who::Server, "cgroup.cpu_throttled_periods", "/srv", move |_| out)
            .run();
        crate::judge(&mut run);
        run.findings.bottleneck
    }

    /// In this test, bursts of a garbage collector exhaust the quota of four CPUs in 45 % of the periods. When the
    /// quota is exhausted, the kernel stops the threads, in total for the share `stopped` of the time. The limit is a
    /// pool of connections that requests wait for.
    #[test]
    fn a_quota_that_bursts_touch_for_moments_is_not_the_limit() {
        let bursts = |stopped: f64, used: f64| {
            let share = |p: &crate::planted::Point| p.x / p.capacity;
            PlantedRun::new(4000.0, 2500.0)
                .level(Who::Server, "cpu.online", "", 16.0)
                .level(Who::Server, "process.cpus_allowed", "srv:100", 16.0)
                .level(Who::Server, "cgroup.cpu_quota", "/srv", 4.0)
                .per_s(Who::Server, "cpu.idle", "total", move |p| 1e6 * (15.9 - share(p) * 4.0 * used))
                .per_s(Who::Server, "cpu.user", "total", move |p| 1e6 * share(p) * 4.0 * used)
                .per_s(Who::Server, "process.cpu", "srv:100", move |p| 1e6 * share(p) * 4.0 * used)
                .per_s(Who::Server, "cgroup.cpu_time", "/srv", move |p| 1e6 * share(p) * 4.0 * used)
                .per_s(Who::Server, "cgroup.cpu_periods", "/srv", |_| 10.0)
                .per_s(Who::Server, "cgroup.cpu_throttled_periods", "/srv", move |p| 4.5 * share(p))
                .per_s(Who::Server, "cgroup.cpu_throttled_time", "/srv", move |p| 1e6 * share(p) * stopped)
                .verdict()
        };
        let (burst, long, full) = (bursts(0.03, 0.73), bursts(0.9, 0.73), bursts(0.03, 0.98));
        assert_ne!(burst.id, "server-cpu-quota", "{burst:#?}");
        assert!(long.id == "server-cpu-quota" && long.confidence >= 0.9, "stranded in slices of CPUs: {long:#?}");
        assert!(full.id == "server-cpu-quota" && full.confidence >= 0.9, "{full:#?}");
    }

    #[test]
    fn a_quota_that_ran_out_now_and_then_is_less_sure_than_one_that_always_did() {
        let (always, sometimes, once) = (throttled(9.0, 0.8), throttled(3.0, 0.8), throttled(0.5, 0.8));
        assert!(always.id == "server-cpu-quota" && always.confidence >= 0.94, "{always:#?}");
        assert!(sometimes.id == "server-cpu-quota" && sometimes.confidence < 0.8, "{sometimes:#?}");
        assert_eq!(once.id, "server-concurrency", "{once:#?}");
        let margin = &sometimes.margins[0];
        assert!(margin.would_be == "server-concurrency" && margin.threshold == 0.25, "{margin:?}");
    }
}
