//! Use of the disks of a side.

use run::InstanceFilter;

use crate::number::{duration, figure, finite, percent, positive, ratio};
use crate::signals::{Signal, chance};
use crate::thresholds::{
    DISK_AWAITED, DISK_FULL, DISK_FULL_AWAITED, DISK_PRESSURE, DISK_STALLED, FULL_WIDTH, ONE_AT_A_TIME, ONE_SIGN,
    OWN_BYTES, POOL_SLOWED, REFUSED, STARVED_WIDTH, SURE,
};
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

/// Returns the busiest disk of a side.
pub(crate) fn fullest(view: &View<'_>, span_us: f64) -> Option<Load> {
    let flushes = view.side.recording.instances("disk.flushing");
    let of = |disk: &str| flushes.value(disk, view.window).and_then(|us| ratio(us, span_us));
    let disks = view.instances("disk.busy").into_iter().filter_map(|(disk, us)| {
        let flushing = of(&disk).unwrap_or(0.0);
        Some(Load { out: ratio(us, span_us)?, flushing, disk })
    });
    disks.max_by(|a, b| (a.out + a.flushing).total_cmp(&(b.out + b.flushing)))
}

/// Returns the confidence that a disk is the limit of the processes that keep it busy. A disk that serves many requests
/// at once may be busy all the time without being full. A busy disk is therefore one sign, and threads that wait for a
/// disk are a second sign. `stalled` is the share of the time in which threads waited for disks.
pub(crate) fn limits(load: &Load, stalled: Option<f64>) -> f64 {
    let waits = stalled.map_or(0.0, |share| chance((share - DISK_PRESSURE) / STARVED_WIDTH));
    full(load, stalled).chance() * (ONE_SIGN + waits * (SURE - ONE_SIGN))
}

/// Use of a disk by its reads and writes.
struct Use {
    /// Mean number of requests in progress while the disk works.
    depth: f64,
    /// Mean time from the start of a request to its end, microseconds.
    each_us: f64,
}

impl Use {
    /// Returns the use of a disk. The mean time of a request follows from Little's law: requests in progress, divided
    /// by requests per second. Returns `None` if a counter is missing, or if the disk was idle.
    fn of(view: &View<'_>, disk: &str) -> Option<Self> {
        let read = |id| view.side.recording.reading(id, disk, view.window).value().and_then(finite);
        let in_flight = read("disk.in_flight").and_then(positive)?;
        let served = positive(read("disk.reads")? + read("disk.writes").unwrap_or(0.0))?;
        let span_us = view.span_s? * 1e6;
        Some(Self { depth: ratio(in_flight * span_us, read("disk.busy")?)?, each_us: in_flight * span_us / served })
    }
}

/// Describes a busy disk that has no queue: it serves more requests at a time than under the load `light`, and no
/// request takes longer. An SSD serves many requests at once, so it can be busy all the time and still have room.
/// Returns `None` if requests wait for each other, or if this is unknown. Also returns `None` for a disk that flushes,
/// because a flush waits for all writes before it.
pub(crate) fn without_queue(view: &View<'_>, light: &View<'_>, load: &Load) -> Option<String> {
    let (now, before) = (Use::of(view, &load.disk)?, Use::of(light, &load.disk)?);
    let is_parallel = now.depth >= ONE_AT_A_TIME * before.depth.max(1.0);
    let is_as_fast = now.each_us <= (1.0 + POOL_SLOWED) * before.each_us;
    let text = format!(
        "{} was busy {} of the time, but it served {} requests at a time in {} each, as fast as {} at a time ({}): it has \
         no queue",
        load.disk,
        percent(load.busy()),
        figure(now.depth),
        duration(now.each_us),
        figure(before.depth),
        duration(before.each_us)
    );
    (is_parallel && is_as_fast && load.flushing < REFUSED).then_some(text)
}

/// Returns true if a thread of the side's processes waits for a disk for a large part of the time. Returns `None` if
/// the waits of the threads are unknown.
pub(crate) fn threads_wait(view: &View<'_>, own: &InstanceFilter<'_>) -> Option<bool> {
    let waiting = view.instances("process.disk_wait").into_iter().filter(|(name, _)| own.has(name));
    waiting.map(|(_, threads)| threads >= DISK_STALLED).reduce(|a, b| a || b)
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
    if most { Some(true) } else { threads_wait(view, own) }
}
