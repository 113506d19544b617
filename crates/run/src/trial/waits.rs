//! Threads of a server and of its upstream services, sampled over time: the numbers of threads that ran, and of threads
//! that waited for each object.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::skip_empty;

/// Maximum number of rows in each list of a profile: groups, futexes, titles and peers. In each list, the sampler keeps
/// the largest rows.
pub const MAX_WAIT_ROWS: usize = 64;

/// Maximum number of threads, and maximum number of functions, in the lists of a lock's holders. A conclusion needs
/// only the largest row; the further rows show by how much the largest row exceeds the others.
pub const MAX_HOLDER_ROWS: usize = 4;

/// Activity of a thread in one sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ThreadState {
    /// The thread runs on a CPU.
    OnCpu,
    /// The thread is ready to run, but has no CPU.
    Runnable,
    /// The thread waits for a futex: a lock, a condition variable, a semaphore, or another thread.
    Futex,
    /// The thread waits for a reply from another server, or for a connection to it.
    Peer,
    /// The thread sleeps for a fixed time.
    Sleep,
    /// The thread waits for a file: a read, a write or a flush to its disk.
    Disk,
    /// The thread waits for a lock on a file or for a System V semaphore.
    FileLock,
    /// The thread waits until a client takes more data.
    ClientWrite,
    /// The thread waits for data from a pipe, or for an event descriptor.
    Pipe,
    /// The thread waits until another program takes data out of a full pipe.
    FullPipe,
    /// The thread waits for a child process.
    Child,
    /// The thread waits for a memory page (page fault).
    Memory,
    /// A signal or a debugger stopped the thread.
    Stopped,
    /// The thread waits for events on descriptors (epoll, poll, select, io_uring).
    Events,
    /// The thread waits for the next request on a client's connection.
    ClientRead,
    /// The thread waits for the next connection.
    Accept,
    /// The thread waits for a signal.
    Signal,
    /// The thread waits for a socket whose purpose is unknown, because the socket was opened after loadline last listed
    /// the sockets.
    NewSocket,
    /// The thread waits in another system call, whose number is in [`WaitGroup::key`].
    #[default]
    Other,
}

impl ThreadState {
    /// Returns true if the thread waits for work to arrive.
    pub const fn is_idle(self) -> bool {
        matches!(self, Self::Events | Self::ClientRead | Self::Accept | Self::Signal)
    }

    /// Returns true if the thread runs on a CPU or is ready to run.
    pub const fn wants_cpu(self) -> bool {
        matches!(self, Self::OnCpu | Self::Runnable)
    }

    /// Returns true if the thread works, or waits in the middle of its work. Some threads are neither idle nor active,
    /// for example threads that wait for a futex or in an unknown system call.
    pub const fn is_active(self) -> bool {
        !self.is_idle() && !matches!(self, Self::Futex | Self::Pipe | Self::Stopped | Self::NewSocket | Self::Other)
    }
}

/// Kind of object that a futex belongs to, recognized by its memory and its system call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FutexKind {
    /// A mutex that stores its owner (pthread_mutex_t of glibc).
    OwnedMutex,
    /// A lock that stores only its state: free, locked, or locked with waiters, but no owner (Rust's Mutex, locks
    /// inside glibc, locks of Go's runtime).
    Mutex,
    /// A condition variable (pthread_cond_t of glibc).
    Condition,
    /// A semaphore (sem_t of glibc). Locks of Python up to 3.12 are semaphores.
    Semaphore,
    /// The kind of the futex is unknown.
    #[default]
    Unknown,
}

/// Threads that have the same state and the same thread name, in all processes that have the same process name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct WaitGroup {
    /// Name of the process, with its ID if it is the only process of this name: `python3:812`.
    pub process: String,
    /// Name of the threads, with `#` in place of each number.
    pub thread: String,
    /// Activity of the threads.
    pub state: ThreadState,
    /// Object for which the threads wait: the address of a futex or of a peer, or a system call with its file. The text
    /// is empty if the object has no name, or if each thread waits for its own futex.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// Mean number of threads in this group.
    #[serde(with = "Figure")]
    pub threads: f64,
    /// Share of the threads in this group in all threads of the processes, 0 to 1.
    #[serde(with = "Figure")]
    pub share: f64,
}

