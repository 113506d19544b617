//! Futexes for which threads waited, and the threads that held the locks behind them.

use serde::{Deserialize, Serialize};

use super::limits::MAX_WAIT_ROWS;
use super::thread_state::ThreadState;
use crate::figure::Figure;
use crate::skip_empty;

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

/// A futex for which at least two threads waited.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct FutexProfile {
    /// Process, as in `WaitGroup::process`.
    pub process: String,
    /// Address of the futex in the process, as in `WaitGroup::key`.
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
    /// Threads that held the lock most often, at most `MAX_HOLDER_ROWS`. If the futex never had a known owner, the
    /// holder is the only active thread that uses the futex.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MAX_WAIT_ROWS, _, _>")]
    pub holder_threads: Vec<HolderThread>,
    /// Functions in which holders waited most often, at most `MAX_HOLDER_ROWS`. The stack of a computing holder
    /// cannot be read.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MAX_WAIT_ROWS, _, _>")]
    pub holder_functions: Vec<HolderFunction>,
}

/// Activity of the thread that owns a lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HolderState {
    /// Activity of the thread.
    pub state: ThreadState,
    /// Object for which the owner waits, as in `WaitGroup::key`.
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
