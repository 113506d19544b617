//! Databases of SQLite whose write lock is held. A thread that waits for this lock sleeps and tries again, so its
//! system call does not show the lock. The kernel lists the locks on files, and SQLite locks fixed bytes. Sources:
//! proc_locks(5), proc_pid_fdinfo(5), SQLite's files os.h (`PENDING_BYTE`), os_unix.c (`UNIX_SHM_BASE`) and wal.c.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use run::ThreadState;
use sys::clock::monotonic_ns;

use crate::text::{lines, words};

use super::paced::{self, Paced};
use super::path::short_path;
use super::round::{Round, ThreadSample, WaitKey};
use super::sqlite_writers::{WriteLock, inode_of, write_locks};

/// Ending of the shared-memory file's name, after the name of the database.
const SHARED_MEMORY_ENDING: &str = "-shm";

/// Maximum number of searches through the descriptors of a process in a round.
const MAX_SEARCHES: u32 = 4;
/// Maximum number of files that are remembered.
const MAX_FILES: usize = 64;
/// Maximum number of a process's descriptors that are searched for a database.
const MAX_DESCRIPTORS: usize = 1024;
/// First bytes of each database file. Source: SQLite's fileformat2.html.
const FIRST_BYTES: &[u8; 16] = b"SQLite format 3\0";

/// Write locks of databases, as the kernel last listed them.
#[derive(Debug, Default)]
pub(super) struct SqliteLocks {
    /// Locks at the last reading; `None` before the first one.
    held: Option<Vec<WriteLock>>,
    list: Paced,
    /// Path of each locked file that was found, by inode.
    paths: HashMap<u64, PathBuf>,
    /// Processes that have a file open, each with the file's inode.
    users: HashSet<(u32, u64)>,
    /// Processes in which an open database was found.
    with_database: HashSet<u32>,
    /// Number of searches in this round.
    searches: u32,
}

impl SqliteLocks {
    /// Names the locked database for each sleeping thread of a process that uses this database.
    pub(super) fn name_sleeps(&mut self, round: &mut Round) {
        let is_sleep = |thread: &ThreadSample| thread.state == ThreadState::Sleep && thread.key == WaitKey::None;
        let processes: BTreeSet<usize> = round.threads.iter().filter(|t| is_sleep(t)).map(|t| t.process).collect();
        let pid_of = |at: &usize| Some((*at, round.processes.get(*at)?.pid));
        let pids: Vec<(usize, u32)> = processes.iter().filter_map(pid_of).collect();
        self.searches = 0;
        self.read_list(pids.iter().map(|(_, pid)| *pid));
        let names: HashMap<usize, Arc<str>> =
            pids.into_iter().filter_map(|(at, pid)| Some((at, self.locked_for(pid)?))).collect();
        for thread in round.threads.iter_mut().filter(|thread| is_sleep(thread)) {
            if let Some(name) = names.get(&thread.process) {
                thread.key = WaitKey::Text(name.clone());
            }
        }
    }

    /// Reads the list of all locks on files, if this is due and one of the processes has a database open. While the
    /// kernel makes the list, no program can lock a file. The kernel first waits until all CPUs have taken note, which
    /// often takes 10 ms (`locks_start` in Linux's fs/locks.c).
    fn read_list(&mut self, mut pids: impl Iterator<Item = u32>) {
        let begin_ns = monotonic_ns();
        if !self.list.is_due(begin_ns) {
            return;
        }
        let is_needed = pids.any(|pid| self.has_database(pid));
        if is_needed {
            self.held = Some(write_locks(&std::fs::read("/proc/locks").unwrap_or_default()));
        }
        let end_ns = monotonic_ns();
        let pace = if is_needed { paced::FILE_LOCKS } else { paced::SEARCH };
        self.list.done(end_ns, end_ns - begin_ns, pace, 1.0);
    }

    /// Returns true if a database was found among the open files of a process. A process may open a database at any
    /// time, so only a positive result is remembered.
    fn has_database(&mut self, pid: u32) -> bool {
        let has =
            self.with_database.contains(&pid) || self.may_search() && links(pid).any(|(fd, _)| is_database(pid, &fd));
        if has && self.with_database.len() < MAX_FILES {
            self.with_database.insert(pid);
        }
        has
    }

    /// Returns the path of a database that a process has open, and whose write lock was held at the last reading.
    fn locked_for(&mut self, pid: u32) -> Option<Arc<str>> {
        let held = self.held.clone()?;
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

/// Returns true if a descriptor of a process is a database file.
fn is_database(pid: u32, descriptor: &str) -> bool {
    let path = PathBuf::from(format!("/proc/{pid}/fd/{descriptor}"));
    let mut first = [0; FIRST_BYTES.len()];
    let is_file = std::fs::metadata(&path).is_ok_and(|metadata| metadata.is_file());
    let reads = |file: File| file.read_exact_at(&mut first, 0).is_ok();
    is_file && File::open(path).is_ok_and(reads) && first == *FIRST_BYTES
}

/// Returns the numbers and the links of the open descriptors of a process.
fn links(pid: u32) -> impl Iterator<Item = (String, PathBuf)> {
    let folder = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten().take(MAX_DESCRIPTORS);
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

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::super::round::ProcessSample;
    use super::*;

    /// Returns the database that a round with a sleeping thread of a process names.
    fn database_of(locks: &mut SqliteLocks, pid: u32) -> Option<String> {
        let process = ProcessSample { pid, ..ProcessSample::default() };
        let sleeping = ThreadSample { state: ThreadState::Sleep, ..ThreadSample::default() };
        let mut round = Round { processes: vec![process], threads: vec![sleeping], ..Round::default() };
        locks.name_sleeps(&mut round);
        match &round.threads[0].key {
            WaitKey::Text(path) => Some(path.to_string()),
            _ => None,
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
            assert_eq!(database_of(&mut locks, child.id()).as_deref(), Some(wanted.as_str()), "{mode}");
            assert_eq!(database_of(&mut locks, std::process::id()), None, "this process does not use it");
            let files = [path.clone(), dir.path().join(format!("{mode}.db-shm"))];
            let _open: Vec<_> = files.iter().filter_map(|file| File::open(file).ok()).collect();
            let named = database_of(&mut locks, std::process::id());
            assert_eq!(named.as_deref(), Some(wanted.as_str()), "{mode}, and now it does");
            drop(child.stdin.take());
            child.wait().unwrap();
            let named = database_of(&mut locks, std::process::id());
            assert_eq!(named.as_deref(), Some(wanted.as_str()), "{mode}: the list is not read again at once");
            locks.list = Paced::default();
            assert_eq!(database_of(&mut locks, std::process::id()), None, "the writer has ended");
        }
    }

    /// Listing the locks takes milliseconds and stops other programs, so most servers must not cause it.
    #[test]
    fn the_locks_are_not_listed_for_a_process_without_a_database() {
        let child = testkit::ChildProcess::start(Command::new("sleep").arg("60"));
        let mut locks = SqliteLocks::default();
        assert_eq!(database_of(&mut locks, child.pid()), None);
        assert!(locks.held.is_none(), "the list was read");
        assert!(!locks.list.is_due(monotonic_ns()), "the descriptors are searched again at once");
    }
}
