//! Use of the disks of a side.

use run::InstanceFilter;

use stats::average;

use crate::context::view::View;
use crate::number::{counted, duration, figure, finite, percent, positive, ratio};
use crate::signals::{Signal, chance, spread};
use crate::thresholds::{
    DISK_AWAITED, DISK_FULL, DISK_FULL_AWAITED, DISK_PRESSURE, DISK_STALLED, FULL_WIDTH, INDIRECT, ONE_AT_A_TIME,
    ONE_SIGN, OWN_BYTES, POOL_SLOWED, REFUSED, STARVED_WIDTH, SURE,
};

/// Counter of the time in which threads of a host wait for disks.
const STALLS: &str = "pressure.io_some";
/// Counter of the number of threads of a process that sleep in state D.
const SLEEPS: &str = "process.disk_wait";
/// Counters that show how long threads wait for disks, see [`Waits`].
pub(crate) const WAITS: &[&str] = &[SLEEPS, STALLS];

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
    load.is_some_and(|load| full(&load, view.share_of_time(STALLS)).log_odds() >= 0.0)
}

/// Busy time of a disk, as shares of the measured window.
#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) disk: String,
    /// Share of the window in which a read or write was in progress.
    pub(crate) out: f64,
    /// Share of the window in which the disk flushed its cache. The kernel counts flushes separately from reads and
    /// writes.
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
        Some(Load { out: ratio(us, span_us)?.min(out_at_most(view, &disk)), flushing, disk })
    });
    disks.max_by(|a, b| (a.out + a.flushing).total_cmp(&(b.out + b.flushing)))
}

/// Returns an upper bound of the share of the time in which a read or write was in progress at a disk. The share of the
/// time in which a disk request is in progress is at most the mean number of disk requests in progress. Linux 5.0 to
/// 6.9 may count a whole clock tick as busy for each short request. The counted busy share may therefore be many times
/// too large. Returns 1 if the number of disk requests in progress was sampled too rarely.
fn out_at_most(view: &View<'_>, disk: &str) -> f64 {
    let mean = |part: &View<'_>| part.side.recording.reading("disk.in_flight", disk, part.window).value();
    spread(view, "disk.in_flight", mean).map_or(1.0, |(_, high)| high.clamp(0.0, 1.0))
}

/// Returns the confidence that a disk is the limit of the processes `own` that keep it busy. If a disk is the limit,
/// some request waits for it nearly all the time, and a thread waits for each such request. If no thread waits for a
/// full disk, the disk does other work, for example writes pages that the kernel postponed. A thread that reads
/// asynchronously does not sleep while it reads, so reads may fill a disk although no thread waits.
pub(crate) fn limits(view: &View<'_>, own: &InstanceFilter<'_>, load: &Load) -> f64 {
    let full = full(load, view.share_of_time(STALLS)).chance();
    let Some(waits) = waits(view, own) else { return full * ONE_SIGN };
    let asynchronous = if reads_most(view, own, &load.disk) { INDIRECT } else { 0.0 };
    full * (SURE * chance((waits.share - DISK_PRESSURE) / STARVED_WIDTH)).max(asynchronous)
}

/// Use of a disk by its reads and writes.
struct Use {
    /// Mean number of disk requests in progress while the disk works.
    depth: f64,
    /// Mean time from the start of a disk request to its end, microseconds.
    each_us: f64,
}

impl Use {
    /// Returns the use of a disk: the mean number of disk requests in progress, and the mean time of one. The mean time
    /// of a disk request follows from Little's law: requests in progress, divided by requests per second. Returns
    /// `None` if a counter is missing, or if the disk was idle.
    fn of(view: &View<'_>, disk: &str) -> Option<Self> {
        let read = |id| view.side.recording.reading(id, disk, view.window).value().and_then(finite);
        let in_flight = read("disk.in_flight").and_then(positive)?;
        let served = positive(read("disk.reads")? + read("disk.writes").unwrap_or(0.0))?;
        let span_us = view.span_s? * 1e6;
        Some(Self { depth: ratio(in_flight * span_us, read("disk.busy")?)?, each_us: in_flight * span_us / served })
    }
}

