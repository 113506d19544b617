//! Reads the activity of a MariaDB server. Each reading (sample) contains the sessions of the server. If sessions wait
//! for a row lock, the sample also contains the transactions that block these sessions.

use run::{Behind, SessionState};

use super::client::{Client, Row};
use crate::DatabaseError;
use crate::sums::{BlockerSample, Sample, SessionSample};

/// Statement that selects the clients' sessions with the transactions of these sessions. `{WAIT}` is replaced by an
/// expression for the name of the current wait. InnoDB updates the table `innodb_trx` ten times per second.
const SESSIONS: &str = "SELECT p.command, p.state, t.trx_state, LEFT(p.info, 1024), {WAIT} \
    FROM information_schema.processlist p LEFT JOIN information_schema.innodb_trx t ON t.trx_mysql_thread_id = p.id \
    WHERE p.id <> CONNECTION_ID() AND p.user <> 'system user' AND p.command NOT IN ('Daemon', 'Binlog Dump') LIMIT 4096";
/// Expression for `{WAIT}` in [`SESSIONS`] if the server records waits. One wait may contain another wait: a wait for a
/// table contains the wait for its file. The expression selects the innermost wait, which began last.
const CURRENT_WAIT: &str = "(SELECT w.event_name FROM performance_schema.events_waits_current w \
    JOIN performance_schema.threads s ON s.thread_id = w.thread_id \
    WHERE s.processlist_id = p.id AND w.end_event_id IS NULL ORDER BY w.event_id DESC LIMIT 1)";
/// Statement that returns a row if the server records current waits and the user may read the records.
const RECORDS_WAITS: &str = "SELECT c.name FROM performance_schema.setup_consumers c \
    LEFT JOIN performance_schema.events_waits_current w ON w.thread_id = 0 \
    LEFT JOIN performance_schema.threads s ON s.thread_id = 0 \
    WHERE c.name = 'events_waits_current' AND c.enabled = 'YES' AND @@performance_schema = 1";
/// Statement that selects the transactions that block other transactions and do not wait for a lock themselves.
const BLOCKERS: &str = "SELECT l.lock_type, b.trx_mysql_thread_id, p.command, p.state, b.trx_state, LEFT(p.info, 1024) \
    FROM information_schema.innodb_lock_waits w JOIN information_schema.innodb_trx b ON b.trx_id = w.blocking_trx_id \
    JOIN information_schema.innodb_locks l ON l.lock_id = w.requested_lock_id \
    LEFT JOIN information_schema.processlist p ON p.id = b.trx_mysql_thread_id WHERE b.trx_state <> 'LOCK WAIT' LIMIT 16";
/// Statement that limits the time of each later statement to one second. A slower statement fails and ends the
/// sampling, because it is unknown to which moment its rows belong.
const LIMITS: &str = "SET SESSION max_statement_time = 1";

/// State of a transaction that waits for a row lock.
const LOCK_WAIT: &str = "LOCK WAIT";

/// A connection to MariaDB for taking samples.
#[derive(Debug)]
pub(crate) struct MariadbSession {
    client: Client,
    /// Statement that selects the sessions.
    sessions: String,
}

impl MariadbSession {
    /// Connects and runs each statement once as a test. The user needs the privilege PROCESS. loadline cannot see that
    /// sessions wait for files or for the server's own locks in two cases: the server does not record waits, or the
    /// user may not read the records.
    pub(crate) fn connect(behind: &Behind) -> Result<Self, DatabaseError> {
        let mut client = Client::connect(behind)?;
        client.query(LIMITS)?;
        let records_waits = client.query(RECORDS_WAITS).is_ok_and(|rows| !rows.is_empty());
        let wait = if records_waits { CURRENT_WAIT } else { "NULL" };
        let mut session = Self { client, sessions: SESSIONS.replace("{WAIT}", wait) };
        session.client.query(BLOCKERS)?;
        session.sample()?;
        Ok(session)
    }

    /// Takes a sample of the sessions of MariaDB.
    pub(crate) fn sample(&mut self) -> Result<Sample, DatabaseError> {
        let mut sample = Sample::default();
        for row in self.client.query(&self.sessions)? {
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

/// Converts a row of [`SESSIONS`] into a session; `None` if the session is idle.
fn session(row: &Row) -> Option<SessionSample> {
    let (state, transaction, wait) = (text(row, 1), text(row, 2), text(row, 4));
    let found = state_of(text(row, 0), state, transaction, wait)?;
    let event = match found {
        SessionState::RowLock => LOCK_WAIT.into(),
        SessionState::Running | SessionState::OpenTransaction => String::new(),
        SessionState::Disk | SessionState::InternalLock => wait.into(),
        _ => state.into(),
    };
    Some(SessionSample { state: found, event, statement: text(row, 3).into() })
}

/// Returns the activity of a session; `None` if the session is idle. `wait` is the name of the session's current wait,
/// such as `wait/io/file/innodb/innodb_log_file`. Source: MariaDB's manual, "Thread States", and the table
/// setup_instruments.
fn state_of(command: &str, state: &str, transaction: &str, wait: &str) -> Option<SessionState> {
    Some(match (command, transaction) {
        ("Sleep", "") => return None,
        ("Sleep", _) => SessionState::OpenTransaction,
        (_, LOCK_WAIT) => SessionState::RowLock,
        _ if state == "User sleep" => SessionState::Sleep,
        _ if state == "User lock" || state.starts_with("Waiting for") && state.ends_with("lock") => SessionState::Lock,
        _ if wait.starts_with("wait/io/file/") => SessionState::Disk,
        _ if wait.starts_with("wait/synch/") => SessionState::InternalLock,
        _ => SessionState::Running,
    })
}

/// Converts a row of [`BLOCKERS`] into a blocker.
fn blocker(row: &Row) -> BlockerSample {
    BlockerSample {
        blocked: SessionState::RowLock,
        id: text(row, 1).parse().unwrap_or_default(),
        state: state_of(text(row, 2), text(row, 3), text(row, 4), "").unwrap_or_default(),
        statement: text(row, 5).into(),
        // InnoDB records the start of a wait only in whole seconds, which is too inexact, so this function returns no
        // time.
        held_s: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_told_apart() {
        let (file, mutex) = ("wait/io/file/innodb/innodb_log_file", "wait/synch/mutex/innodb/trx_mutex");
        for (command, state, transaction, wait, expected) in [
            ("Sleep", "", "", "wait/io/socket/sql/client_connection", None),
            ("Sleep", "", "RUNNING", "", Some(SessionState::OpenTransaction)),
            ("Query", "Updating", "LOCK WAIT", mutex, Some(SessionState::RowLock)),
            ("Query", "User sleep", "RUNNING", "wait/synch/cond/sql/Item_func_sleep::cond", Some(SessionState::Sleep)),
            ("Query", "Waiting for table metadata lock", "", "", Some(SessionState::Lock)),
            ("Query", "Commit", "RUNNING", file, Some(SessionState::Disk)),
            ("Query", "Updating", "RUNNING", mutex, Some(SessionState::InternalLock)),
            ("Query", "Sending data", "", "wait/io/table/sql/handler", Some(SessionState::Running)),
            ("Execute", "Sending data", "", "", Some(SessionState::Running)),
        ] {
            assert_eq!(state_of(command, state, transaction, wait), expected, "{command} {state} {transaction} {wait}");
        }
    }
}
