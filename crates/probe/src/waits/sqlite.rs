//! Databases of SQLite whose write lock is held. A thread that waits for this lock sleeps and tries again, so its
//! system call does not show the lock. The kernel lists the locks on files, and SQLite locks fixed bytes. Sources:
//! proc_locks(5), proc_pid_fdinfo(5), SQLite's files os.h (`PENDING_BYTE`), os_unix.c (`UNIX_SHM_BASE`) and wal.c.

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;

use crate::text::{lines, number, words};

use super::path::short_path;

/// Byte of the database file that a writer locks, unless the database has a write-ahead log.
const RESERVED_BYTE: u64 = 0x4000_0001;
/// Bytes of the database file that SQLite locks.
const FILE_BYTES: RangeInclusive<u64> = 0x4000_0000..=0x4000_01ff;
/// Byte of the shared-memory file that a writer locks, if the database has a write-ahead log.
const WAL_WRITE_BYTE: u64 = 120;
/// Bytes of the shared-memory file that SQLite locks.
const SHARED_MEMORY_BYTES: RangeInclusive<u64> = 120..=127;
/// Ending of the shared-memory file's name, after the name of the database.
const SHARED_MEMORY_ENDING: &str = "-shm";

/// Maximum number of searches through the descriptors of a process in a round.
const MAX_SEARCHES: u32 = 4;
/// Maximum number of files that are remembered.
const MAX_FILES: usize = 64;

/// Write locks of databases, as the kernel lists them in the present round.
#[derive(Debug, Default)]
pub(super) struct SqliteLocks {
    /// Locks that are held now; `None` if the list was not read in this round.
    held: Option<Vec<WriteLock>>,
    /// Path of each locked file that was found, by inode.
    paths: HashMap<u64, PathBuf>,
    /// Processes that have a file open, each with the file's inode.
    users: HashSet<(u32, u64)>,
    /// Number of searches in this round.
    searches: u32,
}

/// Lock of a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WriteLock {
    holder: u32,
    inode: u64,
    /// True if the locked file is the shared memory of a write-ahead log.
    is_shared_memory: bool,
}

impl SqliteLocks {
    /// Begins a round: the locks must be read again.
    pub(super) fn begin_round(&mut self) {
        (self.held, self.searches) = (None, 0);
    }

    /// Returns the path of a database that a process has open, and whose write lock is held now.
    pub(super) fn locked_for(&mut self, pid: u32) -> Option<Arc<str>> {
        let read = || write_locks(&std::fs::read("/proc/locks").unwrap_or_default());
        let held = self.held.get_or_insert_with(read).clone();
        held.into_iter().find_map(|lock| {
            let path = self.path_of(lock)?;
            let path = if self.uses(pid, lock, &path) { path.to_string_lossy().into_owned() } else { return None };
            match lock.is_shared_memory {
                true => path.strip_suffix(SHARED_MEMORY_ENDING).map(short_path),
                false => Some(short_path(&path)),
            }
        })
    }

    fn path_of(&mut self, lock: WriteLock) -> Option<PathBuf> {
        if let Some(known) = self.paths.get(&lock.inode) {
            return Some(known.clone());
        }
        if self.paths.len() >= MAX_FILES || !self.may_search() {
            return None;
        }
        // The lock may have ended before the search, so only a file that was found is remembered.
        let path = locked_file(lock)?;
        self.paths.insert(lock.inode, path.clone());
        Some(path)
    }

    /// Returns true if a process has the file of a lock open. A process may open the file at any time, so only a
    /// positive result is remembered.
    fn uses(&mut self, pid: u32, lock: WriteLock, path: &PathBuf) -> bool {
        if pid == lock.holder || self.users.contains(&(pid, lock.inode)) {
            return true;
        }
        let uses = self.may_search() && links(pid).any(|(_, link)| link == *path);
        if uses && self.users.len() < MAX_FILES {
            self.users.insert((pid, lock.inode));
        }
        uses
    }

    fn may_search(&mut self) -> bool {
        self.searches += 1;
        self.searches <= MAX_SEARCHES
    }
}

/// Returns the numbers and the links of the open descriptors of a process.
fn links(pid: u32) -> impl Iterator<Item = (String, PathBuf)> {
    let folder = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    folder.filter_map(|entry| Some((entry.file_name().to_str()?.to_string(), std::fs::read_link(entry.path()).ok()?)))
}

/// Returns the path of the file that a process has locked. `/proc/PID/fdinfo` lists the locks on each open file.
fn locked_file(lock: WriteLock) -> Option<PathBuf> {
    let is_locked = |number: &str| {
        let text = std::fs::read(format!("/proc/{}/fdinfo/{number}", lock.holder)).unwrap_or_default();
        let mut locks = lines(&text).filter_map(|line| line.strip_prefix(b"lock:"));
        locks.any(|line| words(line).any(|word| inode_of(word) == Some(lock.inode)))
    };
    links(lock.holder).find(|(number, link)| link.is_absolute() && is_locked(number)).map(|(_, link)| link)
}

