//! Rule for a server whose host, control group or TCP stack is short of memory.

mod pages;
mod signs;
mod suffering;

use self::pages::{faults, lacks_pages, read_again, stalled, waits_for_pages};
use self::signs::{of_group, signs};
use self::suffering::{connections_suffer, fails_more, lost_a_process, requests_failed, windows_shrank};
use super::rule::{PLAIN, Rule, Verdict, server};
use crate::Facts;
use crate::context::view::View;
use crate::number::{counted, figure, percent};
use crate::signals::Signal;
use crate::thresholds::HINT;

pub(super) const RULE: Rule = Rule {
    id: "server-memory",
    needs: &[
        "pressure.memory_some",
        "cgroup.memory_max_events",
        "memory.swap_out",
        "tcp.memory_pressures",
        "process.major_faults",
        "cgroup.refaults",
    ],
    explains: &["server-cpu", "server-single-thread", "server-disk", "tcp-window", "accept-queue"],
    shared: &[
        (&["pressure.memory_some", "memory.swap_out"], "processes of the server waited for pages"),
        (
            &["tcp.memory_pressures", "tcp.abort_on_memory"],
            "connections of the load failed, or their windows stopped them",
        ),
    ],
    signals,
    judge,
    advice: &[
        "Give the server more memory, keep less per connection (buffers, thread stacks), or raise the control group's limit.",
        "Raise net.ipv4.tcp_mem, or use smaller socket buffers, if TCP is short of memory.",
    ],
    explain: "Memory runs out in four ways, each with its own counter. The host swaps or stalls (pressure, swap, major \
              page faults), the control group reaches its limit and reclaims, TCP enters memory pressure or drops \
              connections, or the kernel kills a process. Memory that is merely full costs nothing, so a stall of a \
              tenth of the time counts, not a high fill. Stalls and swapping of the whole host count only if the \
              server's own processes waited for pages (major page faults). Pages that the server reads again after the \
              kernel evicted them (refaults) show a lack of memory even without stalls. Page faults with neither \
              stalls nor refaults are first reads of files, not a lack of memory. TCP's counters count only if \
              connections of the load failed or stalled. If TCP was short of memory only a few times, the connections \
              must have stalled more than under the lightest load. A control group at its limit counts only if its \
              processes also waited, because the files that they read fill the group in any case. If the control group \
              is full, stalls of the host count only if threads of the server also sleep for a disk. A killed process \
              counts only if requests failed or a process of the server ended.",
    ..PLAIN
};

fn judge(facts: &Facts<'_>) -> Verdict {
    let view = match server(facts) {
        Ok(view) => view,
        Err(verdict) => return verdict,
    };
    let mut signs = signs(&view);
    let all = signs.len();
    signs.retain(|sign| sign.confidence >= HINT && is_ours(facts, &view, sign.evidence.counter.as_str()));
    if signs.is_empty() && waits_for_pages(&view) && !lacks_pages(&view) {
        return Verdict::RuledOut(first_reads(&view));
    }
    if signs.is_empty() && all > 0 {
        return Verdict::RuledOut(others(&view));
    }
    if let Some((confidence, first)) =
        signs.iter().map(|sign| (sign.confidence, sign.words.clone())).max_by(|a, b| a.0.total_cmp(&b.0))
    {
        return Verdict::Binds {
            confidence,
            sentence: format!("the server is short of memory: {first}"),
            evidence: signs.into_iter().map(|sign| sign.evidence).collect(),
        };
    }
    match view.share_of_time("pressure.memory_some") {
        Some(share) => Verdict::RuledOut(format!("threads waited for memory {} of the time", percent(share))),
        None if view.value("memory.swap_out").is_some() || view.value("process.major_faults").is_some() => {
            Verdict::RuledOut("almost no swapping, major page faults or drops for lack of memory".into())
        }
        None => Verdict::CannotSay(vec!["pressure.memory_some and swap counters of the server's host".into()]),
    }
}

/// Returns true if the lack of memory that a counter shows affects the measured load. A lack of memory on the host or
/// in the TCP stack may affect only other programs.
fn is_ours(facts: &Facts<'_>, view: &View<'_>, counter: &str) -> bool {
    match counter {
        "pressure.memory_some" => waits_for_pages(view),
        "memory.swap_out" => lacks_pages(view),
        "tcp.abort_on_memory" => connections_suffer(view),
        "tcp.memory_pressures" => fails_more(facts, view.trial) || windows_shrank(facts, view),
        // Cached files may fill a control group's memory up to its limit, which does no harm by itself.
        "cgroup.memory_max_events" => of_group(view) > 0.0,
        // The killed process may have been another program of the control group.
        "cgroup.oom_kills" => requests_failed(view.trial) || lost_a_process(view.trial),
        _ => true,
    }
}

fn signals(facts: &Facts<'_>) -> Vec<Signal> {
    let of = |view: View<'_>| {
        let again = read_again(&view).map(|refaults| refaults.signal);
        stalled(&view).into_iter().chain(faults(&view)).chain(again).collect()
    };
    server(facts).map_or(Vec::new(), of)
}

/// Returns a sentence about page faults that do not come from a lack of memory.
fn first_reads(view: &View<'_>) -> String {
    let faults = view.per_request("process.major_faults").map_or("?".into(), figure);
    let waited = view.share_of_time("pressure.memory_some").map_or("?".into(), percent);
    format!(
        "the server had {faults} page faults with a disk per request, but threads waited for lack of memory only {waited} \
         of the time: it reads pages of files for the first time"
    )
}

/// Returns a sentence about a lack of memory that does not slow the server.
fn others(view: &View<'_>) -> String {
    let waited = view.share_of_time("pressure.memory_some").map_or("?".into(), percent);
    let faults = view.value("process.major_faults").map_or("an unknown number of".into(), figure);
    let hits = view.value("cgroup.memory_max_events").filter(|n| *n >= 1.0);
    let of_group =
        hits.map_or(String::new(), |n| format!(", its control group reached its limit {}", counted(n, "time")));
    format!(
        "threads of the host waited for memory {waited} of the time{of_group}, but the server had {faults} major page faults and its requests did not suffer: other processes are short of memory"
    )
}

#[cfg(test)]
mod tests;
