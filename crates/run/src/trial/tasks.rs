//! Tasks that a language runtime schedules on its own threads (goroutines), sampled over time.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::skip_empty;

/// Activity of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TaskState {
    /// The task runs on a thread, or is in a system call.
    Running,
    /// The task is ready to run, but has no thread.
    Runnable,
    /// The task waits for a mutex.
    Lock,
    /// The task waits until a channel has room. Tasks wait for room if a channel limits the number of concurrent jobs,
    /// for example.
    Send,
    /// The task waits for a message on a channel.
    Receive,
    /// The task waits for one of several channels.
    Select,
    /// The task sleeps for a fixed time.
    Sleep,
    /// The task waits for the network.
    Network,
    /// The task waits for something else.
    #[default]
    Other,
}

/// Tasks of a process that have the same state and are in the same function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TaskGroup {
    /// Name of the process, with its ID if it is the only process of this name.
    pub process: String,
    /// Activity of the tasks.
    pub state: TaskState,
    /// Function that waits, with its file and line if known; empty for running tasks.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub function: String,
    /// Mean number of tasks in this group.
    #[serde(with = "Figure")]
    pub tasks: f64,
    /// Mean number of other tasks that are inside `function`, or inside functions that it called.
    #[serde(skip_serializing_if = "skip_empty::is_zero", with = "Figure")]
    pub inside: f64,
    /// Most frequent activity of the tasks that `inside` counts; absent if there are no such tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inside_state: Option<TaskState>,
}

/// Limits of a language runtime that schedules tasks on its own threads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TaskRuntime {
    /// Name of the process, with its ID if it is the only process of this name.
    pub process: String,
    /// Maximum number of tasks that run at the same time (GOMAXPROCS of Go).
    pub max_running: u32,
    /// Number of CPUs that the process may use.
    pub cpus: u32,
}
