//! One sampled process with its threads.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use run::visible;

use crate::process_tree::started_ticks;
use crate::reread_file::reread;
use crate::socket_holders::{is_manager_called, sockets_of};
use crate::text::{number, stat_fields, stat_state};

use super::round::{Accepted, ProcessSample, pattern};
use super::thread::Thread;
use super::turn::Turn;

/// Maximum number of threads per process. The kernel allows about four million threads, but listing all of them would
/// take seconds.
const MAX_THREADS: usize = 65_536;
/// Number of successive lists without a change after which the threads are listed less often. Listing a process's
/// threads takes as long as reading a few threads.
const STABLE_LISTS: u32 = 8;
/// Number of rounds between two lists of the threads, once the list no longer changes.
const LIST_ROUNDS: u64 = 8;
/// Maximum length of a process's title, characters.
const MAX_TITLE_CHARS: usize = 160;
/// Maximum length of a process's name, characters.
const MAX_NAME_CHARS: usize = 32;

/// A sampled process.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) pid: u32,
    started_ticks: u64,
    pub(super) behind: bool,
    /// Name under which the process is counted.
    pub(super) name: Arc<str>,
    /// Name of the process in the kernel, if it differs from `name`.
    kernel_name: Option<Arc<str>>,
    /// ID of the parent process when this process was found.
    parent: u32,
    /// True for a service manager, which has many children that do not belong to a service whose socket it holds.
    pub(super) is_manager: bool,
    /// True if the process has an epoll descriptor that it did not inherit. Inherited descriptors do not count, because
    /// a child does not wait on the epoll descriptor of its parent.
    pub(super) epoll: bool,
    /// Largest number of accepted connections so far; `None` if they were not counted yet.
    pub(super) accepted: Option<Accepted>,
    /// True if the parent process runs the same program, but has an entry of its own in the profile.
    pub(super) is_child: bool,
    /// True if the process has an entry of its own in the profile, apart from its children.
    pub(super) is_parent: bool,
    title: Option<File>,
    other_pid_namespace: bool,
    /// IDs of all threads.
    pub(super) tids: BTreeSet<u32>,
    /// Threads whose files are open.
    threads: BTreeMap<u32, Thread>,
    /// IDs of threads that started during the sampling and are not open yet.
    new_tids: BTreeSet<u32>,
    rounds: u64,
    /// Number of successive lists of the threads without a change.
    stable_lists: u32,
    /// Error of the last thread that could not be read.
    pub(super) refused: Option<io::Error>,
}

impl Process {
    /// Opens a process; `None` if it ended.
    pub(super) fn open(pid: u32, behind: bool) -> Option<Self> {
        let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        let (comm, fields) = stat_fields(&stat)?;
        let fields: Vec<&[u8]> = fields.collect();
        // Source of the positions: proc_pid_stat(5), fields 4 and 22.
        let number_at = |at: usize| fields.get(at).copied().and_then(number);
        let parent = number_at(1).and_then(|pid| pid.try_into().ok()).unwrap_or(0);
        let ends = stat_state(fields.iter().copied()).is_none_or(|state| state.has_ended);
        let namespace = |who: &str| std::fs::read_link(format!("/proc/{who}/ns/pid")).ok();
        let theirs = namespace(&pid.to_string());
        (!ends).then(|| Self {
            pid,
            started_ticks: number_at(19).unwrap_or_default(),
            behind,
            name: visible(&comm).chars().take(MAX_NAME_CHARS).collect::<String>().into(),
            kernel_name: None,
            parent,
            is_manager: is_manager_called(pid, comm.as_bytes()),
            epoll: own_epolls(pid, parent).next().is_some(),
            accepted: None,
            is_child: false,
            is_parent: false,
            title: File::open(format!("/proc/{pid}/cmdline")).ok(),
            other_pid_namespace: theirs.is_some() && theirs != namespace("self"),
            tids: BTreeSet::new(),
            threads: BTreeMap::new(),
            new_tids: BTreeSet::new(),
            rounds: 0,
            stable_lists: 0,
            refused: None,
        })
    }

