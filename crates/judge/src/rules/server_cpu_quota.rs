//! The server's control group is throttled: it may use CPUs for only a part of each period.

use run::FigureUnit;

use super::rule::{Rule, Tier, Verdict, none, server};
use crate::Facts;
use crate::evidence::{measured, throttled};
use crate::number::{figure, percent, positive, ratio};
use crate::thresholds::{QUOTA_USED, THROTTLED};

pub(super) const RULE: Rule = Rule {
    id: "server-cpu-quota",
    needs: &["cgroup.cpu_periods", "cgroup.cpu_throttled_periods"],
    waits: false,
    tier: Tier::Cause,
    explains: &["server-cpu", "server-single-thread", "accept-queue"],
    signals: none,
    judge,
    advice: &[
        "Raise the CPU quota (cpu.max of the control group, `--cpus` of a container, `limits.cpu` of a pod), or run fewer server threads.",
    ],
    explain: "The kernel stops a control group for the rest of a period (usually 100 ms) once its CPU quota is used up. CPUs \
              look idle although nothing runs, and response times show steps of one period. The kernel counts the periods \
              and the throttled ones among them.",
};

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
    if held.share < THROTTLED {
        return Verdict::RuledOut(format!("the CPU quota ran out in {} of its periods", percent(held.share)));
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
        confidence: if near { 0.95 } else { 0.7 },
        sentence: format!(
            "the server's CPU quota is used up: {size}throttled in {} of its periods",
            percent(held.share)
        ),
        evidence,
    }
}
