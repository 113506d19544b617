//! Reads the activity of a PostgreSQL server. Each reading (sample) contains the sessions of the clients. If sessions
//! wait for a lock, the sample also contains the transactions that block these sessions.

use run::{Behind, SessionState};

use super::client::{Client, Row};
use crate::DatabaseError;
use crate::sums::{BlockerSample, Sample, SessionSample};

/// Statement that selects the sessions of clients. `left` limits the amount of text that the server sends. loadline
/// only counts idle sessions, so the statement selects no text for idle sessions.
const SESSIONS: &str = "SELECT state, wait_event_type, wait_event, CASE WHEN state = 'idle' THEN '' ELSE left(query, 1024) END \
    FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() LIMIT 4096";
/// Statement that selects the transactions that block waiting sessions. The statement examines at most four waits,
/// because pg_blocking_pids locks the whole lock table for a moment. The statement leaves out waits for tuples (rows).
/// Sessions that wait for a tuple form a queue, and only the first session waits for the transaction that has the lock.
const BLOCKERS: &str = "SELECT w.locktype, b.pid, b.state, b.wait_event_type, b.wait_event, left(b.query, 1024), \
    extract(epoch FROM clock_timestamp() - w.waitstart) \
    FROM (SELECT pid, locktype, waitstart FROM pg_locks WHERE NOT granted AND locktype <> 'tuple' LIMIT 4) w \
    CROSS JOIN LATERAL unnest(pg_blocking_pids(w.pid)) AS p(pid) JOIN pg_stat_activity b ON b.pid = p.pid \
    WHERE b.wait_event_type IS DISTINCT FROM 'Lock'";
/// Statement that limits the time of each later statement to one second. A slower statement fails and ends the
/// sampling, because it is unknown to which moment its rows belong.
const LIMITS: &str = "SET statement_timeout = 1000";
/// First major version of PostgreSQL whose view pg_locks contains the time at which a wait began.
const WAITSTART_VERSION: u32 = 14;
/// First major version of PostgreSQL whose view pg_stat_activity has the column `backend_type`.
const FIRST_VERSION: u32 = 10;

/// A connection to PostgreSQL for taking samples.
#[derive(Debug)]
pub(crate) struct PostgresSession {
    client: Client,
}

impl PostgresSession {
    /// Connects and prepares the statements.
    pub(crate) fn connect(behind: &Behind) -> Result<Self, DatabaseError> {
        let mut client = Client::connect(behind)?;
        if (1..FIRST_VERSION).contains(&client.version) {
            let version = client.version;
            return Err(DatabaseError::Login(format!(
                "its version is {version}; loadline samples PostgreSQL from 10 on"
            )));
        }
        client.run(LIMITS)?;
        client.prepare("sessions", SESSIONS)?;
        match client.version {
            0..WAITSTART_VERSION => client.prepare(
                "blockers",
                &BLOCKERS.replace("w.waitstart", "NULL::timestamptz").replace(", waitstart", ""),
            )?,
            _ => client.prepare("blockers", BLOCKERS)?,
        }
        Ok(Self { client })
    }

    /// Takes a sample of the sessions of PostgreSQL.
    pub(crate) fn sample(&mut self) -> Result<Sample, DatabaseError> {
        let rows = self.client.execute("sessions")?;
        let mut sample = Sample::default();
        for row in &rows {
            let text = |at: usize| row.get(at).and_then(Option::as_deref);
            match text(0) {
                None => sample.hidden += 1,
                Some("idle") => sample.idle += 1,
                Some(state) => sample.sessions.push(session(state, text(1), text(2), text(3))),
            }
        }
        if sample.sessions.iter().any(|session| is_lock(session.state)) {
            let rows = self.client.execute("blockers")?;
            sample.blockers = rows.iter().map(blocker).collect();
        }
        Ok(sample)
    }
}

const fn is_lock(state: SessionState) -> bool {
    matches!(state, SessionState::RowLock | SessionState::Lock)
}

