//! Signs of a lack of memory, each with its confidence and its evidence.

use run::{Evidence, FigureUnit};

use super::pages::{full_group, lacks_pages, read_again, stalled, waits_for_pages};
use crate::context::disks::{self, threads_wait};
use crate::context::evidence::measured;
use crate::context::view::View;
use crate::number::{counted, figure, percent, ratio};
use crate::rules::refaults::Refaults;
use crate::signals::Signal;
use crate::thresholds::{
    DISK_STALLED, GUESS, HINT, MEMORY_STALLED, ONE_SIGN, OWN_BYTES, PAGES_PER_REQUEST, TWO_SIGNS, WEAK_SIGN,
};

/// Sign of a lack of memory, with its confidence.
pub(super) struct Sign {
    pub(super) confidence: f64,
    /// Description of the sign, for the verdict's sentence.
    pub(super) words: String,
    pub(super) evidence: Evidence,
}

/// Returns all signs of a lack of memory on the server's host, in its control group and in its TCP stack.
pub(super) fn signs(view: &View<'_>) -> Vec<Sign> {
    let of_memory = [of_stalls(view), of_full_group(view), of_pages_read_again(view)].into_iter().flatten();
    of_memory.chain(of_events(view)).chain(of_page_rates(view)).collect()
}

/// Returns the sign that threads of the host stalled for lack of memory.
fn of_stalls(view: &View<'_>) -> Option<Sign> {
    let stalled = stalls(view)?;
    let share = stalled.value;
    let words = format!("threads waited for it {} of the time", percent(share));
    let text = format!("memory pressure: some thread of the host stalled {} of the time", percent(share));
    let evidence = measured(view, ("pressure.memory_some", ""), (share, FigureUnit::Plain), Some(MEMORY_STALLED), text);
    Some(Sign { confidence: TWO_SIGNS * stalled.chance(), words, evidence })
}

/// Returns the sign that a control group of the server reached its memory limit.
fn of_full_group(view: &View<'_>) -> Option<Sign> {
    let share = full_group(view)?;
    let hits = view.value("cgroup.memory_max_events").unwrap_or(0.0);
    let words = format!("its control group is {} full", percent(share));
    let text = format!("the control group reached its memory limit {}", counted(hits, "time"));
    let evidence = measured(view, ("cgroup.memory_max_events", ""), (hits, FigureUnit::Plain), None, text);
    Some(Sign { confidence: of_group(view), words, evidence })
}

/// Returns the sign that the server reads pages again, because the kernel evicted them.
fn of_pages_read_again(view: &View<'_>) -> Option<Sign> {
    let found = read_again(view).filter(Refaults::show_lack)?;
    let pages = found.signal.value;
    let words = format!("it reads {} pages per request again that the kernel evicted", figure(pages));
    let text =
        format!("{} grew by {} per request, at most the pages that the server read", found.counter, figure(pages));
    let evidence = measured(view, (found.counter, ""), (pages, FigureUnit::PerRequest), Some(PAGES_PER_REQUEST), text);
    Some(Sign { confidence: of_refaults(view), words, evidence })
}

/// Returns the signs of rare events: dropped connections, memory pressure of TCP, and killed processes.
fn of_events(view: &View<'_>) -> Vec<Sign> {
    let events = [
        ("tcp.abort_on_memory", "connections were dropped for lack of TCP memory"),
        ("tcp.memory_pressures", "times TCP ran short of memory"),
        ("cgroup.oom_kills", "processes were killed for lack of memory"),
    ];
    let sign = |(id, what): (&'static str, &str)| {
        let n = view.value(id).filter(|n| *n >= 1.0)?;
        let text = format!("{id} grew by {}", figure(n));
        let evidence = measured(view, (id, ""), (n, FigureUnit::Plain), Some(0.0), text);
        Some(Sign { confidence: TWO_SIGNS, words: format!("{} {what}", figure(n)), evidence })
    };
    events.into_iter().filter_map(sign).collect()
}

/// Returns the signs of pages that are written to swap, and of page faults with a disk.
fn of_page_rates(view: &View<'_>) -> Vec<Sign> {
    // Without the pressure counter, the page faults may come from pages that are read for the first time.
    let of_faults = stalled(view).map_or(WEAK_SIGN, |stalled| ONE_SIGN * stalled.chance());
    let counters = [
        ("memory.swap_out", "pages written to swap", ONE_SIGN),
        ("process.major_faults", "page faults with a disk", of_faults),
    ];
    let sign = |(id, what, confidence): (&'static str, &str, f64)| {
        let n = view.per_request(id).filter(|n| *n >= PAGES_PER_REQUEST)?;
        let text = format!("{id} grew by {} per request", figure(n));
        let evidence = measured(view, (id, ""), (n, FigureUnit::PerRequest), None, text);
        Some(Sign { confidence, words: format!("{} {what} per request", figure(n)), evidence })
    };
    counters.into_iter().filter_map(sign).collect()
}

/// Returns the confidence that a control group at its memory limit slows the server. Page faults of the server's own
/// processes are the best sign. The pressure counter covers the whole host. The pressure counter is therefore used only
/// if threads of the server are often in uninterruptible sleep (state D) in the same window. A thread is in state D
/// while it writes pages back, reads pages again, or is throttled. If the states of the threads are unknown, the result
/// is a guess, because another program may lack memory.
pub(super) fn of_group(view: &View<'_>) -> f64 {
    let is_stalled = stalled(view).is_some_and(|stalled| stalled.log_odds() >= 0.0);
    match threads_wait(view, &view.side.instance_filter()) {
        _ if lacks_pages(view) => ONE_SIGN,
        _ if !is_stalled => 0.0,
        Some(true) => WEAK_SIGN,
        Some(false) => 0.0,
        None => GUESS,
    }
}

/// Returns the confidence that the server is slow because it reads pages again. The confidence is high if the server's
/// threads often wait for a disk, and 0 if neither they nor the counters of the host show such waits.
fn of_refaults(view: &View<'_>) -> f64 {
    match threads_wait(view, &view.side.instance_filter()) {
        Some(true) => TWO_SIGNS,
        _ if waits_for_own_reads(view) => ONE_SIGN,
        Some(false) => 0.0,
        None if waits_for_pages(view) => ONE_SIGN,
        None => WEAK_SIGN,
    }
}

/// Returns true if threads of the host wait for disks for a large part of the time, and the server's processes read
/// most of the bytes that the disks deliver. A few samples of the server's threads may miss short waits, but the kernel
/// adds up each wait. Without the kernel's counter of waits, uses the time in which the disk had a request in progress.
fn waits_for_own_reads(view: &View<'_>) -> bool {
    let span_us = view.span_s.unwrap_or(0.0) * 1e6;
    let waited = view.share_of_time("pressure.io_some").or_else(|| Some(disks::fullest(view, span_us)?.out));
    let read = |id| view.value(id);
    let own = read("process.read_bytes").zip(read("disk.read_bytes")).and_then(|(own, all)| ratio(own, all));
    waited.is_some_and(|share| share >= DISK_STALLED) && own.is_some_and(|share| share >= OWN_BYTES)
}

/// Returns the share of the time in which threads of the host stalled for lack of memory, if this share is large.
fn stalls(view: &View<'_>) -> Option<Signal> {
    stalled(view).filter(|signal| signal.chance() >= HINT)
}
