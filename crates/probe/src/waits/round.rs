//! Data of one sampling round. A round reads each thread once, or the next part of the threads if there are too many.

use std::collections::BTreeMap;
use std::sync::Arc;

use run::{FutexKind, ThreadState};

/// Object that a thread waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum WaitKey {
    /// The thread does not wait, or waits for an object that has no name.
    #[default]
    None,
    /// The thread waits for a futex. The value is the address of the futex.
    Futex(u64),
    /// Address of a peer, or text about a file or a system call.
    Text(Arc<str>),
}

/// A thread, as one round of the sampler reads it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ThreadSample {
    /// Index in [`Round::processes`].
    pub(super) process: usize,
    pub(super) tid: u32,
    /// Name of the thread, with each number replaced by `#`.
    pub(super) name: Arc<str>,
    /// Name of the thread with its numbers.
    pub(super) full_name: Arc<str>,
    pub(super) state: ThreadState,
    pub(super) key: WaitKey,
    /// For a thread that runs or is ready to run: the share of this time that it spent on a CPU. `None` if unknown.
    pub(super) on_cpu: Option<f64>,
    /// For a waiting thread: stack pointer and program counter.
    pub(super) stack: (u64, u64),
}

/// Number of connections that a process accepted and held at a time, compared with its epoll descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Accepted {
    /// No connection: for example, a parent process that leaves all connections to its children.
    None,
    /// At most one connection for each epoll descriptor: for example, a worker that handles one request at a time.
    OneEach,
    /// More connections than epoll descriptors, as an event loop.
    Several,
}

/// A process, as a round reads it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ProcessSample {
    pub(super) pid: u32,
    /// Start time in ticks since boot. After a process has ended, another process may get its ID.
    pub(super) started_ticks: u64,
    /// Name under which the process is counted. Processes of the server and of its upstreams have different names.
    pub(super) name: Arc<str>,
    /// Name of the process in the kernel, if it differs from `name`.
    pub(super) kernel_name: Option<Arc<str>>,
    pub(super) behind: bool,
    /// True if the process has an epoll descriptor that it did not inherit.
    pub(super) epoll: bool,
    /// Largest number of accepted connections at a reading so far; `None` if they were not counted.
    pub(super) accepted: Option<Accepted>,
    /// True if the parent process runs the same program, but has an entry of its own in the profile.
    pub(super) is_child: bool,
    /// Title of the process, with each number replaced by `#`; `None` if it was not read.
    pub(super) title: Option<Arc<str>>,
}

/// A futex for which threads wait.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FutexSample {
    /// Index in [`Round::processes`].
    pub(super) process: usize,
    pub(super) address: u64,
    pub(super) kind: FutexKind,
    /// Thread that owns the futex, by its ID on this host.
    pub(super) owner: Option<u32>,
    /// Activity of the owner while it owned the futex; `None` if it owned the futex too briefly to be read.
    pub(super) holder: Option<ThreadSample>,
}

/// Connections of the server's clients and connections to peers, read at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ConnectionSample {
    /// Numbers of client connections that are open, have a request in progress, may have one, have unread data, or are
    /// in the accept queue. `None` if the listener is unknown.
    pub(super) clients: Option<[f64; 5]>,
    pub(super) peers: Vec<PeerSample>,
    /// True if `peers` contains all peers.
    pub(super) is_full: bool,
}

/// Name of the connected processes, and address of the peer.
pub(super) type PeerId = (Arc<str>, Arc<str>);

/// Connections of the processes with one name to one address.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PeerSample {
    pub(super) process: Arc<str>,
    pub(super) address: Arc<str>,
    pub(super) open: f64,
    /// Number of connections that await a reply; NaN for unix sockets.
    pub(super) busy: f64,
    /// Inode of each connection, and the number of segments with data that came from the peer. The list is empty for
    /// unix sockets, and if the kernel does not count the segments of all connections.
    pub(super) received: BTreeMap<u32, u32>,
    /// Name of the processes that listen at the peer's address; `None` if unknown.
    pub(super) to: Option<Arc<str>>,
}

/// One round of the wait sampler.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Round {
    pub(super) processes: Vec<ProcessSample>,
    pub(super) threads: Vec<ThreadSample>,
    /// Number of threads that each [`ThreadSample`] represents. The weight is above 1 if there are too many threads for
    /// one round.
    pub(super) weight: f64,
    /// True if the sampler lost its CPU between two threads, so the readings belong to different moments.
    pub(super) is_torn: bool,
    pub(super) futexes: Vec<FutexSample>,
    pub(super) connections: Option<ConnectionSample>,
}

impl Round {
    /// Returns the threads that wait for each futex, by process id and address.
    pub(super) fn futex_waiters(&self) -> BTreeMap<(u32, u64), Vec<&ThreadSample>> {
        let mut waiters: BTreeMap<(u32, u64), Vec<&ThreadSample>> = BTreeMap::new();
        for thread in &self.threads {
            if let (WaitKey::Futex(address), Some(process)) = (&thread.key, self.processes.get(thread.process)) {
                waiters.entry((process.pid, *address)).or_default().push(thread);
            }
        }
        waiters
    }
}

/// Replaces each number in an untrusted name by `#`, makes the name safe to show, and limits its length, characters.
pub(super) fn pattern(text: &str, max_chars: usize) -> Arc<str> {
    let mut out = String::new();
    let mut in_number = false;
    for c in run::visible(text.trim()).chars().take(max_chars) {
        if !c.is_ascii_digit() {
            out.push(c);
        } else if !in_number {
            out.push('#');
        }
        in_number = c.is_ascii_digit();
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::pattern;

    #[test]
    fn strangers_names_are_safe_short_and_without_numbers() {
        assert_eq!(&*pattern("pool-1-thread-23\n", 99), "pool-#-thread-#");
        assert_eq!(&*pattern("postgres: app db 127.0.0.1(50312) UPDATE waiting", 26), "postgres: app db #.#.#.#");
        assert_eq!(&*pattern("a\u{1b}[2J\u{202e}b", 99), r"a [#J\u{#e}b");
    }
}
