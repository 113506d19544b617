//! Causes inside databases, from sampled sessions and commands, and from the titles of PostgreSQL's processes. While a
//! process of PostgreSQL waits for another transaction's lock, its title ends with " waiting".

use run::{
    DatabaseProfile, PeerConnections, SessionGroup, SessionState, TitleGroup, WaitCause, WaitFinding, WaitProfile,
};

use super::peers;
use super::requests::Requests;
use super::titles::activity;
use crate::context::view::program;
use crate::thresholds::{FULL_MIDDLE, WAIT_MOSTLY, WAIT_POOL_BUSY};

/// End of the title of a PostgreSQL process that waits for a lock.
const WAITING: &str = " waiting";
/// Statements that wait for locks of rows.
const ROW_STATEMENTS: &[&str] = &["UPDATE", "DELETE"];
/// Statements that lock whole tables.
const TABLE_STATEMENTS: &[&str] = &["ALTER", "CLUSTER", "CREATE", "DROP", "LOCK", "REINDEX", "TRUNCATE", "VACUUM"];

/// Commands of Redis that execute other commands, such as EVAL. Redis counts the time of an executed command twice: for
/// the command, and for the command that executes it. Source: call() in Redis's server.c.
const CONTAINERS: &[&str] = &["EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "EXEC", "FCALL", "FCALL_RO"];

/// Returns the lock that PostgreSQL's backends wait for. Returns `None` if on average less than half a backend waits.
pub(super) fn titles(profile: &WaitProfile) -> Option<WaitFinding> {
    let backends: Vec<(&TitleGroup, &str)> =
        profile.titles.iter().filter_map(|title| Some((title, activity(title)?))).collect();
    let waiting = backends.iter().filter_map(|(title, does)| Some((*title, does.strip_suffix(WAITING)?)));
    let (largest, statement) = waiting.clone().max_by(|(a, _), (b, _)| a.processes.total_cmp(&b.processes))?;
    let threads: f64 = waiting.map(|(title, _)| title.processes).sum();
    let locks_tables = |does: &str| TABLE_STATEMENTS.iter().any(|statement| does.starts_with(statement));
    let is_row = ROW_STATEMENTS.contains(&statement) && !backends.iter().any(|(_, does)| locks_tables(does));
    let state = if is_row { SessionState::RowLock } else { SessionState::Lock };
    let of = backends.iter().map(|(title, _)| title.processes).sum();
    (threads >= WAIT_MOSTLY).then(|| WaitFinding {
        name: statement.into(),
        process: largest.process.clone(),
        session: Some(state),
        ..finding(state, threads, of)
    })
}

/// Returns the causes inside sampled databases. `others` are the causes from the sampled threads of all processes.
pub(super) fn sessions(databases: &[DatabaseProfile], others: &[WaitFinding]) -> Vec<WaitFinding> {
    let of_sessions = databases.iter().filter_map(session_cause);
    of_sessions.chain(databases.iter().filter_map(|database| busy_command(database, others))).collect()
}

/// Returns the cause for which most active sessions of a database wait. Returns `None` if most active sessions do not
/// wait.
fn session_cause(database: &DatabaseProfile) -> Option<WaitFinding> {
    let waits = [SessionState::RowLock, SessionState::Lock, SessionState::InternalLock, SessionState::Disk];
    let groups = |state: SessionState| database.groups.iter().filter(move |group| group.state == state);
    let sum = |state: SessionState| groups(state).map(|group| group.sessions).sum::<f64>();
    let state = waits.into_iter().max_by(|a, b| sum(*a).total_cmp(&sum(*b)))?;
    let waiting = sum(state);
    // The session that owns the lock is active, too, but does not wait for the lock.
    let holders = if matches!(state, SessionState::RowLock | SessionState::Lock) { 1.0 } else { 0.0 };
    if waiting < WAIT_MOSTLY || waiting < WAIT_MOSTLY * (database.active - holders) {
        return None;
    }
    let largest = groups(state).max_by(|a, b| a.sessions.total_cmp(&b.sessions))?;
    Some(with_blocker(database, largest, finding(state, waiting, database.sessions)))
}

/// Returns false if the requests probably wait elsewhere. The server awaits few replies of the database, or mostly
/// replies of sessions that do not wait. The sessions of other programs wait for locks, too. If all connections to the
/// database are busy, further requests may wait for a free connection. Returns true if the number of awaited replies is
/// unknown.
pub(super) fn may_hold_requests(profile: &WaitProfile, requests: &Requests, finding: &WaitFinding) -> bool {
    let Some((low, high)) = requests.in_progress().filter(|_| finding.session != Some(SessionState::Running)) else {
        return true;
    };
    let own = profile.peers.iter().filter(|peer| leads_to(peer, finding));
    let known: Option<Vec<PeerConnections>> = own.map(|peer| peers::with_busy(profile, peer)).collect();
    let Some(own) = known.filter(|own| !own.is_empty()) else { return true };
    let open: f64 = own.iter().map(|peer| peer.open).sum();
    let busy: f64 = own.iter().map(|peer| peer.busy).sum();
    let held = if busy >= WAIT_POOL_BUSY * open { high.max(busy) } else { busy };
    held >= WAIT_MOSTLY * low.max(1.0) && finding.threads >= WAIT_MOSTLY * busy
}

/// Returns true if these connections lead to the database that a finding describes.
fn leads_to(peer: &PeerConnections, finding: &WaitFinding) -> bool {
    let address = finding.peer.split_once('/').map_or(finding.peer.as_str(), |(address, _)| address);
    let is_named = !peer.to.is_empty() && program(&peer.to).starts_with(program(&finding.process));
    is_named || !address.is_empty() && peer.address == address
}

/// Completes a finding: adds the waiting statement, the event that it waits for, and the activity of the lock's holder.
fn with_blocker(database: &DatabaseProfile, group: &SessionGroup, finding: WaitFinding) -> WaitFinding {
    let mut blockers = database.blockers.iter().filter(|blocker| blocker.blocked == group.state);
    let held_s = blockers.clone().map(|blocker| blocker.held_s).fold(0.0, f64::max);
    let blocker = blockers.find(|blocker| blocker.share >= WAIT_MOSTLY);
    WaitFinding {
        name: group.statement.clone(),
        process: database.kind.name().into(),
        peer: database.address.clone(),
        event: group.event.clone(),
        session: Some(group.state),
        holder: blocker.map(|blocker| blocker.state.thread_state()),
        holder_statement: blocker.map(|blocker| blocker.statement.clone()).unwrap_or_default(),
        held_s: (held_s > 0.0).then_some(held_s),
        ..finding
    }
}

fn finding(state: SessionState, threads: f64, of: f64) -> WaitFinding {
    WaitFinding {
        cause: match state {
            SessionState::RowLock => WaitCause::RowLock,
            SessionState::Disk => WaitCause::Disk,
            _ => WaitCause::Lock,
        },
        threads,
        of,
        share: if of > 0.0 { (threads / of).min(1.0) } else { 0.0 },
        ..WaitFinding::default()
    }
}

/// Returns the command that takes most of a database's time. Returns `None` unless the database executes commands all
/// the time, one after another.
///
/// A database that lacks CPU time executes commands for only a part of the time. Half of the time is enough if samples
/// show that one of the database's threads is always ready to run.
fn busy_command(database: &DatabaseProfile, others: &[WaitFinding]) -> Option<WaitFinding> {
    let is_its_thread =
        |other: &WaitFinding| other.cause == WaitCause::SerialCpu && other.process.starts_with(database.kind.name());
    let least = if others.iter().any(is_its_thread) { WAIT_MOSTLY } else { FULL_MIDDLE };
    // Commands such as EVAL may have executed all others, so the larger of both sums is a lower bound of the time.
    let sum = |of_containers: bool| -> f64 {
        let is_container = |command: &str| CONTAINERS.contains(&command);
        let own = database.commands.iter().filter(|sum| is_container(&sum.command) == of_containers);
        own.map(|sum| sum.share).sum()
    };
    let all = sum(true).max(sum(false));
    let most = database.commands.iter().max_by(|a, b| a.share.total_cmp(&b.share))?;
    (all >= least && most.share >= WAIT_MOSTLY).then(|| WaitFinding {
        cause: WaitCause::SerialCpu,
        name: most.command.clone(),
        process: database.kind.name().into(),
        peer: database.address.clone(),
        session: Some(SessionState::Running),
        threads: most.share,
        of: 1.0,
        share: most.share,
        held_s: (most.calls_per_s > 0.0).then(|| most.share / most.calls_per_s),
        ..WaitFinding::default()
    })
}