/// Sampled processes that have the same name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct WaitProcess {
    /// Name of the processes, as in [`WaitGroup::process`].
    pub process: String,
    /// Mean number of processes with this name.
    #[serde(with = "Figure")]
    pub processes: f64,
    /// Mean number of threads of all processes with this name.
    #[serde(with = "Figure")]
    pub threads: f64,
    /// Share of time in which the busiest thread ran or was ready to run, 0 to 1.
    #[serde(with = "Figure")]
    pub busiest: f64,
    /// Share of time in which the busiest thread waited in the middle of its work, for example for a disk, 0 to 1.
    #[serde(with = "Figure", skip_serializing_if = "skip_empty::is_zero")]
    pub busiest_blocked: f64,
    /// True if the processes are an upstream service of the server.
    #[serde(skip_serializing_if = "skip_empty::is_false")]
    pub behind: bool,
    /// True if a process has an epoll descriptor of its own, as an event loop does.
    #[serde(skip_serializing_if = "skip_empty::is_false")]
    pub epoll: bool,
    /// Share of the processes that held several accepted connections at a time, more than they have epoll descriptors, as
    /// an event loop does; of the processes with an accepted connection, 0 to 1. The value is 0 if no process accepted
    /// one, and absent if the accepted connections are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multiplexing: Option<f64>,
    /// True if the processes are children of a process that runs the same program but is counted apart, because only
    /// the parent has an event loop.
    #[serde(skip_serializing_if = "skip_empty::is_false")]
    pub children: bool,
}

/// Activity of the thread that owns a lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HolderState {
    /// Activity of the thread.
    pub state: ThreadState,
    /// Object for which the owner waits, as in [`WaitGroup::key`].
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// Share of the readings with a known owner in which the owner had this activity, 0 to 1.
    #[serde(with = "Figure")]
    pub share: f64,
}

/// A thread that held a lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HolderThread {
    /// Name of the thread.
    pub name: String,
    /// ID of the thread on its host.
    pub id: u32,
    /// Number of readings in which this thread held the lock.
    pub readings: u64,
    /// Share of the readings in which this thread held the lock, in all readings with a known holder, 0 to 1.
    #[serde(with = "Figure")]
    pub share: f64,
}

/// A function in which threads waited while they held a lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HolderFunction {
    /// Activity of the threads.
    pub state: ThreadState,
    /// Innermost function of the program itself, with its file and line if known.
    pub function: String,
    /// Number of stacks in which a holder had this activity in this function.
    pub stacks: u64,
    /// Share of the stacks with this function in all stacks of holders with this activity, 0 to 1.
    #[serde(with = "Figure")]
    pub share: f64,
}

