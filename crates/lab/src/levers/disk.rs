//! Writes to the server's disk past the page cache and flushes, one piece after another.
//!
//! Its dose is the share of the requests in the disk's queue that were its own: its time in calls over the time that all
//! requests spent there (/proc's "weighted time", which holds reads, writes and flushes).

use std::io::{Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
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
    planned: 0.5,
    rights: "a directory on that disk in which may be written (--prove-dir)",
    intrusion: "everything that uses the disk waits longer in half of the slots; at most 64 MiB are written over and over",
    dose: "its own time in the disk's queue over that of all requests (diskstats)",
    undo: "the file has no name from the start and goes with the agent",
    place: Place::Server,
    pull: Pull::Slots { plan, look: Some(look), act },
};

/// `O_DIRECT` of Linux, where it is the same on x86-64 and others that this is built for.
const O_DIRECT: i32 = sys::param::O_DIRECT;
/// Bytes a write: large enough to cost the disk more than the call costs the CPU.
const PIECE: usize = 256 * 1024;
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

/// Milliseconds that requests spent in the queue, all of them together.
fn queued_ms(file: &Path) -> f64 {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.split_whitespace().nth(10).and_then(|ms| ms.parse().ok()).unwrap_or(f64::NAN)
}

fn act(plan: &LeverPlan, commands: Receiver<AgentCommand>) -> Result<LeverPart, String> {
    let (file, queue) = on(plan)?;
    let (pace, own_ns) = (Pace::new(plan), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let writes = scope.spawn(|| write(&pace, file, &own_ns));
        let look = || (own_ns.load(Relaxed), queued_ms(&queue));
        let speed = |slot: usize, before: (u64, f64)| {
            let now = look();
            let (own_ms, all_ms) = ((now.0 - before.0) as f64 / 1e6, now.1 - before.1);
            if plan.on[slot] && all_ms > 0.0 { 1.0 - (own_ms / all_ms).clamp(0.0, 0.99) } else { 1.0 }
        };
        let speed = pace.measure(&commands, look, speed);
        let wrote = writes.join().unwrap_or_else(|_| Err("the writing thread ended".into()));
        Ok(LeverPart { speed: wrote.and(speed)?, ..LeverPart::default() })
    })
}

/// Writes while slots are on, and counts the time of the calls.
fn write(pace: &Pace, mut file: std::fs::File, own_ns: &AtomicU64) -> Result<(), String> {
    let memory = vec![0x5a_u8; PIECE + ALIGN];
    let from = memory.as_ptr().align_offset(ALIGN).min(ALIGN);
    let failed = |e: std::io::Error| format!("writing to the server's disk: {e}");
    for (slot, on) in pace.plan.on.iter().enumerate() {
        let (begin, end) = pace.whole_ns(slot);
        if !pace.sleep_until(begin) {
            return Ok(());
        }
        while *on && clock::monotonic_ns() < end && !pace.stopped() {
            let before = clock::monotonic_ns();
            file.write_all(&memory[from..from + PIECE]).map_err(failed)?;
            file.sync_data().map_err(failed)?;
            own_ns.fetch_add(clock::monotonic_ns() - before, Relaxed);
            if file.stream_position().map_err(failed)? >= FILE_BYTES {
                file.rewind().map_err(failed)?;
            }
        }
    }
    Ok(())
}
