//! Rule for a server whose host, control group or TCP stack is short of memory.

use run::{Evidence, FigureUnit, IncidentKind, Trial};

use super::refaults::{self, Refaults};
use super::rule::{PLAIN, Rule, Verdict, server};
use crate::Facts;
use crate::context::disks::threads_wait;
use crate::context::evidence::measured;
use crate::context::single::{failed_share_of_all, sides_of, unanswered};
use crate::context::view::View;
use crate::number::{counted, figure, percent, positive, ratio};
use crate::signals::Signal;
use crate::thresholds::{
    FULL_WIDTH, GUESS, HINT, LIMIT_HITS, MEMORY_FULL, MEMORY_STALLED, ONE_SIGN, PAGES_PER_REQUEST, STALLS_SEEN,
    TWO_SIGNS, WEAK_SIGN,
};

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
    explain: "Memory runs out in four ways, each with its own counter. The host swaps or stalls (pressure, swap, major page \
              faults), the control group reaches its limit and reclaims, TCP enters memory pressure or drops connections, \
              or the kernel kills a process. Memory that is merely full costs nothing, so a stall of a tenth of the time \
              counts, not a high fill. Stalls and swapping of the whole host count only if the server's own processes \
              waited for pages (major page faults). Pages that the server reads again after the kernel evicted them \
              (refaults) show a lack of memory even without stalls. Page faults with neither stalls nor refaults are first \
              reads of files, not a lack of memory. TCP's counters count only if connections of the load failed or stalled, and a few times of TCP's memory \
              pressure only if they stalled more than under the lightest load. A control group at its limit counts only with such waits, since files that anything in it reads fill it. Stalls \
              of the host count beside a full control group only if threads of the server sleep for a disk as well. A \
              killed process counts only if requests failed or a process of the server ended.",
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

/// Returns the confidence that a control group at its memory limit slows the server. Page faults of the server's own
/// processes are the best sign. The pressure counter covers the whole host, so it counts only if threads of the server
/// sleep as in a disk wait at the same time. A thread sleeps as in a disk wait while it writes pages back, reads pages
/// again, or is throttled. If it is unknown whether threads sleep in a disk wait, the result is a guess, because
/// another program may lack memory.
fn of_group(view: &View<'_>) -> f64 {
    let is_stalled = stalled(view).is_some_and(|stalled| stalled.log_odds() >= 0.0);
    match threads_wait(view, &view.side.instance_filter()) {
        _ if lacks_pages(view) => ONE_SIGN,
        _ if !is_stalled => 0.0,
        Some(true) => WEAK_SIGN,
        Some(false) => 0.0,
        None => GUESS,
    }
}

/// Returns true if processes of the server wait for memory pages from a disk (major page faults).
fn waits_for_pages(view: &View<'_>) -> bool {
    view.per_request("process.major_faults").is_some_and(|n| n >= PAGES_PER_REQUEST)
}

/// Returns true if processes of the server wait for memory pages, and a lack of memory may be the reason. The pressure
/// counter includes waits for pages that were in memory before, but not for pages that are read for the first time. In
/// a full control group, each page that is read evicts another page, and the kernel soon forgets which pages it
/// evicted. Once evicted pages are forgotten, the kernel counts hardly any wait as a lack of memory. If the pressure
/// counter shows no lack, the code counts evicted pages that are read again (refaults). If the number of refaults is
/// unknown, a control group at its memory limit is enough.
fn lacks_pages(view: &View<'_>) -> bool {
    let is_stalled = || stalled(view).is_none_or(|stalled| stalled.log_odds() >= 0.0);
    let is_evicted = || match read_again(view) {
        Some(refaults) => refaults.show_lack() || full_group(view).is_some() && swaps_in(view),
        None => full_group(view).is_some(),
    };
    waits_for_pages(view) && (is_stalled() || is_evicted())
}

/// Returns the pages of files that the server read again after the kernel evicted them.
fn read_again(view: &View<'_>) -> Option<Refaults> {
    refaults::of_server(view, full_group(view).is_some())
}

/// Returns true if the host reads pages back from swap. Pages in swap belong to no file, so [`read_again`] does not
/// count them.
fn swaps_in(view: &View<'_>) -> bool {
    view.per_request("memory.swap_in").is_some_and(|pages| pages >= PAGES_PER_REQUEST)
}

