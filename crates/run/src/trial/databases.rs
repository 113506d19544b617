//! Databases behind a server, sampled over time: the activities of their sessions, and the causes of their waits. A run
//! stores statements without their values.

use serde::{Deserialize, Serialize};

use super::waits::limits::MAX_WAIT_ROWS;
use super::waits::thread_state::ThreadState;
use crate::DatabaseKind;
use crate::figure::Figure;

/// Activity of a database's session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SessionState {
    /// The session executes a statement and, according to the database, does not wait.
    Running,
    /// The session waits for a row that another transaction changed.
    RowLock,
    /// The session waits for another lock held by a transaction: on a table, or on a name chosen by the application.
    Lock,
    /// The session waits for a lock that protects the database's own memory or files.
    InternalLock,
    /// The session waits for a read or a write of a file.
    Disk,
    /// The session sleeps because of a statement such as `pg_sleep`.
    Sleep,
    /// The session waits for its client within an open transaction.
    OpenTransaction,
    /// The session waits for something else.
    #[default]
    Other,
}

impl SessionState {
    /// Returns the thread state that corresponds to the session's state.
    pub const fn thread_state(self) -> ThreadState {
        match self {
            Self::Running => ThreadState::OnCpu,
            Self::RowLock | Self::Lock | Self::InternalLock => ThreadState::Futex,
            Self::Disk => ThreadState::Disk,
            Self::Sleep => ThreadState::Sleep,
            Self::OpenTransaction => ThreadState::ClientRead,
            Self::Other => ThreadState::Other,
        }
    }
}

/// Sessions with the same activity and the same statement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SessionGroup {
    /// Activity of the sessions.
    pub state: SessionState,
    /// The database's name for the wait, such as `Lock:transactionid`; empty if the sessions do not wait.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub event: String,
    /// Statement without its values.
    pub statement: String,
    /// Mean number of sessions in this group over all samples.
    #[serde(with = "Figure")]
    pub sessions: f64,
}

/// Transactions that hold a lock for which other transactions wait.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Blocker {
    /// Activity of the blocked sessions, which is a wait for a lock.
    pub blocked: SessionState,
    /// Activity of the blocking transactions.
    pub state: SessionState,
    /// Statement that the transactions run, without values; in an open transaction, the last statement.
    pub statement: String,
    /// Number of blocking transactions in this entry, as a share of all observed blocking transactions, 0 to 1.
    #[serde(with = "Figure")]
    pub share: f64,
    /// Typical time for which a blocking transaction holds the lock for which other transactions wait, seconds; 0 if
    /// unknown.
    #[serde(with = "Figure")]
    pub held_s: f64,
}

/// Calls of one command of a database: their number and duration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CommandSum {
    /// Name of the command.
    pub command: String,
    /// Calls per second.
    #[serde(with = "Figure")]
    pub calls_per_s: f64,
    /// Time that the database spent in calls of this command, as a share of the sampled time, 0 to 1.
    #[serde(with = "Figure")]
    pub share: f64,
    /// Duration of the longest call of this command in the database's log of slow commands, seconds; 0 if there is
    /// none.
    #[serde(with = "Figure")]
    pub longest_s: f64,
}

/// A database behind the server, sampled over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct DatabaseProfile {
    /// Kind of database.
    pub kind: DatabaseKind,
    /// Address and name of the database.
    pub address: String,
    /// Length of the sampled time, seconds.
    #[serde(with = "Figure")]
    pub seconds: f64,
    /// Number of samples taken.
    pub samples: u64,
    /// Mean duration of taking one sample, including the round trip to the database, milliseconds.
    #[serde(with = "Figure")]
    pub sample_ms: f64,
    /// Mean number of all sessions of the database.
    #[serde(with = "Figure")]
    pub sessions: f64,
    /// Mean number of sessions that execute a statement or have an open transaction.
    #[serde(with = "Figure")]
    pub active: f64,
    /// Active sessions by activity and statement, the largest group first.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MAX_WAIT_ROWS, _, _>")]
    pub groups: Vec<SessionGroup>,
    /// Transactions that block other transactions, the most frequent first.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MAX_WAIT_ROWS, _, _>")]
    pub blockers: Vec<Blocker>,
    /// Executed commands; the command that took most time comes first.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MAX_WAIT_ROWS, _, _>")]
    pub commands: Vec<CommandSum>,
    /// Reasons for missing data, in sentences.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MAX_WAIT_ROWS, _, _>")]
    pub missing: Vec<String>,
}