/// A futex for which at least two threads waited.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct FutexProfile {
    /// Process, as in [`WaitGroup::process`].
    pub process: String,
    /// Address of the futex in the process, as in [`WaitGroup::key`].
    pub address: String,
    /// Name of the futex: the global variable at its address, or a name of the lock from another source; empty if
    /// unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Function that waits, with its file and line if known; empty if unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub function: String,
    /// Kind of object that the futex belongs to.
    pub kind: FutexKind,
    /// Number of threads that waited for the futex at any time of the sampling.
    pub users: u64,
    /// Mean number of waiting threads.
    #[serde(with = "Figure")]
    pub waiting: f64,
    /// Share of the rounds in which a thread waited for the futex, 0 to 1.
    #[serde(with = "Figure")]
    pub contended: f64,
    /// Share of the rounds with a waiting thread, 0 to 1, in which none of the other threads that use the futex was
    /// active. For a lock, the share of such rounds is near 0: while threads wait, another thread holds the lock and is
    /// active.
    #[serde(with = "Figure")]
    pub unheld: f64,
    /// Mean number of active threads that use the futex, in the rounds in which other threads waited for it. The mean
    /// also counts active threads that ended before any sample found them waiting.
    #[serde(with = "Figure")]
    pub active: f64,
    /// Share of the readings of the futex in which its owner was known, 0 to 1.
    #[serde(with = "Figure")]
    pub owned: f64,
    /// Activities of the owner, the most frequent first. If the futex never had a known owner, the list has the
    /// activities of active threads that use the futex.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MAX_WAIT_ROWS, _, _>")]
    pub holders: Vec<HolderState>,
    /// Number of readings from which `holders` was computed; 0 if unknown.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub holder_readings: u64,
    /// Threads that held the lock most often, at most [`MAX_HOLDER_ROWS`]. If the futex never had a known owner, the
    /// holder is the only active thread that uses the futex.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MAX_WAIT_ROWS, _, _>")]
    pub holder_threads: Vec<HolderThread>,
    /// Functions in which holders waited most often, at most [`MAX_HOLDER_ROWS`]. The stack of a computing holder
    /// cannot be read.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MAX_WAIT_ROWS, _, _>")]
    pub holder_functions: Vec<HolderFunction>,
}

/// Processes that have the same title. Programs such as PostgreSQL set their process title to their current work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TitleGroup {
    /// Name of the processes.
    pub process: String,
    /// Title, with `#` in place of each number.
    pub title: String,
    /// Mean number of processes with this title.
    #[serde(with = "Figure")]
    pub processes: f64,
}

/// Connections of the server's clients. Each mean is over all rounds, and assumes that the numbers change linearly
/// between two readings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ClientConnections {
    /// Number of times that loadline read the states of the connections.
    pub readings: u64,
    /// Mean number of accepted connections.
    #[serde(with = "Figure")]
    pub open: f64,
    /// Mean number of connections whose request the server has read but not answered yet.
    #[serde(with = "Figure")]
    pub in_progress: f64,
    /// Mean number of connections that may or may not have a request in progress. loadline cannot know the state of a
    /// connection if request and response came within one clock tick.
    #[serde(with = "Figure")]
    pub uncertain: f64,
    /// Mean number of connections with data that the server has not read yet.
    #[serde(with = "Figure")]
    pub unread: f64,
    /// Mean number of connections that wait to be accepted.
    #[serde(with = "Figure")]
    pub queued: f64,
    /// Largest number of accepted connections at a reading; 0 in runs of older versions.
    #[serde(with = "Figure", skip_serializing_if = "crate::skip_empty::is_zero")]
    pub max_open: f64,
}

/// Connections to one address, from all processes that have the same name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PeerConnections {
    /// Process, as in [`WaitGroup::process`]; empty in runs of older versions.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub process: String,
    /// Address of the peer.
    pub address: String,
    /// Mean number of open connections.
    #[serde(with = "Figure")]
    pub open: f64,
    /// Mean number of connections on which the last data was a request; NaN for unix sockets, because their last data
    /// is unknown.
    #[serde(with = "Figure")]
    pub busy: f64,
    /// Largest number of open connections at a reading; 0 in runs of older versions.
    #[serde(with = "Figure", skip_serializing_if = "crate::skip_empty::is_zero")]
    pub max_open: f64,
    /// Mean number of readings, per connection, that found new data from the peer, or found that the connection had
    /// ended; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<f64>,
    /// Process that answers at the address, as in [`WaitGroup::process`]; empty if unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub to: String,
}