/// Returns the confidence that the server is slow because it reads pages again. The confidence is high if the server's
/// threads often wait for a disk, and 0 if they do not.
fn of_refaults(view: &View<'_>) -> f64 {
    match threads_wait(view, &view.side.instance_filter()) {
        Some(true) => TWO_SIGNS,
        Some(false) => 0.0,
        None if waits_for_pages(view) => ONE_SIGN,
        None => WEAK_SIGN,
    }
}

/// Returns the highest memory use of a control group of the server, as a share of its memory limit. If several groups
/// share the limit of an ancestor group, the memory use of the ancestor is compared. Considers only groups that reached
/// the limit repeatedly, and returns the largest share of all these groups. The highest use is taken, because a group
/// is not full while its server still reads files for the first time.
fn full_group(view: &View<'_>) -> Option<f64> {
    let recording = &view.side.recording;
    let value = |id, group: &str| recording.reading(id, group, view.window).value();
    let full = |(group, limit): (String, f64)| {
        let most = |id| recording.max(id, &group, view.window).value();
        // Runs of older versions of loadline contain only the memory use of the server's own group.
        let most = most("cgroup.limited_memory").or_else(|| most("cgroup.memory"))?;
        let share = ratio(most, positive(limit)?)?;
        let hits = value("cgroup.memory_max_events", &group).unwrap_or(0.0);
        (share >= MEMORY_FULL && hits >= LIMIT_HITS).then_some(share)
    };
    view.instances("cgroup.memory_limit").into_iter().filter_map(full).reduce(f64::max)
}

/// Returns the share of the time in which threads of the host stalled for lack of memory.
fn stalled(view: &View<'_>) -> Option<Signal> {
    let share = view.share_of_time("pressure.memory_some")?;
    Some(Signal::new("time that threads of the host waited for memory", share, (MEMORY_STALLED, FULL_WIDTH)))
}

/// Returns the number of page faults per request for which the kernel read from a disk.
fn faults(view: &View<'_>) -> Option<Signal> {
    let (each, all) = (view.per_request("process.major_faults")?, view.value("process.major_faults")?);
    Some(Signal::counted("page faults with a disk per request", (each, all), PAGES_PER_REQUEST))
}

fn signals(facts: &Facts<'_>) -> Vec<Signal> {
    let of = |view: View<'_>| {
        let again = read_again(&view).map(|refaults| refaults.signal);
        stalled(&view).into_iter().chain(faults(&view)).chain(again).collect()
    };
    server(facts).map_or(Vec::new(), of)
}

/// Returns the share of the time in which threads of the host stalled for lack of memory, if this share is large.
fn stalls(view: &View<'_>) -> Option<Signal> {
    stalled(view).filter(|signal| signal.chance() >= HINT)
}

fn requests_failed(trial: &Trial) -> bool {
    trial.tally.error_count() > 0 || unanswered(trial) > 0.0
}

/// Returns true if more requests failed than the objective allows, and more than under the lightest load. A few
/// requests may fail under any load, for example because the server closes an idle connection.
fn fails_more(facts: &Facts<'_>, trial: &Trial) -> bool {
    let share = |trial: &Trial| failed_share_of_all(trial).unwrap_or(0.0);
    let light = facts.unloaded.filter(|light| !std::ptr::eq(*light, trial)).map_or(0.0, share);
    share(trial) > facts.limits.errors.max(light)
}

fn lost_a_process(trial: &Trial) -> bool {
    trial.incidents.iter().any(|i| matches!(i.kind, IncidentKind::WorkerEnded | IncidentKind::ServerEnded))
}

/// Returns true if requests of the load failed, or if TCP windows or send buffers stopped the load's connections. A TCP
/// stack that lacks memory keeps windows small.
fn connections_suffer(view: &View<'_>) -> bool {
    let stopped = |id: &'static str| sides_of(view.trial).iter().any(|v| v.value(id).is_some_and(|s| s >= STALLS_SEEN));
    requests_failed(view.trial) || stopped("connection.rwnd_limited") || stopped("connection.sndbuf_limited")
}