/// Converts the columns of a row of [`SESSIONS`] into a session.
fn session(state: &str, kind: Option<&str>, event: Option<&str>, statement: Option<&str>) -> SessionSample {
    let found = state_of(state, kind, event);
    let event = match (found, kind, event) {
        (SessionState::Running | SessionState::OpenTransaction, ..) => String::new(),
        (_, Some(kind), Some(event)) => format!("{kind}:{event}"),
        _ => String::new(),
    };
    SessionSample { state: found, event, statement: statement.unwrap_or_default().into() }
}

/// Returns the activity of a session. Source: PostgreSQL's manual, "Wait Events".
fn state_of(state: &str, kind: Option<&str>, event: Option<&str>) -> SessionState {
    match (kind, event) {
        _ if state.starts_with("idle in transaction") => SessionState::OpenTransaction,
        (Some("Lock"), Some("transactionid" | "tuple")) => SessionState::RowLock,
        (Some("Lock"), _) => SessionState::Lock,
        // One session writes the write-ahead log to disk for all sessions, and all other sessions wait until the log is
        // written.
        (Some("IO"), _) | (Some("LWLock"), Some("WALWrite" | "WALWriteLock")) => SessionState::Disk,
        (Some("LWLock" | "BufferPin" | "Buffer"), _) => SessionState::InternalLock,
        (Some("Timeout"), Some("PgSleep")) => SessionState::Sleep,
        (None, _) => SessionState::Running,
        _ => SessionState::Other,
    }
}

/// Converts a row of [`BLOCKERS`] into a blocker.
fn blocker(row: &Row) -> BlockerSample {
    let text = |at: usize| row.get(at).and_then(Option::as_deref);
    let blocked = if text(0) == Some("transactionid") { SessionState::RowLock } else { SessionState::Lock };
    let held_s: Option<f64> = text(6).and_then(|seconds| seconds.parse().ok());
    BlockerSample {
        blocked,
        id: text(1).and_then(|pid| pid.parse().ok()).unwrap_or_default(),
        state: state_of(text(2).unwrap_or_default(), text(3), text(4)),
        statement: text(5).unwrap_or_default().into(),
        // For locks other than row locks, the age of the lock is unknown. The waiting session may have begun to wait
        // before the present holder got the lock.
        held_s: held_s.filter(|seconds| blocked == SessionState::RowLock && *seconds >= 0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_events_are_told_apart() {
        for (state, kind, event, expected) in [
            ("active", Some("Lock"), Some("transactionid"), SessionState::RowLock),
            ("active", Some("Lock"), Some("tuple"), SessionState::RowLock),
            ("active", Some("Lock"), Some("relation"), SessionState::Lock),
            ("active", Some("Lock"), Some("advisory"), SessionState::Lock),
            ("active", Some("IO"), Some("WALSync"), SessionState::Disk),
            ("active", Some("LWLock"), Some("WALWrite"), SessionState::Disk),
            ("active", Some("LWLock"), Some("BufferContent"), SessionState::InternalLock),
            ("active", Some("Timeout"), Some("PgSleep"), SessionState::Sleep),
            ("active", None, None, SessionState::Running),
            ("active", Some("Client"), Some("ClientWrite"), SessionState::Other),
            ("idle in transaction", Some("Client"), Some("ClientRead"), SessionState::OpenTransaction),
            ("idle in transaction (aborted)", Some("Client"), Some("ClientRead"), SessionState::OpenTransaction),
        ] {
            assert_eq!(state_of(state, kind, event), expected, "{state} {kind:?} {event:?}");
        }
    }

    #[test]
    fn only_a_wait_for_a_transaction_tells_how_long_it_holds() {
        let row = |kind: &str, age: &str| -> Row {
            [kind, "17", "active", "Timeout", "PgSleep", "SELECT pg_sleep(1)", age].map(|text| Some(text.into())).into()
        };
        let found = blocker(&row("transactionid", "0.0045"));
        assert_eq!(
            (found.blocked, found.state, found.id, found.held_s),
            (SessionState::RowLock, SessionState::Sleep, 17, Some(0.0045))
        );
        assert_eq!(blocker(&row("relation", "0.0045")).held_s, None);
        assert_eq!(blocker(&row("transactionid", "x")).held_s, None);
        assert_eq!(blocker(&Row::new()).blocked, SessionState::Lock);
    }
}