/// Threads of a server and of its upstream services, sampled over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct WaitProfile {
    /// Length of the sampled time, seconds.
    #[serde(with = "Figure")]
    pub seconds: f64,
    /// Number of rounds in which loadline sampled the threads. A round reads each thread once.
    pub rounds: u64,
    /// Number of thread samples.
    pub samples: u64,
    /// CPU time that the sampling took per second, in CPUs, without `setup_cpu_s`. In runs of older versions, the
    /// figure includes `setup_cpu_s`.
    #[serde(with = "Figure")]
    pub cpu: f64,
    /// CPU time for reading the symbols and the debug information of the programs, seconds. Each program file is read
    /// once, however long the sampling lasts.
    #[serde(skip_serializing_if = "crate::skip_empty::is_zero", with = "Figure")]
    pub setup_cpu_s: f64,
    /// Sampled processes. The process with the most threads comes first.
    #[serde(deserialize_with = "crate::bounded::list::<MAX_WAIT_ROWS, _, _>")]
    pub processes: Vec<WaitProcess>,
    /// Threads by activity, the largest group first.
    #[serde(deserialize_with = "crate::bounded::list::<MAX_WAIT_ROWS, _, _>")]
    pub groups: Vec<WaitGroup>,
    /// Futexes with several waiting threads. The futex with the most waiting threads comes first.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MAX_WAIT_ROWS, _, _>")]
    pub futexes: Vec<FutexProfile>,
    /// Tasks that a language runtime schedules itself (goroutines), the largest group first.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MAX_WAIT_ROWS, _, _>")]
    pub tasks: Vec<crate::TaskGroup>,
    /// Limits of the language runtimes that schedule the tasks, one entry per process.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MAX_WAIT_ROWS, _, _>")]
    pub runtimes: Vec<crate::TaskRuntime>,
    /// Threads that wait for locks of their language runtimes, the largest group first.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MAX_WAIT_ROWS, _, _>")]
    pub monitors: Vec<crate::MonitorGroup>,
    /// Process titles, from processes that change their title while they run.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MAX_WAIT_ROWS, _, _>")]
    pub titles: Vec<TitleGroup>,
    /// Connections of the server's clients; absent if its listener is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<ClientConnections>,
    /// Connections of the processes to other servers.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MAX_WAIT_ROWS, _, _>")]
    pub peers: Vec<PeerConnections>,
    /// Stacks of the threads; absent if loadline sampled no stacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stacks: Option<crate::StackProfile>,
    /// Reasons for missing data, in sentences.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MAX_WAIT_ROWS, _, _>")]
    pub missing: Vec<String>,
}

impl WaitProfile {
    /// Calls `change` with each text of the profile that may come from another program.
    pub(crate) fn each_text(&mut self, mut change: impl FnMut(&mut String)) {
        self.stacks.iter_mut().for_each(|stacks| stacks.each_text(&mut change));
        let groups = self.groups.iter_mut().flat_map(|g| [&mut g.process, &mut g.thread, &mut g.key]);
        groups.for_each(&mut change);
        for futex in &mut self.futexes {
            [&mut futex.process, &mut futex.address, &mut futex.name, &mut futex.function]
                .into_iter()
                .chain(futex.holders.iter_mut().map(|holder| &mut holder.key))
                .chain(futex.holder_threads.iter_mut().map(|holder| &mut holder.name))
                .chain(futex.holder_functions.iter_mut().map(|holder| &mut holder.function))
                .for_each(&mut change);
        }
        self.titles.iter_mut().flat_map(|t| [&mut t.process, &mut t.title]).for_each(&mut change);
        self.processes.iter_mut().map(|p| &mut p.process).for_each(&mut change);
        self.tasks.iter_mut().flat_map(|t| [&mut t.process, &mut t.function]).for_each(&mut change);
        self.runtimes.iter_mut().map(|runtime| &mut runtime.process).for_each(&mut change);
        self.monitors.iter_mut().flat_map(|m| [&mut m.process, &mut m.function]).for_each(&mut change);
        self.peers
            .iter_mut()
            .flat_map(|p| [&mut p.process, &mut p.address, &mut p.to])
            .chain(&mut self.missing)
            .for_each(change);
    }
}