/// Returns true if a lack of TCP memory may have made windows or send buffers so small that they stopped the load's
/// connections. Windows of slow or distant clients stop connections under any load. If TCP ran short of memory only a
/// few times, the windows therefore count only if they stopped connections for a larger share of the time than under
/// the lightest load.
fn windows_shrank(facts: &Facts<'_>, view: &View<'_>) -> bool {
    if view.value("tcp.memory_pressures").is_some_and(|entries| entries >= LIMIT_HITS) {
        return connections_suffer(view);
    }
    let Some(light) = facts.unloaded.filter(|light| !std::ptr::eq(*light, view.trial)) else { return false };
    let stopped =
        |trial: &Trial, id: &'static str| sides_of(trial).iter().filter_map(|v| v.value(id)).fold(0.0, f64::max);
    ["connection.rwnd_limited", "connection.sndbuf_limited"]
        .into_iter()
        .any(|id| stopped(view.trial, id) - stopped(light, id) >= STALLS_SEEN)
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

/// Sign of a lack of memory, with its confidence.
struct Sign {
    confidence: f64,
    /// Description of the sign, for the verdict's sentence.
    words: String,
    evidence: Evidence,
}

fn signs(view: &View<'_>) -> Vec<Sign> {
    let mut out = Vec::new();
    if let Some(stalled) = stalls(view) {
        let share = stalled.value;
        let words = format!("threads waited for it {} of the time", percent(share));
        let text = format!("memory pressure: some thread of the host stalled {} of the time", percent(share));
        let evidence =
            measured(view, ("pressure.memory_some", ""), (share, FigureUnit::Plain), Some(MEMORY_STALLED), text);
        out.push(Sign { confidence: TWO_SIGNS * stalled.chance(), words, evidence });
    }
    if let Some(share) = full_group(view) {
        let hits = view.value("cgroup.memory_max_events").unwrap_or(0.0);
        let words = format!("its control group is {} full", percent(share));
        let text = format!("the control group reached its memory limit {}", counted(hits, "time"));
        let evidence = measured(view, ("cgroup.memory_max_events", ""), (hits, FigureUnit::Plain), None, text);
        out.push(Sign { confidence: of_group(view), words, evidence });
    }
    if let Some(found) = read_again(view).filter(Refaults::show_lack) {
        let pages = found.signal.value;
        let words = format!("it reads {} pages per request again that the kernel evicted", figure(pages));
        let text =
            format!("{} grew by {} per request, at most the pages that the server read", found.counter, figure(pages));
        let evidence =
            measured(view, (found.counter, ""), (pages, FigureUnit::PerRequest), Some(PAGES_PER_REQUEST), text);
        out.push(Sign { confidence: of_refaults(view), words, evidence });
    }
    for (id, what) in [
        ("tcp.abort_on_memory", "connections were dropped for lack of TCP memory"),
        ("tcp.memory_pressures", "times TCP ran short of memory"),
        ("cgroup.oom_kills", "processes were killed for lack of memory"),
    ] {
        if let Some(n) = view.value(id).filter(|n| *n >= 1.0) {
            let text = format!("{id} grew by {}", figure(n));
            let evidence = measured(view, (id, ""), (n, FigureUnit::Plain), Some(0.0), text);
            out.push(Sign { confidence: TWO_SIGNS, words: format!("{} {what}", figure(n)), evidence });
        }
    }
    // Without the pressure counter, the page faults may come from pages that are read for the first time.
    let of_faults = stalled(view).map_or(WEAK_SIGN, |stalled| ONE_SIGN * stalled.chance());
    for (id, what, confidence) in [
        ("memory.swap_out", "pages written to swap", ONE_SIGN),
        ("process.major_faults", "page faults with a disk", of_faults),
    ] {
        if let Some(n) = view.per_request(id).filter(|n| *n >= PAGES_PER_REQUEST) {
            let text = format!("{id} grew by {} per request", figure(n));
            let evidence = measured(view, (id, ""), (n, FigureUnit::PerRequest), None, text);
            out.push(Sign { confidence, words: format!("{} {what} per request", figure(n)), evidence });
        }
    }
    out
}

#[cfg(test)]
mod tests;