    /// Updates the list of threads, but opens none. Returns false if the process ended, even if another process has got
    /// its ID. A list that no longer changes
    /// is read in only one round of eight.
    pub(super) fn list_threads(&mut self) -> bool {
        self.rounds += 1;
        let ended = self.tids.is_empty();
        if self.stable_lists >= STABLE_LISTS && !self.rounds.is_multiple_of(LIST_ROUNDS) && !ended {
            return true;
        }
        let Ok(folder) = std::fs::read_dir(format!("/proc/{}/task", self.pid)) else { return false };
        let tids: BTreeSet<u32> =
            folder.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).take(MAX_THREADS).collect();
        let is_stable = tids == self.tids;
        if !is_stable && started_ticks(self.pid) != Some(self.started_ticks) {
            return false;
        }
        self.stable_lists = if is_stable { self.stable_lists + 1 } else { 0 };
        self.new_tids = if self.rounds > 1 { tids.difference(&self.tids).copied().collect() } else { BTreeSet::new() };
        self.tids = tids;
        !self.tids.is_empty()
    }

    /// Opens the threads that a round reads, and closes all others. Returns the number of threads of the turn, and the
    /// IDs of the open threads. A thread stays closed if it has ended, or if it may not be read.
    pub(super) fn open_threads(&mut self, turn: Turn) -> (usize, Vec<u32>) {
        let tids = &self.tids;
        self.threads.retain(|tid, _| turn.holds(*tid) && tids.contains(tid));
        let mine: Vec<u32> = tids.iter().copied().filter(|tid| turn.holds(*tid)).collect();
        (mine.len(), mine.into_iter().filter(|tid| self.thread(*tid).is_some()).collect())
    }

    /// Returns a thread, which is opened if necessary. Returns `None` if the thread ended or may not be read.
    pub(super) fn thread(&mut self, tid: u32) -> Option<&mut Thread> {
        if !self.threads.contains_key(&tid) {
            let (folder, is_new) = (thread_folder(self.pid, tid), self.new_tids.remove(&tid));
            let process = self.kernel_name.as_ref().unwrap_or(&self.name);
            match Thread::open(&folder, tid, process, self.other_pid_namespace, is_new) {
                Ok(thread) => drop(self.threads.insert(tid, thread)),
                Err(error) => self.refuse(error),
            }
        }
        self.threads.get_mut(&tid)
    }

    /// Keeps an error unless it only shows that a thread ended.
    pub(super) fn refuse(&mut self, error: io::Error) {
        let ended =
            error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(sys::Errno::SRCH.raw_os_error());
        if !ended {
            self.refused = Some(error);
        }
    }

    /// Returns the ID of the thread that has the ID `own_id` in the process's own PID namespace. If the process has
    /// another PID namespace, only threads whose files are open are found.
    pub(super) fn thread_by_own_id(&self, own_id: u32) -> Option<u32> {
        match self.other_pid_namespace {
            false => self.tids.contains(&own_id).then_some(own_id),
            true => self.threads.iter().find(|(_, thread)| thread.own_id == own_id).map(|(tid, _)| *tid),
        }
    }

    /// Returns the process's ID and name, its kind (upstream or not, epoll or not), and its current title.
    pub(super) fn sample(&self, buffer: &mut Vec<u8>) -> ProcessSample {
        let title = self.title.as_ref().and_then(|file| title_in(reread(file, buffer).ok()?));
        let (name, kernel_name) = (self.name.clone(), self.kernel_name.clone());
        let Self { pid, started_ticks, behind, epoll, accepted, is_child, .. } = *self;
        ProcessSample { pid, started_ticks, name, kernel_name, behind, epoll, accepted, is_child, title }
    }

    /// Adds a role, such as `upstream`, to the name of this process. Without the role, processes with equal names but
    /// different roles would be counted together.
    pub(super) fn set_apart(&mut self, role: &str) {
        let name = format!("{} ({role})", self.name).into();
        let before = std::mem::replace(&mut self.name, name);
        self.kernel_name.get_or_insert(before);
    }

    /// Returns true if `other` is a child of this process and runs the same program.
    pub(super) fn is_parent_of(&self, other: &Self) -> bool {
        fn program(process: &Process) -> &Arc<str> {
            process.kernel_name.as_ref().unwrap_or(&process.name)
        }
        other.parent == self.pid && program(self) == program(other)
    }

    /// Returns the ID of the parent process when this process was found.
    pub(super) const fn parent(&self) -> u32 {
        self.parent
    }

    /// Returns the inodes of the open sockets of the process, each with the name of the process.
    pub(super) fn sockets(&self) -> impl Iterator<Item = (u32, Arc<str>)> {
        let name = self.name.clone();
        sockets_of(self.pid).map(move |inode| (inode, name.clone()))
    }

    /// Looks again for an epoll descriptor, which a server opens after its start.
    pub(super) fn look_for_epoll(&mut self) {
        self.epoll = self.epoll || own_epolls(self.pid, self.parent).next().is_some();
    }

    /// Notes the number of accepted connections that the process has now.
    pub(super) fn note_accepted(&mut self, connections: usize) {
        if self.accepted == Some(Accepted::Several) {
            return;
        }
        let now = match connections {
            0 => Accepted::None,
            2.. if connections > own_epolls(self.pid, self.parent).count() => Accepted::Several,
            _ => Accepted::OneEach,
        };
        self.accepted = self.accepted.max(Some(now));
    }
}

