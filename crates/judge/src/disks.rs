//! Use of the disks of a side.

use crate::number::ratio;
use crate::thresholds::{DISK_AWAITED, DISK_FULL, DISK_FULL_AWAITED};
use crate::view::View;

/// Returns the busy share from which a disk is full, by the share of the time that threads waited for it.
pub(crate) fn needed(stalled: Option<f64>) -> f64 {
    if stalled.is_some_and(|s| s >= DISK_AWAITED) { DISK_FULL_AWAITED } else { DISK_FULL }
}

/// Returns whether one of a side's disks is full.
pub(crate) fn is_full(view: &View<'_>) -> bool {
    let load = fullest(view, view.span_s.unwrap_or(0.0) * 1e6);
    load.is_some_and(|load| load.out + load.flushing >= needed(view.share_of_time("pressure.io_some")))
}

/// Busy time of a disk, in shares of the window.
#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) disk: String,
    /// With a read or write out.
    pub(crate) out: f64,
    /// Flushing, which the kernel does not count as a request.
    pub(crate) flushing: f64,
}

/// Returns the busiest disk.
pub(crate) fn fullest(view: &View<'_>, span_us: f64) -> Option<Load> {
    let flushes = view.side.recording.instances("disk.flushing");
    let of = |disk: &str| flushes.value(disk, view.window).and_then(|us| ratio(us, span_us));
    let disks = view.instances("disk.busy").into_iter().filter_map(|(disk, us)| {
        let flushing = of(&disk).unwrap_or(0.0);
        Some(Load { out: ratio(us, span_us)?, flushing, disk })
    });
    disks.max_by(|a, b| (a.out + a.flushing).total_cmp(&(b.out + b.flushing)))
}
