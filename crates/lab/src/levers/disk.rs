//! Writes to the server's disk past the page cache and flushes: pieces as large as what others ask of it, by half as many threads as
//! others have requests in its queue. Each waits for its flushes, too, so that about a quarter of what the disk does is the lever's.
//!
//! Its dose is the share of the bytes that the disk moved which were its own. That is the share of the disk's work while pieces are
//! alike, which is why they are. Time is no measure of it: the kernel cuts large requests up and counts each part's time in the queue,
//! while a call lasts as long as the last of them, its flush and the wake-up. By time, a full disk had elasticities of 0.5 to 2.5; by
//! bytes, of 0.8 to 1.2.

use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::Receiver;

use run::{AgentCommand, LeverFound, LeverPart, LeverPlan, Prove};
use sys::clock;

use super::lever::{Lever, Place, Pull, Reach};
use super::pace::Pace;

pub(super) const ROW: Lever = Lever {
    id: "disk",
    help: "writes to the server's disk past the page cache and flushes",
    tests: &["server-disk", "server-concurrency"],
    needs: Prove::Default,
    always: false,
    slot_s: 0.15,
    planned: 0.25,
    rights: "a directory on that disk in which may be written (--prove-dir)",
    intrusion: "everything that uses the disk waits longer in half of the slots; at most 64 MiB are written over and over",
    dose: "bytes that it wrote over all that the disk moved (diskstats)",
    undo: "the file has no name from the start and goes with the agent",
    place: Place::Server,
    pull: Pull::Slots { plan, look: Some(look), act },
};

/// `O_DIRECT` of Linux, where it is the same on x86-64 and others that this is built for.
const O_DIRECT: i32 = sys::param::O_DIRECT;
/// Bytes a write: as small as what a database flushes, and no more than the largest requests of disks.
const PIECE: [usize; 2] = [16 << 10, 4 << 20];
/// Threads that write, at most.
const WRITERS: usize = 12;
/// How many requests others have in the queue for each thread that writes.
const OTHERS: f64 = 2.0;
/// What a direct write must be aligned to at most.
const ALIGN: usize = 4096;
/// Bytes after which it begins anew.
const FILE_BYTES: u64 = 64 << 20;

fn plan(reach: &Reach) -> Result<LeverPlan, String> {
    let dir = reach.dir.clone().ok_or("no directory on the server's disk was named (--prove-dir)")?;
    Ok(LeverPlan { lever: ROW.id.into(), path: Some(dir), ..LeverPlan::default() })
}

fn look(plan: &LeverPlan) -> Result<LeverFound, String> {
    on(plan).map(|_| LeverFound::default())
}

/// A file to write to, and the counters of its disk.
fn on(plan: &LeverPlan) -> Result<(std::fs::File, PathBuf), String> {
    let dir = plan.path.as_deref().ok_or("no directory")?;
    Ok((open(dir)?, queue_file(dir)?))
}

/// A file without a name.
fn open(dir: &Path) -> Result<std::fs::File, String> {
    let path = dir.join(format!(".loadline-{}", std::process::id()));
    let made = std::fs::OpenOptions::new().write(true).create_new(true).custom_flags(O_DIRECT).open(&path);
    let file = made.map_err(|e| format!("writing past the page cache in {}: {e}", dir.display()))?;
    std::fs::remove_file(&path).map_err(|e| format!("removing {}: {e}", path.display()))?;
    Ok(file)
}

/// The counters of the disk that holds a directory. Source: the kernel's Documentation/block/stat.rst.
fn queue_file(dir: &Path) -> Result<PathBuf, String> {
    let dev = std::fs::metadata(dir).map_err(|e| format!("{}: {e}", dir.display()))?.dev();
    let (major, minor) = ((dev >> 8) & 0xfff | (dev >> 32) & !0xfff, dev & 0xff | (dev >> 12) & !0xff);
    let file = PathBuf::from(format!("/sys/dev/block/{major}:{minor}/stat"));
    match file.exists() {
        true => Ok(file),
        false => Err(format!("{} is on no disk", dir.display())),
    }
}

/// What the kernel counted of a disk. Source: as [`queue_file`].
#[derive(Clone, Copy)]
struct Counted {
    /// Milliseconds that requests spent in the queue, all of them together.
    queued_ms: f64,
    /// Reads and writes.
    requests: f64,
    /// What they moved.
    bytes: f64,
}

impl Counted {
    fn of(file: &Path) -> Self {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let fields: Vec<f64> = text.split_whitespace().map(|n| n.parse().unwrap_or(f64::NAN)).collect();
        let at = |n: usize| fields.get(n).copied().unwrap_or(f64::NAN);
        Self { queued_ms: at(10), requests: at(0) + at(4), bytes: (at(2) + at(6)) * 512.0 }
    }

    fn since(self, before: Self) -> Self {
        Self {
            queued_ms: self.queued_ms - before.queued_ms,
            requests: self.requests - before.requests,
            bytes: self.bytes - before.bytes,
        }
    }
}

/// What the threads write in the slots that are on, by what was seen of others in those that are not.
struct Dosage {
    writers: AtomicUsize,
    piece: AtomicUsize,
}

