//! Causes of waits inside the server's processes.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::{CountedKind, ThreadState};

/// Cause of a wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WaitCause {
    /// Threads wait for one lock.
    #[default]
    Lock,
    /// All workers are busy, and requests wait for a worker.
    WorkerPool,
    /// All connections to a peer are busy.
    ConnectionPool,
    /// A call blocks the thread of an event loop.
    BlockingCall,
    /// Transactions wait for a row lock of a database.
    RowLock,
    /// Threads wait for a disk.
    Disk,
    /// Threads sleep while they have a request.
    Sleep,
    /// Only one thread of the server computes at a time.
    SerialCpu,
    /// Threads wait for replies of another server.
    Peer,
}

/// A cause of waits of requests inside a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct WaitFinding {
    /// Cause of the wait.
    pub cause: WaitCause,
    /// Name of the lock, function, statement or file that requests wait for, or its address if it has no name. If
    /// requests wait for a connection, the name is that of the process at the connection's other end.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Name of the process, with its ID if it is the only process of this name.
    pub process: String,
    /// Kind of the things that `threads` and `of` count; absent for threads.
    #[serde(skip_serializing_if = "CountedKind::is_threads")]
    pub counted: CountedKind,
    /// Mean number of threads that wait because of this cause, or mean number of busy connections.
    #[serde(with = "Figure")]
    pub threads: f64,
    /// Mean number of all threads of the process, or of all its connections to the peer.
    #[serde(with = "Figure")]
    pub of: f64,
    /// Mean number of requests that wait for a connection; absent if the cause has no such count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued: Option<f64>,
    /// Most frequent activity of the thread that holds the lock; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<ThreadState>,
    /// True if loadline only supposes which thread holds the lock. If `holder_probable` is true, the lock stores no
    /// owner, and other threads that use the lock were active.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub holder_probable: bool,
    /// Thread that holds the lock in most samples; absent if unknown, or if the lock passes from thread to thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder_thread: Option<crate::HolderThread>,
    /// Function in which the holder waits in most samples, with its file and line if known; empty if unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub holder_function: String,
    /// Share of the samples of waiting holders that are in `holder_function`, 0 to 1; absent if the function is
    /// unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder_function_share: Option<f64>,
    /// System call in which the holder waits for a disk, with its file, or the pipe for which the holder waits; empty
    /// for other activities.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub holder_call: String,
    /// Function that waits; empty if unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub function: String,
    /// Activity of the sessions of a database; absent for threads of other processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<crate::SessionState>,
    /// Kind of wait as a database names it, such as `Lock:transactionid`; empty for other programs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub event: String,
    /// Statement of the transaction that holds the lock, without its values; empty if unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub holder_statement: String,
    /// Typical time for which a transaction holds the lock, or typical duration of the command, seconds; absent if
    /// unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_s: Option<f64>,
    /// Address of the peer for which the threads wait; empty if they do not wait for a peer.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub peer: String,
    /// Share of the process's threads that wait, or share of its connections to the peer that are busy, 0 to 1.
    #[serde(with = "Figure")]
    pub share: f64,
    /// The finding in one sentence.
    pub sentence: String,
}

/// A function in which threads of a server wait.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct WaitingFunction {
    /// Name of the process.
    pub process: String,
    /// Innermost function of the program itself, which called the function that waits; if none is known, the name of
    /// the library's function, or of its module in brackets.
    pub function: String,
    /// Mean number of threads that wait in the function, without idle threads.
    #[serde(with = "Figure")]
    pub threads: f64,
    /// Share of the threads that wait in the function, in all waiting threads, 0 to 1.
    #[serde(with = "Figure")]
    pub share: f64,
}
