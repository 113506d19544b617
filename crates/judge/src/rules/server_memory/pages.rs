//! Waits for memory pages, and control groups at their memory limit, on the server's side.

use crate::context::view::View;
use crate::number::{positive, ratio};
use crate::rules::refaults::{self, Refaults};
use crate::signals::Signal;
use crate::thresholds::{FULL_WIDTH, LIMIT_HITS, MEMORY_FULL, MEMORY_STALLED, PAGES_PER_REQUEST};

/// Returns true if processes of the server wait for memory pages from a disk (major page faults).
pub(super) fn waits_for_pages(view: &View<'_>) -> bool {
    view.per_request("process.major_faults").is_some_and(|n| n >= PAGES_PER_REQUEST)
}

/// Returns true if processes of the server wait for memory pages, and a lack of memory may be the reason. The pressure
/// counter includes waits for pages that were in memory before, but not for pages that are read for the first time. In
/// a full control group, each page that is read evicts another page, and the kernel soon forgets which pages it
/// evicted. Once evicted pages are forgotten, the kernel counts hardly any wait as a lack of memory. If the pressure
/// counter shows no lack, the code counts evicted pages that are read again (refaults). If the number of refaults is
/// unknown, a control group at its memory limit is enough.
pub(super) fn lacks_pages(view: &View<'_>) -> bool {
    let is_stalled = || stalled(view).is_none_or(|stalled| stalled.log_odds() >= 0.0);
    let is_evicted = || match read_again(view) {
        Some(refaults) => refaults.show_lack() || full_group(view).is_some() && swaps_in(view),
        None => full_group(view).is_some(),
    };
    waits_for_pages(view) && (is_stalled() || is_evicted())
}

/// Returns the pages of files that the server read again after the kernel evicted them.
pub(super) fn read_again(view: &View<'_>) -> Option<Refaults> {
    refaults::of_server(view, full_group(view).is_some())
}

/// Returns true if the host reads pages back from swap. Pages in swap belong to no file, so [`read_again`] does not
/// count them.
fn swaps_in(view: &View<'_>) -> bool {
    view.per_request("memory.swap_in").is_some_and(|pages| pages >= PAGES_PER_REQUEST)
}

/// Returns the highest memory use of a control group of the server, as a share of its memory limit. If several groups
/// share the limit of an ancestor group, the memory use of the ancestor is compared. Considers only groups that reached
/// the limit repeatedly, and returns the largest share of all these groups. The highest use is taken, because a group
/// is not full while its server still reads files for the first time.
pub(super) fn full_group(view: &View<'_>) -> Option<f64> {
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
pub(super) fn stalled(view: &View<'_>) -> Option<Signal> {
    let share = view.share_of_time("pressure.memory_some")?;
    Some(Signal::new("time that threads of the host waited for memory", share, (MEMORY_STALLED, FULL_WIDTH)))
}

/// Returns the number of page faults per request for which the kernel read from a disk.
pub(super) fn faults(view: &View<'_>) -> Option<Signal> {
    let (each, all) = (view.per_request("process.major_faults")?, view.value("process.major_faults")?);
    Some(Signal::counted("page faults with a disk per request", (each, all), PAGES_PER_REQUEST))
}