impl Dosage {
    fn first() -> Self {
        Self { writers: AtomicUsize::new(1), piece: AtomicUsize::new(PIECE[0]) }
    }

    /// After a slot in which only others used the disk, for so many milliseconds.
    fn learn(&self, others: Counted, ms: f64) {
        if others.requests > 0.0 && ms > 0.0 {
            let writers = (others.queued_ms / ms / OTHERS).round().clamp(1.0, WRITERS as f64);
            let piece = (others.bytes / others.requests) as usize / ALIGN * ALIGN;
            self.writers.store(writers as usize, Relaxed);
            self.piece.store(piece.clamp(PIECE[0], PIECE[1]), Relaxed);
        }
    }
}

fn act(plan: &LeverPlan, commands: Receiver<AgentCommand>) -> Result<LeverPart, String> {
    let (file, queue) = on(plan)?;
    let (pace, own_bytes, dosage) = (Pace::new(plan), AtomicU64::new(0), Dosage::first());
    std::thread::scope(|scope| {
        let writer = |nth: usize| (nth, &pace, &file, &own_bytes, &dosage);
        let writes: Vec<_> = (0..WRITERS)
            .map(writer)
            .map(|(nth, pace, file, own_bytes, dosage)| {
                scope.spawn(move || Writer { nth, file, own_bytes, dosage }.write(pace))
            })
            .collect();
        let look = || (own_bytes.load(Relaxed), Counted::of(&queue), clock::monotonic_ns());
        let speed = |slot: usize, before: (u64, Counted, u64)| {
            let now = look();
            let all = now.1.since(before.1);
            if !plan.on[slot] {
                dosage.learn(all, (now.2 - before.2) as f64 / 1e6);
            }
            if plan.on[slot] { left((now.0 - before.0) as f64, all.bytes) } else { 1.0 }
        };
        let speed = pace.measure(&commands, look, speed);
        let wrote =
            writes.into_iter().map(|writes| writes.join().unwrap_or_else(|_| Err("a writing thread ended".into())));
        let wrote: Result<(), String> = wrote.collect();
        Ok(LeverPart { speed: wrote.and(speed)?, ..LeverPart::default() })
    })
}

/// Speed that is left to others of a disk that moved so many bytes, some of them the lever's.
fn left(own: f64, all: f64) -> f64 {
    if all > 0.0 { 1.0 - (own / all).clamp(0.0, 0.99) } else { 1.0 }
}

/// One thread that writes.
struct Writer<'a> {
    /// Its number; only the first so many write.
    nth: usize,
    file: &'a std::fs::File,
    /// What all of them wrote.
    own_bytes: &'a AtomicU64,
    dosage: &'a Dosage,
}

impl Writer<'_> {
    /// Writes while slots are on, and counts the bytes once the disk has them.
    fn write(&self, pace: &Pace) -> Result<(), String> {
        let memory = vec![0x5a_u8; PIECE[1] + ALIGN];
        let from = memory.as_ptr().align_offset(ALIGN).min(ALIGN);
        let room = FILE_BYTES / WRITERS as u64 / ALIGN as u64 * ALIGN as u64;
        let (begin_at, mut at) = (room * self.nth as u64, 0);
        for (slot, on) in pace.plan.on.iter().enumerate() {
            let (begin, end) = pace.whole_ns(slot);
            if !pace.sleep_until(begin) {
                return Ok(());
            }
            while *on && self.nth < self.dosage.writers.load(Relaxed) && clock::monotonic_ns() < end && !pace.stopped()
            {
                let piece = self.dosage.piece.load(Relaxed);
                let wrote = self.file.write_all_at(&memory[from..from + piece], begin_at + at);
                self.own_bytes.fetch_add(piece as u64, Relaxed);
                wrote.and_then(|()| self.file.sync_data()).map_err(|e| format!("writing to the server's disk: {e}"))?;
                at = (at + piece as u64) % (room - PIECE[1] as u64 + 1) / ALIGN as u64 * ALIGN as u64;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_as_many_write_as_others_have_in_the_queue_in_pieces_like_theirs() {
        let dosage = Dosage::first();
        let dosed = |queued_ms, requests, bytes| {
            dosage.learn(Counted { queued_ms, requests, bytes }, 100.0);
            (dosage.writers.load(Relaxed), dosage.piece.load(Relaxed))
        };
        assert_eq!(dosed(1800.0, 600.0, 600.0 * 700_000.0), (9, 700_000 / ALIGN * ALIGN));
        assert_eq!(dosed(20.0, 10.0, 10.0 * 512.0), (1, PIECE[0]), "the smallest piece, and one at a time");
        assert_eq!(dosed(0.0, 0.0, 0.0), (1, PIECE[0]), "who saw nothing learns nothing");
    }

    #[test]
    fn what_is_left_is_what_others_moved() {
        assert_eq!((left(25.0, 100.0), left(0.0, 100.0), left(1.0, 0.0)), (0.75, 1.0, 1.0));
        assert!(left(100.0, 90.0) > 0.0, "a piece that the kernel has not counted yet");
    }
}
