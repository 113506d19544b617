//! Lever (temporary change of an experiment) that slows the server's disk: it writes to the disk, past the page cache,
//! and flushes its writes. The lever's writes are about as large as the requests of other programs. The lever uses half
//! as many writing threads as other programs have requests in the disk's queue. These numbers alone would give the
//! lever a third of the disk's work. Each thread also waits for its flushes, so the lever gets only about a quarter of
//! the disk's work.
//!
//! The lever reports the disk's speed for other programs. Loadline measures how many bytes other programs move per busy
//! millisecond of the disk. The reported speed is the number of bytes per busy millisecond with the lever on, divided
//! by the number with the lever off. If other programs keep the disk busy, their throughput falls by as much as the
//! reported speed. If other programs use the disk for half of the time, the lever uses the other half, so the disk is
//! busy twice as long. The reported speed therefore halves, but the throughput of the other programs stays the same.
//!
//! If other programs keep the disk busy, their throughput falls by as much as the reported speed, even if the disk
//! could do more. The reported speed alone therefore does not show a full disk. The lever therefore also reports the
//! bytes per second of all programs. A disk that moves more bytes with the lever than without it was not full.
//!
//! Two other measures of the speed were tried and gave wrong results. The first wrong measure was the lever's share of
//! all written and read bytes, which leaves out flushes and gaps between writes. On a disk of 8 GB/s, the lever's share
//! of all bytes was a sixth, but throughput fell by more than a third. Measured by the lever's share of all bytes, the
//! elasticities were 2.9 to 3.6, although an elasticity should not exceed 1. The second wrong measure was the duration
//! of the lever's system calls. This duration depends on the slowest parts of a call (flush and wake-up), and gave
//! elasticities of 0.5 to 2.5.

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::Receiver;

use run::{AgentCommand, LeverCheck, LeverPart, LeverPlan, Prove};
use sys::clock;

use super::disk_target::{is_on_tested_disk, open_target};
use super::lever::{Lever, LeverHost, LeverTargets, Pull};
use super::slot_clock::SlotClock;

pub(super) const ROW: Lever = Lever {
    id: "disk",
    help: "writes to the server's disk past the page cache and flushes",
    tests: &["server-disk", "server-concurrency"],
    needs: Prove::Default,
    always: false,
    slot_s: 0.15,
    planned: 0.25,
    rights: "a writable directory on that disk (--prove-dir)",
    intrusion: "everything that uses the disk waits longer in half of the slots; at most 64 MiB are rewritten again and again",
    dose: "bytes that others moved while the disk was busy (diskstats): with the lever over without it",
    undo: "the file has no name and disappears with the agent",
    place: LeverHost::Server,
    pull: Pull::Slots { plan, check: Some(check), act },
};

/// Minimum and maximum size of a write, bytes. The minimum size is typical of a database's flushes, and the maximum
/// size is that of a disk's largest request.
const WRITE_BYTES: [usize; 2] = [16 << 10, 4 << 20];
/// Maximum number of writing threads.
const MAX_WRITERS: usize = 12;
/// Minimum reported speed of the disk. If other programs moved no bytes during a time slot, the time slot gets this
/// speed. The minimum must be positive, because the logarithm of the speed is taken.
const MIN_SPEED: f64 = 0.01;
/// Maximum number of writes between two flushes.
const MAX_WRITES_PER_FLUSH: f64 = 1e6;
/// Mean number of other programs' requests in the disk's queue, divided by the number of the experiment's writing
/// threads.
const QUEUE_PER_WRITER: f64 = 2.0;
/// Alignment of direct writes, bytes: the largest that any disk requires.
const ALIGN_BYTES: usize = 4096;
/// Size of the file that the lever writes, bytes. After the file's end, writing continues at its beginning.
const FILE_BYTES: u64 = 64 << 20;

fn plan(targets: &LeverTargets) -> Result<LeverPlan, String> {
    let dir = targets.dir.clone().ok_or("no directory on the server's disk is named (--prove-dir)")?;
    let disk = targets.full_disk.clone();
    Ok(LeverPlan { lever: ROW.id.into(), path: Some(dir), disk, ..LeverPlan::default() })
}

fn check(plan: &LeverPlan) -> Result<LeverCheck, String> {
    open_target(plan)?;
    is_on_tested_disk(Path::new("/sys"), plan).map(|()| LeverCheck::default())
}

/// Counters of a disk. Source: the kernel's Documentation/block/stat.rst.
#[derive(Clone, Copy)]
struct DiskCounters {
    /// Time during which the disk had at least one request, milliseconds.
    busy_ms: f64,
    /// Sum of the times that requests spent in the queue, milliseconds.
    queued_ms: f64,
    /// Number of reads and writes that the disk has completed.
    requests: f64,
    /// Number of bytes that the disk has read and written.
    bytes: f64,
    /// Number of flushes of the disk's own cache. One flush serves all requests that wait for a flush. NaN before Linux
    /// 5.5, whose kernel does not count flushes.
    flushes: f64,
}

