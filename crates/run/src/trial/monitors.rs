//! Locks of language runtimes in which each waiting thread uses its own futex.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// Lock of a language runtime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MonitorKind {
    /// Lock of a Java object, which `synchronized` takes.
    JavaMonitor,
    /// Interpreter lock of Ruby; a thread must hold it to run Ruby code.
    RubyLock,
    /// A kind of lock that only a newer version of loadline knows.
    #[default]
    #[serde(other)]
    Other,
}

/// Threads that wait for a lock of their language runtime. Only the stacks show that a thread waits for a lock of its
/// language runtime, because the kernel has a separate futex for each thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MonitorGroup {
    /// Process, as in `WaitGroup::process`.
    pub process: String,
    /// Kind of lock.
    pub kind: MonitorKind,
    /// Function of the program that waits for the lock, with file and line; empty if unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub function: String,
    /// Mean number of waiting threads.
    #[serde(with = "Figure")]
    pub waiting: f64,
}