/// Returns the inode in `fd:01:4711`, the device and inode of a locked file.
fn inode_of(word: &[u8]) -> Option<u64> {
    let mut parts = word.split(|byte| *byte == b':');
    let (Some(_), Some(_), Some(inode), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        return None;
    };
    number(inode)
}

/// Returns the locks of SQLite's writers in the text of `/proc/locks`.
fn write_locks(text: &[u8]) -> Vec<WriteLock> {
    lines(text).filter_map(write_lock).collect()
}

/// Parses `1: POSIX  ADVISORY  WRITE 812 fd:01:4711 1073741825 1073741825`. A line with an arrow is a lock that a
/// process waits for.
fn write_lock(line: &[u8]) -> Option<WriteLock> {
    let mut words = words(line).skip(1);
    let (kind, _, access) = (words.next()?, words.next()?, words.next()?);
    let holder = u32::try_from(number(words.next()?)?).ok()?;
    let inode = inode_of(words.next()?)?;
    let bytes = number(words.next()?)?..=number(words.next()?)?;
    let locks = |byte: u64, all: RangeInclusive<u64>| {
        bytes.contains(&byte) && all.contains(bytes.start()) && all.contains(bytes.end())
    };
    let is_shared_memory = locks(WAL_WRITE_BYTE, SHARED_MEMORY_BYTES);
    let is_write = kind == b"POSIX" && access == b"WRITE";
    (is_write && (is_shared_memory || locks(RESERVED_BYTE, FILE_BYTES))).then_some(WriteLock {
        holder,
        inode,
        is_shared_memory,
    })
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn locks_of_writers_are_told_from_other_locks() {
        let found = |line: &str| write_lock(line.as_bytes());
        let lock = |inode, is_shared_memory| Some(WriteLock { holder: 812, inode, is_shared_memory });
        assert_eq!(found("1: POSIX  ADVISORY  WRITE 812 fd:01:4711 1073741825 1073741825"), lock(4711, false));
        assert_eq!(found("2: POSIX  ADVISORY  WRITE 812 00:2a:7 1073741824 1073742335"), lock(7, false));
        assert_eq!(found("3: POSIX  ADVISORY  WRITE 812 fd:01:8 120 120"), lock(8, true));
        for other in [
            "1: POSIX  ADVISORY  READ 812 fd:01:4711 1073741826 1073742335",
            "1: -> POSIX  ADVISORY  WRITE 812 fd:01:4711 1073741825 1073741825",
            "1: POSIX  ADVISORY  WRITE 812 fd:01:4711 0 EOF",
            "1: POSIX  ADVISORY  WRITE 812 fd:01:4711 123 123",
            "1: FLOCK  ADVISORY  WRITE 812 fd:01:4711 0 EOF",
            "1: POSIX  ADVISORY  WRITE 812 fd:01 120 120",
            "",
        ] {
            assert_eq!(found(other), None, "{other}");
        }
    }

    /// A process writes to a database, with or without a write-ahead log.
    #[test]
    fn the_database_of_a_writer_is_named_for_processes_that_use_it() {
        let dir = tempfile::tempdir().unwrap();
        for mode in ["delete", "wal"] {
            let path = dir.path().join(format!("{mode}.db"));
            let code = format!(
                "import sqlite3,sys\nc=sqlite3.connect({:?},isolation_level=None)\nc.execute('pragma journal_mode={mode}')\n\
                 c.execute('create table t(x)')\nc.execute('begin immediate')\nprint('locked',flush=True)\nsys.stdin.read()",
                path.display().to_string()
            );
            let mut command = Command::new("python3");
            let mut child = command.args(["-c", &code]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            testkit::first_line(&mut child);
            let mut locks = SqliteLocks::default();
            let wanted = path.display().to_string();
            assert_eq!(locks.locked_for(child.id()).as_deref(), Some(wanted.as_str()), "{mode}");
            assert_eq!(locks.locked_for(std::process::id()), None, "this process does not use it");
            let files = [path.clone(), dir.path().join(format!("{mode}.db-shm"))];
            let _open: Vec<_> = files.iter().filter_map(|file| std::fs::File::open(file).ok()).collect();
            assert_eq!(
                locks.locked_for(std::process::id()).as_deref(),
                Some(wanted.as_str()),
                "{mode}, and now it does"
            );
            drop(child.stdin.take());
            child.wait().unwrap();
            locks.begin_round();
            assert_eq!(locks.locked_for(std::process::id()), None, "the writer has ended");
        }
    }
}
