//! Use of the disks of a side.

use run::InstanceFilter;

use crate::number::ratio;
use crate::signals::Signal;
use crate::thresholds::{DISK_AWAITED, DISK_FULL, DISK_FULL_AWAITED, DISK_STALLED, FULL_WIDTH, OWN_BYTES};
use crate::view::View;

/// Makes a signal that says if a disk is full: the share of the time for which the disk was busy, against a threshold.
/// `stalled` is the share of the time in which threads waited for disks. The larger `stalled` is, the lower is the
/// threshold.
pub(crate) fn full(load: &Load, stalled: Option<f64>) -> Signal {
    let awaited = stalled.map_or(0.0, |share| ((share - DISK_STALLED) / (DISK_AWAITED - DISK_STALLED)).clamp(0.0, 1.0));
    let threshold = DISK_FULL - awaited * (DISK_FULL - DISK_FULL_AWAITED);
    Signal::new("busy share of the server's disk", load.busy(), (threshold, FULL_WIDTH))
}

/// Returns true if the busiest disk of a side is more likely full than not.
pub(crate) fn is_full(view: &View<'_>) -> bool {
    let load = fullest(view, view.span_s.unwrap_or(0.0) * 1e6);
    load.is_some_and(|load| full(&load, view.share_of_time("pressure.io_some")).log_odds() >= 0.0)
}

/// Busy time of a disk, in shares of the window.
#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) disk: String,
    /// Share of the window in which a read or write was in progress.
    pub(crate) out: f64,
    /// Share of the window in which the disk flushed its cache. The kernel counts flushes apart from reads and writes.
    pub(crate) flushing: f64,
}

impl Load {
    /// Returns the share of the time for which the disk was busy, 0 to 1.
    pub(crate) fn busy(&self) -> f64 {
        (self.out + self.flushing).min(1.0)
    }
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

/// Returns true if the side's processes keep a disk busy. Processes keep a disk busy if they move most of its bytes.
/// They also keep it busy if one of their threads waits for a disk for a large part of the time. Processes that move
/// few of the bytes may keep the disk busy, too, because a file system's journal writes more bytes than the processes
/// do. Returns `None` if the processes did not move most of the bytes, and the waits of their threads are unknown.
pub(crate) fn is_own(view: &View<'_>, own: &InstanceFilter<'_>, disk: &str) -> Option<bool> {
    let recording = &view.side.recording;
    let sum = |id| recording.sum(id, view.window, |name| own.has(name)).value();
    let moved = sum("process.read_bytes").unwrap_or(0.0) + sum("process.write_bytes").unwrap_or(0.0);
    let read = |id| recording.reading(id, disk, view.window).value();
    let all = read("disk.read_bytes").zip(read("disk.write_bytes")).map(|(read, written)| read + written);
    let most = all.and_then(|all| ratio(moved, all)).is_some_and(|share| share >= OWN_BYTES);
    let waiting = view.instances("process.disk_wait").into_iter().filter(|(name, _)| own.has(name));
    let waits = waiting.map(|(_, threads)| threads >= DISK_STALLED).reduce(|a, b| a || b);
    if most { Some(true) } else { waits }
}
