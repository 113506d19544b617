//! How full the disks of a side are.

use crate::number::ratio;
use crate::view::View;

/// Share of the time with a request out from which a disk counts as full.
const BUSY: f64 = 0.85;
/// The same where some thread of the host waits for the disk at least [`AWAITED`] of the time: writes that a file's lock puts
/// one behind another leave the disk a pause between them.
const BUSY_AND_AWAITED: f64 = 0.7;
/// Share of the time in which some thread waits for a disk from which the disk is what is waited for.
const AWAITED: f64 = 0.8;

/// Share of the time from which a disk is full, by how much of it threads waited.
pub(crate) fn needed(stalled: Option<f64>) -> f64 {
    if stalled.is_some_and(|s| s >= AWAITED) { BUSY_AND_AWAITED } else { BUSY }
}

/// Whether one of a side's disks is.
pub(crate) fn is_full(view: &View<'_>) -> bool {
    let load = fullest(view, view.span_s.unwrap_or(0.0) * 1e6);
    load.is_some_and(|load| load.out + load.flushing >= needed(view.share_of_time("pressure.io_some")))
}

/// How a disk spent the time, in shares of it.
#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) disk: String,
    /// With a read or write out.
    pub(crate) out: f64,
    /// Flushing, which the kernel does not count as a request out.
    pub(crate) flushing: f64,
}

/// The disk that had most to do.
pub(crate) fn fullest(view: &View<'_>, span_us: f64) -> Option<Load> {
    let flushes = view.side.recording.instances("disk.flushing");
    let of = |disk: &str| flushes.value(disk, view.window).and_then(|us| ratio(us, span_us));
    let disks = view.instances("disk.busy").into_iter().filter_map(|(disk, us)| {
        let flushing = of(&disk).unwrap_or(0.0);
        Some(Load { out: ratio(us, span_us)?, flushing, disk })
    });
    disks.max_by(|a, b| (a.out + a.flushing).total_cmp(&(b.out + b.flushing)))
}