impl DiskCounters {
    fn read(file: &Path) -> Self {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let fields: Vec<f64> = text.split_whitespace().map(|n| n.parse().unwrap_or(f64::NAN)).collect();
        let field = |n: usize| fields.get(n).copied().unwrap_or(f64::NAN);
        Self {
            busy_ms: field(9),
            queued_ms: field(10),
            requests: field(0) + field(4),
            bytes: (field(2) + field(6)) * 512.0,
            flushes: field(15),
        }
    }

    fn since(self, before: Self) -> Self {
        Self {
            busy_ms: self.busy_ms - before.busy_ms,
            queued_ms: self.queued_ms - before.queued_ms,
            requests: self.requests - before.requests,
            bytes: self.bytes - before.bytes,
            flushes: self.flushes - before.flushes,
        }
    }
}

/// Number of writing threads, and size of their writes, while the lever is on. Both numbers are derived from the
/// requests of other programs to the disk while the lever is off.
struct WriteDose {
    writers: AtomicUsize,
    piece: AtomicUsize,
    /// Number of writes of a thread from one flush to the next.
    flush_after: AtomicUsize,
}

impl WriteDose {
    fn first() -> Self {
        Self { writers: AtomicUsize::new(1), piece: AtomicUsize::new(WRITE_BYTES[0]), flush_after: AtomicUsize::new(1) }
    }

    /// Sets all three fields according to the requests of other programs in a time slot in which the experiment does
    /// not write. `ms` is the length of the time slot without writes, milliseconds.
    fn learn(&self, others: DiskCounters, ms: f64) {
        if others.requests > 0.0 && ms > 0.0 {
            let writers = (others.queued_ms / ms / QUEUE_PER_WRITER).round().clamp(1.0, MAX_WRITERS as f64);
            let piece = (others.bytes / others.requests) as usize / ALIGN_BYTES * ALIGN_BYTES;
            self.writers.store(writers as usize, Relaxed);
            self.piece.store(piece.clamp(WRITE_BYTES[0], WRITE_BYTES[1]), Relaxed);
            let flush_after =
                if others.flushes > 0.0 { others.requests / others.flushes } else { MAX_WRITES_PER_FLUSH };
            self.flush_after.store(flush_after.round().clamp(1.0, MAX_WRITES_PER_FLUSH) as usize, Relaxed);
        }
    }
}

fn act(plan: &LeverPlan, commands: Receiver<AgentCommand>) -> Result<LeverPart, String> {
    let (file, queue) = open_target(plan)?;
    let (slot_clock, own_bytes, dose) = (SlotClock::new(plan), AtomicU64::new(0), WriteDose::first());
    std::thread::scope(|scope| {
        let writer = |nth: usize| (nth, &slot_clock, &file, &own_bytes, &dose);
        let writes = (0..MAX_WRITERS).map(writer).map(|(nth, slot_clock, file, own_bytes, dose)| {
            let write = move || Writer { nth, file, own_bytes, dose }.write(slot_clock);
            let started = std::thread::Builder::new().spawn_scoped(scope, write);
            started.map_err(|e| slot_clock.end_for_lack_of_threads(&e))
        });
        let writes = writes.collect::<Result<Vec<_>, String>>()?;
        let look = || (own_bytes.load(Relaxed), DiskCounters::read(&queue), clock::monotonic_ns());
        let used = |slot: usize, before: (u64, DiskCounters, u64)| {
            let now = look();
            let (all, ms) = (now.1.since(before.1), (now.2 - before.2) as f64 / 1e6);
            if !plan.on[slot] {
                dose.learn(all, ms);
            }
            let moved = (all.bytes - (now.0 - before.0) as f64).max(0.0) / all.busy_ms.max(1.0);
            (moved, (all.busy_ms / ms.max(1.0)).min(1.0), all.bytes / ms.max(1.0))
        };
        let used = slot_clock.measure(&commands, look, used);
        let wrote =
            writes.into_iter().map(|writes| writes.join().unwrap_or_else(|_| Err("a writing thread ended".into())));
        let wrote: Result<(), String> = wrote.collect();
        let known = wrote.and(used)?.into_iter().map(|of_slot| of_slot.unwrap_or((f64::NAN, f64::NAN, f64::NAN)));
        let (moved, wanted, work): (Vec<f64>, Vec<f64>, Vec<f64>) = known.collect();
        Ok(LeverPart { speed: speeds(&plan.on, &moved), wanted, work, ..LeverPart::default() })
    })
}

