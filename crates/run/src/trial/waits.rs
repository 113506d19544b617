//! Threads of a server and of its upstream services, sampled over time: the numbers of threads that ran, and of threads
//! that waited for each object.

pub(crate) mod connections;
pub(crate) mod futexes;
pub(crate) mod limits;
pub(crate) mod thread_state;

use serde::{Deserialize, Serialize};

use connections::{ClientConnections, PeerConnections};
use futexes::FutexProfile;
use limits::MAX_WAIT_ROWS;
use thread_state::ThreadState;

use crate::figure::Figure;
use crate::skip_empty;

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
    /// Name of the processes, as in `WaitGroup::process`.
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
    /// Share of the processes with accepted connections that held several of them at a time, and more than they have
    /// epoll descriptors, as an event loop does; 0 to 1. The value is 0 if no process accepted a connection, and absent
    /// if the accepted connections are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multiplexing: Option<f64>,
    /// True if the processes are children of a process that runs the same program but is counted apart, because only
    /// the parent has an event loop.
    #[serde(skip_serializing_if = "skip_empty::is_false")]
    pub children: bool,
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
