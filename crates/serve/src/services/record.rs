//! Record: reads and writes records of one file, with or without the page cache, as in R. Blake, *Optimizing Windows
//! NT*, 1993.
//!
//! The user names the file with `--root`. Without `--root`, the service creates an unnamed file in the temporary
//! directory. The first attempt to read a record must not wait for the disk (RWF_NOWAIT, preadv2(2)). The result of the
//! first attempt to read shows whether the record is in the page cache or on the disk. Without the page cache
//! (O_DIRECT), all records come from the disk. A file system in memory (tmpfs) has no disk, so its records count as
//! cached. Other file systems without RWF_NOWAIT do not tell where a record was, so its origin is unknown.

use std::fs::{File, OpenOptions};
use std::io::{IoSliceMut, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use proto::record::{LargeBuffer, Origin, Records, ServerSession, Status};
use run::ServePlan;
use rustix::io::{Errno, ReadWriteFlags, preadv2};

use crate::Service;
use crate::connection::BoxedSession;
use crate::{Options, ServeError, Stats};

/// Size of the temporary file, bytes.
const OWN_BYTES: usize = 1 << 20;
/// Default maximum number of large reads in progress.
const LARGE_BUFFERS: u32 = 16;
/// Alignment that O_DIRECT requires for offsets, lengths and memory, bytes.
const BLOCK: u64 = 4096;
/// Numbers of the file systems that keep all files in memory: tmpfs and ramfs (linux/magic.h).
const IN_MEMORY: [u32; 2] = [0x0102_1994, 0x8584_58f6];

struct Record {
    file: Arc<RecordFile>,
}

struct RecordFile {
    file: File,
    direct: bool,
    sync: bool,
    writable: bool,
    /// True if the file has a name in a directory, so that another program can delete it.
    named: bool,
    /// True if the file system keeps its files in memory and has no disk.
    in_memory: bool,
    large_free: AtomicU32,
    cache_hits: AtomicU64,
    disk_reads: AtomicU64,
    large_reads: AtomicU64,
    large_refused: AtomicU64,
}

pub(super) fn open(plan: &ServePlan, options: &Options<'_>) -> Result<Arc<dyn Service>, ServeError> {
    let direct = options.on("direct")?;
    let (file, writable) = match &plan.root {
        Some(path) => open_named(path, direct)?,
        None => (open_own(direct)?, true),
    };
    let file = RecordFile {
        in_memory: rustix::fs::fstatfs(&file).is_ok_and(|found| IN_MEMORY.contains(&(found.f_type as u32))),
        file,
        direct,
        sync: options.on("sync")?,
        writable,
        named: plan.root.is_some(),
        large_free: options.get("large_read_buffers")?.unwrap_or(LARGE_BUFFERS).into(),
        cache_hits: 0.into(),
        disk_reads: 0.into(),
        large_reads: 0.into(),
        large_refused: 0.into(),
    };
    Ok(Arc::new(Record { file: Arc::new(file) }))
}

fn with_direct(options: &mut OpenOptions, direct: bool) -> &mut OpenOptions {
    options.custom_flags(if direct { rustix::fs::OFlags::DIRECT.bits() as i32 } else { 0 })
}

/// Opens a file for reading, and also for writing if this is permitted. Returns the file, and true if it is writable.
fn open_named(path: &str, direct: bool) -> Result<(File, bool), ServeError> {
    let open = |write| with_direct(OpenOptions::new().read(true).write(write), direct).open(path);
    let opened = open(true).map(|f| (f, true)).or_else(|_| open(false).map(|f| (f, false)));
    let refused = |error| ServeError::Records { path: path.into(), error };
    let (file, writable) = opened.map_err(refused)?;
    match file.metadata().map_err(refused)?.is_dir() {
        true => Err(refused(std::io::ErrorKind::IsADirectory.into())),
        false => Ok((file, writable)),
    }
}

fn open_own(direct: bool) -> Result<File, ServeError> {
    // The counter makes the names of temporary files unique, because a process may run several servers.
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let name = format!("loadline-record-{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed));
    let path = std::env::temp_dir().join(name);
    let make = || {
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        file.write_all(&(0..OWN_BYTES).map(|at| (at >> 9) as u8).collect::<Vec<_>>())?;
        file.sync_all()?;
        let file = with_direct(OpenOptions::new().read(true).write(true), direct).open(&path)?;
        if !direct {
            warm(&file)?;
        }
        Ok(file)
    };
    let made = make();
    // An error is ignored, because the server also works if the file cannot be removed.
    let _ = std::fs::remove_file(&path);
    made.map_err(|error| ServeError::Records { path: path.display().to_string(), error })
}

/// Reads the temporary file once. If the file were not read here, its new pages might leave the cache before a client
/// requests them. The first read also updates the file's access time; a read with RWF_NOWAIT would fail instead of
/// updating it. With all pages in the cache and a new access time, no read of a client counts as a disk read.
fn warm(file: &File) -> std::io::Result<()> {
    let mut block = [0; BLOCK as usize];
    (0..(OWN_BYTES as u64).div_ceil(BLOCK)).try_for_each(|n| file.read_at(&mut block, n * BLOCK).map(drop))
}

impl Service for Record {
    fn session(&self) -> BoxedSession {
        Box::new(ServerSession::new(Arc::clone(&self.file)))
    }

    fn add_to(&self, stats: &mut Stats) {
        stats.cache_hits += self.file.cache_hits.load(Relaxed);
        stats.disk_reads += self.file.disk_reads.load(Relaxed);
        stats.large_reads += self.file.large_reads.load(Relaxed);
        stats.large_refused += self.file.large_refused.load(Relaxed);
    }
}

impl Records for RecordFile {
    fn file_bytes(&self) -> Result<u64, Status> {
        let meta = self.file.metadata().map_err(|_| Status::Failed)?;
        if self.named && meta.nlink() == 0 { Err(Status::Vanished) } else { Ok(meta.len()) }
    }

    fn read(&self, offset: u64, length: u32, into: &mut Vec<u8>) -> Result<Origin, Status> {
        self.file_bytes()?;
        if i64::try_from(offset).is_err() {
            return Ok(Origin::default());
        }
        let begin = into.len();
        let origin =
            if self.direct { self.read_direct(offset, length, into)? } else { self.read_cached(offset, length, into)? };
        if into.len() > begin {
            self.cache_hits.fetch_add(u64::from(origin.cached && !origin.disk), Relaxed);
            self.disk_reads.fetch_add(u64::from(origin.disk), Relaxed);
        }
        Ok(origin)
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), Status> {
        if !self.writable || self.direct {
            return Err(Status::ReadOnly);
        }
        let end = offset.checked_add(bytes.len() as u64).ok_or(Status::PastEnd)?;
        if end > self.file_bytes()? {
            return Err(Status::PastEnd);
        }
        self.file.write_all_at(bytes, offset).map_err(|_| Status::Failed)?;
        if self.sync { self.file.sync_data().map_err(|_| Status::Failed) } else { Ok(()) }
    }

    fn large_buffer(self: Arc<Self>) -> Option<LargeBuffer> {
        let taken = self.large_free.fetch_update(Relaxed, Relaxed, |free| free.checked_sub(1));
        if taken.is_err() {
            self.large_refused.fetch_add(1, Relaxed);
            return None;
        }
        self.large_reads.fetch_add(1, Relaxed);
        Some(LargeBuffer::new(move || {
            self.large_free.fetch_add(1, Relaxed);
        }))
    }
}

impl RecordFile {
    fn read_cached(&self, offset: u64, length: u32, into: &mut Vec<u8>) -> Result<Origin, Status> {
        let begin = into.len();
        into.resize(begin + length as usize, 0);
        let mut origin = Origin::default();
        let mut filled = 0;
        while filled < length as usize {
            let (at, rest) = (offset + filled as u64, &mut into[begin + filled..]);
            let quick = preadv2(&self.file, &mut [IoSliceMut::new(rest)], at, ReadWriteFlags::NOWAIT);
            let got = match quick {
                Ok(n) => {
                    origin.cached |= n > 0;
                    n
                }
                // EAGAIN means that the record is not in the page cache, and EOPNOTSUPP that the file system does not
                // support RWF_NOWAIT.
                Err(e @ (Errno::AGAIN | Errno::OPNOTSUPP)) => {
                    let n = self.file.read_at(rest, at).map_err(|_| Status::Failed)?;
                    origin.disk |= n > 0 && e == Errno::AGAIN && !self.in_memory;
                    origin.cached |= n > 0 && self.in_memory;
                    n
                }
                Err(Errno::INTR) => continue,
                Err(_) => return Err(Status::Failed),
            };
            if got == 0 {
                break;
            }
            filled += got;
        }
        into.truncate(begin + filled);
        Ok(origin)
    }

    /// Reads the blocks that contain a record into aligned memory, and appends the record to `into`.
    fn read_direct(&self, offset: u64, length: u32, into: &mut Vec<u8>) -> Result<Origin, Status> {
        let first = offset / BLOCK * BLOCK;
        let span = ((offset + u64::from(length)).div_ceil(BLOCK) * BLOCK - first) as usize;
        let mut memory = vec![0_u8; span + BLOCK as usize];
        let lead = memory.as_ptr().align_offset(BLOCK as usize).min(BLOCK as usize);
        let blocks = &mut memory[lead..lead + span];
        let mut filled = 0;
        while filled < span {
            match self.file.read_at(&mut blocks[filled..], first + filled as u64) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return Err(Status::Failed),
            }
            if filled % BLOCK as usize != 0 {
                break;
            }
        }
        let from = (offset - first) as usize;
        let to = filled.min(from + length as usize);
        into.extend_from_slice(blocks.get(from..to).unwrap_or_default());
        Ok(Origin { cached: to > from && self.in_memory, disk: to > from && !self.in_memory })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of the file's pages that are in the page cache. A read with RWF_NOWAIT finds only pages that
    /// are in the page cache.
    fn cached(file: &File) -> usize {
        let mut byte = [0];
        let quick = |n| {
            preadv2(file, &mut [IoSliceMut::new(&mut byte)], n * BLOCK, ReadWriteFlags::NOWAIT).is_ok_and(|n| n > 0)
        };
        (0..OWN_BYTES as u64 / BLOCK).map(quick).filter(|there| *there).count()
    }

    /// If the cache were not warmed, an experiment would count its first reads as disk reads.
    #[test]
    fn warming_brings_an_evicted_file_back_into_the_cache() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![7; OWN_BYTES]).unwrap();
        file.sync_all().unwrap();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        // Pages of a file system in memory never leave the cache, so the number of cached pages is only printed.
        println!("{} pages are cached before", cached(&file));
        warm(&file).unwrap();
        assert_eq!(cached(&file), OWN_BYTES / BLOCK as usize);
    }
}
