//! Databases behind a server, sampled over time: activities and waits of their sessions. Statements have no values.

use serde::{Deserialize, Serialize};

use super::waits::{MAX_WAIT_ROWS, ThreadState};
use crate::DatabaseKind;
use crate::figure::Figure;

/// Activity of a database's session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SessionState {
    /// Executing a statement, and not waiting according to the database.
    Running,
    /// Waiting for a row that another transaction changed.
    RowLock,
    /// Waiting for another lock that a transaction holds: of a table, or one that the application names itself.
    Lock,
    /// Waiting for a lock inside the database, of its memory or its files.
    InternalLock,
    /// Waiting for a file.
    Disk,
    /// Sleeping by a statement.
    Sleep,
    /// Waiting for the client in an open transaction.
    OpenTransaction,
    /// Waiting for something else.
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

/// Sessions with one activity in one statement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SessionGroup {
    /// Activity of the sessions.
    pub state: SessionState,
    /// Name of the database for the wait, such as `Lock:transactionid`; empty if it does not wait.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub event: String,
    /// Statement without its values.
    pub statement: String,
    /// Mean number of these sessions.
    #[serde(with = "Figure")]
    pub sessions: f64,
}

/// Transactions that hold a lock for which others wait.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Blocker {
    /// Wait of the blocked sessions.
    pub blocked: SessionState,
    /// Activity of the blocking transactions.
    pub state: SessionState,
    /// Statement of the transactions, without values; in an open transaction, the last statement.
    pub statement: String,
    /// Part of all readings of blockers, 0 to 1.
    #[serde(with = "Figure")]
    pub share: f64,
    /// Typical time for which such a transaction holds the lock, seconds; 0 if unknown.
    #[serde(with = "Figure")]
    pub held_s: f64,
}

/// Commands of one kind that a database executed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CommandSum {
    /// Name of the command.
    pub command: String,
    /// Calls per second.
    #[serde(with = "Figure")]
    pub calls_per_s: f64,
    /// Share of the time that the database spent in these commands, 0 to 1.
    #[serde(with = "Figure")]
    pub share: f64,
    /// Longest call in the database's log of slow commands, seconds; 0 if there is none.
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
    /// Number of samples.
    pub samples: u64,
    /// Mean time of a sample, including the round trip to the database, milliseconds.
    #[serde(with = "Figure")]
    pub sample_ms: f64,
    /// Mean number of sessions.
    #[serde(with = "Figure")]
    pub sessions: f64,
    /// Mean number of sessions in a statement or in an open transaction.
    #[serde(with = "Figure")]
    pub active: f64,
    /// Active sessions by activity and statement, the largest group first.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MAX_WAIT_ROWS, _, _>")]
    pub groups: Vec<SessionGroup>,
    /// Transactions that block others, the most frequent first.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MAX_WAIT_ROWS, _, _>")]
    pub blockers: Vec<Blocker>,
    /// Executed commands, the one with most time first.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MAX_WAIT_ROWS, _, _>")]
    pub commands: Vec<CommandSum>,
    /// Reasons why something could not be read, one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MAX_WAIT_ROWS, _, _>")]
    pub missing: Vec<String>,
}
