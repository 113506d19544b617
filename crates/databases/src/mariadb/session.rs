//! One sample of MariaDB: its sessions, and if some wait for a lock, who blocks them.

use run::{Behind, SessionState};

use super::client::{Client, Row};
use crate::DatabaseError;
use crate::sums::{BlockerSample, Sample, SessionSample};

/// Statement that selects the sessions of clients with their transactions. InnoDB updates these tables ten times per
/// second.
const SESSIONS: &str = "SELECT p.command, p.state, t.trx_state, LEFT(p.info, 1024) FROM information_schema.processlist p \
    LEFT JOIN information_schema.innodb_trx t ON t.trx_mysql_thread_id = p.id \
    WHERE p.id <> CONNECTION_ID() AND p.user <> 'system user' AND p.command NOT IN ('Daemon', 'Binlog Dump') LIMIT 4096";
/// Statement that selects the transactions that block others and do not wait for a lock themselves.
const BLOCKERS: &str = "SELECT l.lock_type, b.trx_mysql_thread_id, p.command, p.state, b.trx_state, LEFT(p.info, 1024) \
    FROM information_schema.innodb_lock_waits w JOIN information_schema.innodb_trx b ON b.trx_id = w.blocking_trx_id \
    JOIN information_schema.innodb_locks l ON l.lock_id = w.requested_lock_id \
    LEFT JOIN information_schema.processlist p ON p.id = b.trx_mysql_thread_id WHERE b.trx_state <> 'LOCK WAIT' LIMIT 16";
/// Time limit of each sample, seconds. A sample that takes longer is dropped, because its moment is uncertain.
const LIMITS: &str = "SET SESSION max_statement_time = 1";

/// State of a transaction that waits for a row.
const LOCK_WAIT: &str = "LOCK WAIT";

/// A connection that takes samples.
#[derive(Debug)]
pub(crate) struct MariadbSession {
    client: Client,
}

impl MariadbSession {
    /// Connects and tries the statements, for which the user needs the privilege PROCESS.
    pub(crate) fn connect(behind: &Behind) -> Result<Self, DatabaseError> {
        let mut session = Self { client: Client::connect(behind)? };
        session.client.query(LIMITS)?;
        session.client.query(BLOCKERS)?;
        session.sample()?;
        Ok(session)
    }

    /// Takes a sample.
    pub(crate) fn sample(&mut self) -> Result<Sample, DatabaseError> {
        let mut sample = Sample::default();
        for row in self.client.query(SESSIONS)? {
            match session(&row) {
                Some(session) => sample.sessions.push(session),
                None => sample.idle += 1,
            }
        }
        if sample.sessions.iter().any(|session| session.state == SessionState::RowLock) {
            sample.blockers = self.client.query(BLOCKERS)?.iter().map(blocker).collect();
        }
        Ok(sample)
    }
}

fn text(row: &Row, at: usize) -> &str {
    row.get(at).and_then(Option::as_deref).unwrap_or_default()
}

/// Returns a session from its columns; `None` if it is idle.
fn session(row: &Row) -> Option<SessionSample> {
    let (state, transaction) = (text(row, 1), text(row, 2));
    let found = state_of(text(row, 0), state, transaction)?;
    let event = match found {
        SessionState::RowLock => LOCK_WAIT.into(),
        SessionState::Running | SessionState::OpenTransaction => String::new(),
        _ => state.into(),
    };
    Some(SessionSample { state: found, event, statement: text(row, 3).into() })
}

/// Returns what a session does; `None` if it is idle. Source: MariaDB's manual, "Thread States".
fn state_of(command: &str, state: &str, transaction: &str) -> Option<SessionState> {
    Some(match (command, transaction) {
        ("Sleep", "") => return None,
        ("Sleep", _) => SessionState::OpenTransaction,
        (_, LOCK_WAIT) => SessionState::RowLock,
        _ if state == "User sleep" => SessionState::Sleep,
        _ if state == "User lock" || state.starts_with("Waiting for") && state.ends_with("lock") => SessionState::Lock,
        _ => SessionState::Running,
    })
}

/// Returns a blocker from its columns.
fn blocker(row: &Row) -> BlockerSample {
    BlockerSample {
        blocked: SessionState::RowLock,
        id: text(row, 1).parse().unwrap_or_default(),
        state: state_of(text(row, 2), text(row, 3), text(row, 4)).unwrap_or_default(),
        statement: text(row, 5).into(),
        // InnoDB records the start of a wait in whole seconds.
        held_s: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_told_apart() {
        for (command, state, transaction, expected) in [
            ("Sleep", "", "", None),
            ("Sleep", "", "RUNNING", Some(SessionState::OpenTransaction)),
            ("Query", "Updating", "LOCK WAIT", Some(SessionState::RowLock)),
            ("Query", "User sleep", "RUNNING", Some(SessionState::Sleep)),
            ("Query", "Waiting for table metadata lock", "", Some(SessionState::Lock)),
            ("Execute", "Sending data", "", Some(SessionState::Running)),
        ] {
            assert_eq!(state_of(command, state, transaction), expected, "{command} {state} {transaction}");
        }
    }
}