/// Returns the disk's speed for other programs in each slot: bytes per busy millisecond, relative to the mean without
/// the lever. If no other program uses the disk, the speed is 1. If a slot was not measured, its value in `moved` and
/// in the result is NaN (not a number).
fn speeds(on: &[bool], moved: &[f64]) -> Vec<f64> {
    let without = on.iter().zip(moved).filter(|(on, moved)| !**on && moved.is_finite());
    let without: Vec<f64> = without.map(|(_, moved)| *moved).collect();
    match judge::average(&without) {
        usual if usual > 0.0 => moved.iter().map(|moved| (moved / usual).max(MIN_SPEED)).collect(),
        _ => vec![1.0; moved.len()],
    }
}

/// One of the threads that write to the disk while the lever is on.
struct Writer<'a> {
    /// Index of the thread. Only threads with an index below `dose.writers` write.
    nth: usize,
    file: &'a std::fs::File,
    /// Number of bytes that all writing threads wrote.
    own_bytes: &'a AtomicU64,
    dose: &'a WriteDose,
}

impl Writer<'_> {
    /// Writes to the disk in the time slots in which the experiment slows the disk. Adds the size of each write to
    /// `own_bytes`.
    fn write(&self, slot_clock: &SlotClock) -> Result<(), String> {
        let memory = vec![0x5a_u8; WRITE_BYTES[1] + ALIGN_BYTES];
        let from = memory.as_ptr().align_offset(ALIGN_BYTES).min(ALIGN_BYTES);
        let room = FILE_BYTES / MAX_WRITERS as u64 / ALIGN_BYTES as u64 * ALIGN_BYTES as u64;
        let (begin_at, mut at, mut unflushed) = (room * self.nth as u64, 0, 0);
        for (slot, on) in slot_clock.plan.on.iter().enumerate() {
            let (begin, end) = slot_clock.whole_ns(slot);
            if !slot_clock.sleep_until(begin) {
                return Ok(());
            }
            while *on
                && self.nth < self.dose.writers.load(Relaxed)
                && clock::monotonic_ns() < end
                && !slot_clock.stopped()
            {
                let piece = self.dose.piece.load(Relaxed);
                let mut wrote = self.file.write_all_at(&memory[from..from + piece], begin_at + at);
                self.own_bytes.fetch_add(piece as u64, Relaxed);
                unflushed += 1;
                if unflushed >= self.dose.flush_after.load(Relaxed) {
                    (wrote, unflushed) = (wrote.and_then(|()| self.file.sync_data()), 0);
                }
                wrote.map_err(|e| format!("writing to the server's disk: {e}"))?;
                at = (at + piece as u64) % (room - WRITE_BYTES[1] as u64 + 1) / ALIGN_BYTES as u64 * ALIGN_BYTES as u64;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: DiskCounters =
        DiskCounters { busy_ms: 0.0, queued_ms: 0.0, requests: 0.0, bytes: 0.0, flushes: 0.0 };

    #[test]
    fn the_lever_writes_with_half_of_the_queue_and_with_pieces_of_equal_size() {
        let dose = WriteDose::first();
        let dosed = |queued_ms, requests, bytes| {
            dose.learn(DiskCounters { queued_ms, requests, bytes, ..NOTHING }, 100.0);
            (dose.writers.load(Relaxed), dose.piece.load(Relaxed))
        };
        assert_eq!(dosed(1800.0, 600.0, 600.0 * 700_000.0), (9, 700_000 / ALIGN_BYTES * ALIGN_BYTES));
        assert_eq!(dosed(20.0, 10.0, 10.0 * 512.0), (1, WRITE_BYTES[0]), "the smallest piece, and one at a time");
        assert_eq!(dosed(0.0, 0.0, 0.0), (1, WRITE_BYTES[0]), "who saw nothing learns nothing");
    }

    #[test]
    fn the_lever_flushes_as_often_per_request_as_others() {
        let after = |flushes| {
            let dose = WriteDose::first();
            dose.learn(DiskCounters { requests: 8000.0, bytes: 8e9, flushes, ..NOTHING }, 100.0);
            dose.flush_after.load(Relaxed)
        };
        assert_eq!((after(2000.0), after(9000.0), after(0.0)), (4, 1, MAX_WRITES_PER_FLUSH as usize));
        assert_eq!(after(f64::NAN), MAX_WRITES_PER_FLUSH as usize, "an old kernel");
    }

    #[test]
    fn the_speed_is_the_bytes_of_others_per_busy_time() {
        let on = [false, true, false, true];
        assert_eq!(speeds(&on, &[90.0, 75.0, 110.0, 50.0]), [0.9, 0.75, 1.1, 0.5]);
        assert_eq!(speeds(&on, &[1.0, 0.0, 1.0, 0.0])[1], MIN_SPEED);
        assert_eq!(speeds(&on, &[0.0, 5.0, 0.0, 5.0]), [1.0; 4], "nobody else uses it");
    }
}
