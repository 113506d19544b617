//! The server's host, control group or TCP stack is short of memory.

use run::{Evidence, FigureUnit};

use super::rule::{Rule, Verdict, server};
use crate::Facts;
use crate::evidence::measured;
use crate::number::{figure, percent, positive, ratio};
use crate::thresholds::{LIMIT_HITS, MEMORY_FULL, MEMORY_STALLED, PAGES_PER_REQUEST};
use crate::view::View;

pub(super) const RULE: Rule = Rule {
    id: "server-memory",
    needs: &[
        "pressure.memory_some",
        "cgroup.memory_max_events",
        "memory.swap_out",
        "tcp.memory_pressures",
        "process.major_faults",
    ],
    waits: false,
    judge,
    advice: &[
        "Give the server more memory, lower what each connection keeps (buffers, thread stacks), or raise the control group's limit.",
        "For memory of TCP itself: net.ipv4.tcp_mem, and smaller socket buffers a connection.",
    ],
    explain: "Memory runs out in four ways, each with its own counters: the host swaps or stalls (pressure, swap, \
              major faults); the control group meets its limit and reclaims; TCP enters memory pressure or drops \
              connections; or a process is killed. Stalls count from a tenth of the time on. Memory that is merely \
              full costs nothing and does not count. Stalls and swapping of the whole host count only when the \
              server's own processes had major faults; otherwise other programs are short of memory.",
};

fn judge(facts: &Facts<'_>) -> Verdict {
    let view = match server(facts) {
        Ok(view) => view,
        Err(verdict) => return verdict,
    };
    let mut signs = signs(&view);
    if let Some(why) = others(&view) {
        signs.retain(|(_, e)| !HOST_WIDE.contains(&e.counter.as_str()));
        if signs.is_empty() {
            return Verdict::RuledOut(why);
        }
    }
    if let Some((confidence, first)) =
        signs.iter().map(|(c, e)| (*c, e.text.clone())).max_by(|a, b| a.0.total_cmp(&b.0))
    {
        return Verdict::Binds {
            confidence,
            sentence: format!("the server is short of memory: {first}"),
            evidence: signs.into_iter().map(|(_, e)| e).collect(),
        };
    }
    match view.share_of_time("pressure.memory_some") {
        Some(share) => Verdict::RuledOut(format!("threads waited for memory {} of the time", percent(share))),
        None if view.value("memory.swap_out").is_some() || view.value("process.major_faults").is_some() => {
            Verdict::RuledOut("no swapping, no major faults to speak of, no drops for lack of memory".into())
        }
        None => Verdict::CannotSay(vec!["pressure.memory_some and swap counters of the server's host".into()]),
    }
}

/// Counters of the whole host, where another process may be short of memory.
const HOST_WIDE: &[&str] = &["pressure.memory_some", "memory.swap_out"];

/// Returns why the host's signs are not the server's: its own processes never waited for a page.
fn others(view: &View<'_>) -> Option<String> {
    let faults = view.value("process.major_faults").filter(|n| *n < 1.0)?;
    let share = view.share_of_time("pressure.memory_some").filter(|s| *s >= MEMORY_STALLED)?;
    Some(format!(
        "threads of the host waited for memory {} of the time, but the server had {} major page faults: others are short",
        percent(share),
        figure(faults)
    ))
}

fn signs(view: &View<'_>) -> Vec<(f64, Evidence)> {
    let mut out = Vec::new();
    if let Some(share) = view.share_of_time("pressure.memory_some").filter(|s| *s >= MEMORY_STALLED) {
        let text = format!("a thread of the host waited for memory {} of the time", percent(share));
        out.push((
            0.85,
            measured(view, ("pressure.memory_some", ""), (share, FigureUnit::Plain), Some(MEMORY_STALLED), text),
        ));
    }
    let hits = view.value("cgroup.memory_max_events").unwrap_or(0.0);
    let fill = view.value("cgroup.memory").zip(view.value("cgroup.memory_limit").and_then(positive));
    if let Some(share) = fill.and_then(|(m, l)| ratio(m, l)).filter(|s| *s >= MEMORY_FULL && hits >= LIMIT_HITS) {
        let text = format!("its control group is {} full and met its limit {} times", percent(share), figure(hits));
        out.push((0.8, measured(view, ("cgroup.memory_max_events", ""), (hits, FigureUnit::Plain), None, text)));
    }
    for (id, least, what) in [
        ("tcp.abort_on_memory", 1.0, "connections were dropped for lack of TCP memory"),
        ("tcp.memory_pressures", 1.0, "times TCP ran short of memory"),
        ("cgroup.oom_kills", 1.0, "processes were killed for lack of memory"),
    ] {
        if let Some(n) = view.value(id).filter(|n| *n >= least) {
            out.push((
                0.85,
                measured(view, (id, ""), (n, FigureUnit::Plain), Some(0.0), format!("{} {what}", figure(n))),
            ));
        }
    }
    for (id, what) in
        [("memory.swap_out", "pages written to swap"), ("process.major_faults", "page faults with a disk")]
    {
        if let Some(n) = view.per_request(id).filter(|n| *n >= PAGES_PER_REQUEST) {
            out.push((
                0.75,
                measured(
                    view,
                    (id, ""),
                    (n, FigureUnit::PerRequest),
                    None,
                    format!("{} {what} per request", figure(n)),
                ),
            ));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Who};

    #[test]
    fn memory_that_others_are_short_of_is_not_the_server_s() {
        let short = |faults: f64| {
            let mut run = PlantedRun::new(5000.0, 800.0)
                .per_s(Who::Server, "pressure.memory_some", "", |p| 500.0 * p.x)
                .per_s(Who::Server, "process.major_faults", "srv:100", move |p| p.x * faults)
                .run();
            crate::judge(&mut run);
            run.findings.bottleneck
        };
        assert_eq!(short(3.0).id, "server-memory");
        let b = short(0.0);
        assert_ne!(b.id, "server-memory", "{b:#?}");
        assert!(b.ruled_out.iter().any(|r| r.id == "server-memory" && r.why.contains("others")), "{b:#?}");
    }
}