/// Describes a busy disk without a queue: under the load `light`, the disk served fewer requests at a time, and each
/// took about as long. An SSD serves many requests at once, so an SSD that is always busy may still be able to serve
/// more. Returns `None` if disk requests wait for each other, or if this is unknown. Also returns `None` for a disk
/// that flushes its cache, because a flush waits for all earlier writes.
pub(crate) fn without_queue(view: &View<'_>, light: &View<'_>, load: &Load) -> Option<String> {
    let (now, before) = (Use::of(view, &load.disk)?, Use::of(light, &load.disk)?);
    let is_parallel = now.depth >= ONE_AT_A_TIME * before.depth.max(1.0);
    let is_as_fast = now.each_us <= (1.0 + POOL_SLOWED) * before.each_us;
    let text = format!(
        "{} was busy {} of the time, but it served {} at a time in {} each, as fast as {} at a time ({}): it has \
         no queue",
        load.disk,
        percent(load.busy()),
        counted(now.depth, "request"),
        duration(now.each_us),
        figure(before.depth),
        duration(before.each_us)
    );
    (is_parallel && is_as_fast && load.flushing < REFUSED).then_some(text)
}

/// Returns the share of the time in which at least one thread of the processes `own` waits for a disk. Returns `None`
/// if the waits of the threads are unknown.
fn own_waits(view: &View<'_>, own: &InstanceFilter<'_>) -> Option<f64> {
    let recording = &view.side.recording;
    let columns: Vec<_> = recording.columns_of(SLEEPS).filter(|c| own.has(&c.instance)).collect();
    let threads = |row: usize| columns.iter().filter_map(|c| c.values.get(row).copied().flatten()).reduce(|a, b| a + b);
    let rows = recording.t_s.iter().enumerate().filter(|(_, t_s)| view.window.holds(**t_s));
    let waits: Vec<f64> = rows.filter_map(|(row, _)| threads(row)).map(|threads| threads.clamp(0.0, 1.0)).collect();
    (!waits.is_empty()).then(|| average(&waits)).and_then(finite)
}

/// Waits of threads for disks.
pub(crate) struct Waits {
    /// Counter that shows the waits.
    pub(crate) counter: &'static str,
    /// Owner of the threads that the counter includes: `server` or `host`.
    pub(crate) whose: &'static str,
    /// Share of the time in which at least one thread that the counter includes waits for a disk.
    pub(crate) share: f64,
}

/// Returns the waits for disks of the threads of the processes `own`. If the waits of the processes' own threads are
/// unknown, returns the waits of all threads of the host, which are an upper bound.
pub(crate) fn waits(view: &View<'_>, own: &InstanceFilter<'_>) -> Option<Waits> {
    let of_own = own_waits(view, own).map(|share| Waits { counter: SLEEPS, whose: "server", share });
    let of_host = || Some(Waits { counter: STALLS, whose: "host", share: view.share_of_time(STALLS)? });
    of_own.or_else(of_host)
}

/// Returns true if the threads of the processes in `own` wait for a disk for a large part of the time. Returns `None`
/// if the waits of the threads are unknown.
pub(crate) fn threads_wait(view: &View<'_>, own: &InstanceFilter<'_>) -> Option<bool> {
    own_waits(view, own).map(|share| share >= DISK_STALLED)
}

/// Returns true if the processes in `own` keep a disk busy. Processes keep a disk busy if they move most of the disk's
/// bytes. Processes whose threads often wait for a disk also keep the disk busy. Processes that move few bytes may keep
/// a disk busy, because the journal of a file system writes more bytes than its processes. Returns `None` if the
/// processes did not move most of the bytes, and the waits of their threads are unknown.
pub(crate) fn is_own(view: &View<'_>, own: &InstanceFilter<'_>, disk: &str) -> Option<bool> {
    let most = is_most(view, disk, moved(view, own, "process.read_bytes") + moved(view, own, "process.write_bytes"));
    if most { Some(true) } else { threads_wait(view, own) }
}

/// Returns true if most bytes that a disk moves are reads of the processes `own`. A read needs the disk at once, but
/// the kernel may postpone a write.
fn reads_most(view: &View<'_>, own: &InstanceFilter<'_>, disk: &str) -> bool {
    is_most(view, disk, moved(view, own, "process.read_bytes"))
}

/// Returns the bytes that the processes `own` moved, as the counter `id` counts them; 0 if unknown.
fn moved(view: &View<'_>, own: &InstanceFilter<'_>, id: &str) -> f64 {
    view.side.recording.sum(id, view.window, |name| own.has(name)).value().unwrap_or(0.0)
}

/// Returns true if `bytes` are most of the bytes that a disk moved.
fn is_most(view: &View<'_>, disk: &str, bytes: f64) -> bool {
    let read = |id| view.side.recording.reading(id, disk, view.window).value();
    let all = read("disk.read_bytes").zip(read("disk.write_bytes")).map(|(read, written)| read + written);
    all.and_then(|all| ratio(bytes, all)).is_some_and(|share| share >= OWN_BYTES)
}
