//! Rule for a server whose control group is throttled: its CPU quota runs out before the end of a period.

use run::FigureUnit;

use super::rule::{PLAIN, Rule, Verdict, server};
use crate::Facts;
use crate::evidence::{Throttled, measured, quota_of_others, throttled};
use crate::number::{figure, percent, positive, ratio};
use crate::signals::{Signal, chance};
use crate::thresholds::{HINT, QUOTA_UNUSED, QUOTA_USED, SUREST, THROTTLED, THROTTLED_WIDTH};

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
    explain: "The kernel stops a control group for the rest of a period (usually 100 ms) once its CPU quota is used up. CPUs \
              look idle although nothing runs, and response times show steps of one period. The kernel counts the periods \
              and the throttled ones among them.",
    ..PLAIN
};

fn signal(held: &Throttled) -> Signal {
    Signal::new("throttled share of the periods of the server's quota", held.share, (THROTTLED, THROTTLED_WIDTH))
}

fn signals(facts: &Facts<'_>) -> Vec<Signal> {
    facts.server().and_then(|view| throttled(&view)).iter().map(signal).collect()
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
    let seen = chance(signal(&held).log_odds());
    if seen < HINT {
        return Verdict::RuledOut(format!("the CPU quota ran out in {} of its periods", percent(held.share)));
    }
    if let Some(why) = quota_of_others(&view, "server").filter(|_| !facts.limited()) {
        return Verdict::RuledOut(why);
    }
    let mut evidence = vec![held.evidence];
    let quota = view.value("cgroup.cpu_quota").and_then(positive);
    let used = view.cpu_used();
    if let (Some(q), Some(u)) = (quota, used) {
        let text = format!("the server used {} of its quota of {} CPUs", figure(u), figure(q));
        evidence.push(measured(&view, ("process.cpu", ""), (u, FigureUnit::Cpus), Some(q), text));
    }
    let near = quota.zip(used).and_then(|(q, u)| ratio(u, q)).is_none_or(|s| s >= QUOTA_USED);
    let size = quota.map_or(String::new(), |q| format!("{} CPUs, ", figure(q)));
    Verdict::Binds {
        confidence: seen * if near { SUREST } else { QUOTA_UNUSED },
        sentence: format!(
            "the server's CPU quota is used up: {size}throttled in {} of its periods",
            percent(held.share)
        ),
        evidence,
    }
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Who};

    /// Returns the verdict on a server with a quota of half a CPU, which runs out in `out` of the ten periods in a
    /// second.
    fn throttled(out: f64) -> run::Bottleneck {
        let mut run = PlantedRun::new(1000.0, 5000.0)
            .level(Who::Server, "cgroup.cpu_quota", "/srv", 0.5)
            .per_s(Who::Server, "process.cpu", "srv:100", |p| p.x * 100.0)
            .per_s(Who::Server, "cgroup.cpu_periods", "/srv", |_| 10.0)
            .per_s(Who::Server, "cgroup.cpu_throttled_periods", "/srv", move |_| out)
            .run();
        crate::judge(&mut run);
        run.findings.bottleneck
    }

    #[test]
    fn a_quota_that_ran_out_now_and_then_is_less_sure_than_one_that_always_did() {
        let (always, sometimes, once) = (throttled(9.0), throttled(3.0), throttled(0.5));
        assert!(always.id == "server-cpu-quota" && always.confidence >= 0.94, "{always:#?}");
        assert!(sometimes.id == "server-cpu-quota" && sometimes.confidence < 0.8, "{sometimes:#?}");
        assert_eq!(once.id, "server-concurrency", "{once:#?}");
        let margin = &sometimes.margins[0];
        assert!(margin.would_be == "server-concurrency" && margin.threshold == 0.25, "{margin:?}");
    }
}