/// Returns the title in the bytes of `/proc/PID/cmdline`. A program such as postgres, which states its present work in
/// its title, writes a single text there. If `/proc/PID/cmdline` contains several texts, they are the arguments of the
/// command line that started the program. The arguments of the command line are not returned, because an argument may
/// be a secret.
fn title_in(command_line: &[u8]) -> Option<Arc<str>> {
    let end = command_line.iter().rposition(|byte| *byte != 0)? + 1;
    let text = command_line.get(..end).filter(|text| !text.contains(&0))?;
    Some(pattern(&run::hide_tokens(&String::from_utf8_lossy(text)), MAX_TITLE_CHARS))
}

/// Returns the folder of a thread.
pub(super) fn thread_folder(pid: u32, tid: u32) -> PathBuf {
    format!("/proc/{pid}/task/{tid}").into()
}

/// Returns the epoll descriptors that the process did not inherit. Checks only the first descriptors, because a server
/// opens its epoll descriptor before its connections. An epoll descriptor is inherited if the parent has an epoll
/// descriptor with the same number, which watches the same files. Source: proc_pid_fdinfo(5).
fn own_epolls(pid: u32, parent: u32) -> impl Iterator<Item = u32> {
    const MAX_DESCRIPTORS: u32 = 64;
    let is_epoll = |pid: u32, fd: u32| {
        let to = std::fs::read_link(format!("/proc/{pid}/fd/{fd}"));
        to.is_ok_and(|to| to.to_str().is_some_and(|to| to == "anon_inode:[eventpoll]"))
    };
    let watched = |pid: u32, fd: u32| std::fs::read(format!("/proc/{pid}/fdinfo/{fd}")).ok();
    let is_own = move |fd: &u32| !is_epoll(parent, *fd) || watched(pid, *fd) != watched(parent, *fd);
    (0..MAX_DESCRIPTORS).filter(move |fd| is_epoll(pid, *fd)).filter(is_own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_cannot_be_read_is_part_of_its_turn() {
        let own = std::process::id();
        let mut process = Process::open(own, false).unwrap();
        process.tids = BTreeSet::from([own, u32::MAX]);
        let turn = Turn::of(process.tids.len(), 0);
        assert_eq!(process.open_threads(turn), (2, vec![own]));
    }

    #[test]
    fn another_process_with_the_same_id_is_not_taken_for_an_ended_one() {
        let mut process = Process::open(std::process::id(), false).unwrap();
        assert!(process.list_threads());
        (process.started_ticks, process.tids) = (process.started_ticks - 1, BTreeSet::from([1]));
        assert!(!process.list_threads());
    }

    #[test]
    fn a_title_is_one_text_and_no_command_line() {
        let title = |bytes: &[u8]| title_in(bytes).map(|title| title.to_string());
        assert_eq!(
            title(b"postgres: app shop UPDATE waiting\0\0\0").as_deref(),
            Some("postgres: app shop UPDATE waiting")
        );
        assert_eq!(title(b"server\0--password\0secret\0"), None);
        assert_eq!(title(b""), None);
    }
}
