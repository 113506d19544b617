//! Signs of a limit on the server's connections in one trial, and pools of connections that only follow this limit.

use run::number::number;
use run::{ClientConnections, ErrorKind, Intensity, Trial, WaitCause, WaitFinding, WaitProfile};

use super::loops::is_event_loop;
use super::members::MIN_MEMBERS;
use crate::context::single::broken;
use crate::number::counted;
use crate::thresholds::{LIMIT_CONNECTS, LIMIT_READINGS, PLATEAU_KEPT, WAIT_FEW, WAIT_POOL_BUSY, WAIT_QUEUE};

/// Programs with the option that limits the connections of each program. Source: the manuals of these programs.
const OPTIONS: &[(&str, &str)] = &[
    ("haproxy", "maxconn"),
    ("memcached", "-c"),
    ("mariadbd", "max_connections"),
    ("mysqld", "max_connections"),
    ("nginx", "worker_connections"),
    ("postgres", "max_connections"),
    ("redis-server", "maxclients"),
    ("valkey-server", "maxclients"),
];

/// Returns the option that limits the connections of a program, as a part of a sentence. Returns the empty text for
/// unknown programs.
fn option(program: &str, is_proxy: bool) -> String {
    let Some((_, option)) = OPTIONS.iter().find(|(name, _)| *name == program) else { return String::new() };
    let counts = if is_proxy { ", which also counts connections to other servers" } else { "" };
    format!(" ({option}{counts})")
}

/// Limit on the connections of a process with an event loop.
pub(super) struct Limit<'a> {
    pub(super) process: &'a str,
    /// Maximum number of accepted connections in the samples.
    pub(super) open: f64,
    /// True if the process also has connections to other servers. In nginx, connections to other servers count towards
    /// the limit, too.
    pub(super) is_proxy: bool,
    pub(super) others: Others,
}

/// Effect of a reached limit on further connects.
#[derive(Clone, Copy)]
pub(super) enum Others {
    /// Connects beyond the limit are refused. A firewall may also refuse connects.
    Refused,
    /// Connections beyond the limit wait to be accepted. The value is the mean number of waiting connections.
    Queued(f64),
    /// The server closes connections before they get a complete answer. The value is their number.
    Closed(f64),
}

impl Others {
    /// Returns a clause that says what happens to connects beyond the limit.
    pub(super) fn text(self) -> String {
        match self {
            Self::Refused => "other connects were refused".into(),
            Self::Queued(mean) => format!("{} more waited to be accepted", number(mean)),
            Self::Closed(all) => format!("{} ended before an answer was complete", counted(all, "connection")),
        }
    }

    /// Returns the change that raises the limit on connections, as a part of a sentence. Returns an empty text if no
    /// such change is known.
    pub(super) fn option(self, program: &str, is_proxy: bool) -> String {
        match self {
            Self::Refused => ", or raise the limit of a firewall in front of it".into(),
            Self::Queued(_) | Self::Closed(_) => option(program, is_proxy),
        }
    }
}

/// Returns the limit on connections that a trial shows. Returns `None` if the trial shows no limit on connections.
pub(super) fn limit(trial: &Trial) -> Option<Limit<'_>> {
    // After the end of a server, connects are refused, and connections stay open without an answer.
    if trial.incidents.iter().any(|incident| trial.kind.ends_with(incident.kind)) {
        return None;
    }
    let profile: &WaitProfile = trial.server.as_ref()?.waits.as_deref()?;
    let clients = profile.clients.as_ref().filter(|clients| clients.readings >= LIMIT_READINGS as u64)?;
    let process = profile.processes.iter().find(|process| is_event_loop(process) && !process.behind)?;
    let is_constant = clients.max_open > 0.0 && clients.max_open <= clients.open + WAIT_FEW;
    let is_limit = clients.open >= MIN_MEMBERS && (is_constant || refuses(trial, clients));
    let refuses_connects = is_constant && refuses_connects(trial);
    let others_wait = clients.queued >= WAIT_QUEUE || refuses_connects;
    (is_limit && keeps_connections(trial) && others_wait).then(|| Limit {
        process: &process.process,
        open: clients.max_open,
        is_proxy: profile.peers.iter().any(|peer| peer.process == process.process),
        others: match broken(trial) {
            _ if refuses_connects => Others::Refused,
            closed if closed > 0 && refuses(trial, clients) => Others::Closed(closed as f64),
            _ => Others::Queued(clients.queued),
        },
    })
}

/// Returns the findings without the pools of upstream connections that are full only because the clients' connections
/// are limited. A proxy may use one upstream connection for each client's connection. If the number of clients'
/// connections has reached the proxy's limit, the proxy has about as many upstream connections, and all of them are
/// busy. More upstream connections would not help.
pub(super) fn without_following_pools(mut findings: Vec<WaitFinding>, trial: &Trial) -> Vec<WaitFinding> {
    let Some(limit) = limit(trial).filter(|limit| matches!(limit.others, Others::Closed(_))) else { return findings };
    let follows = |pool: &WaitFinding| {
        let about_as_many = WAIT_POOL_BUSY * limit.open..=limit.open;
        pool.cause == WaitCause::ConnectionPool && pool.process == limit.process && about_as_many.contains(&pool.of)
    };
    findings.retain(|finding| !follows(finding));
    findings
}

/// Returns true if connects were refused while the server accepted other connections.
fn refuses_connects(trial: &Trial) -> bool {
    trial.tally.errors.0.get(&ErrorKind::ConnectRefused).is_some_and(|count| *count > 0)
}

/// Returns true if the clients use a connection for many requests. A connection that replaces a failed connection does
/// not count as new.
pub(crate) fn keeps_connections(trial: &Trial) -> bool {
    let fresh = trial.tally.attempted.saturating_sub(trial.tally.errors.requests());
    fresh as f64 <= LIMIT_CONNECTS * trial.tally.completed as f64
}

/// Returns true if the server closes the connections that exceed a limit. Signs: the number of open connections varies
/// little, and clients want more connections than the server ever had at a time. At its limit, nginx closes up to 32
/// idle connections at once, so the mean number is clearly below the maximum (source: `ngx_drain_connections`).
fn refuses(trial: &Trial, clients: &ClientConnections) -> bool {
    let wanted = match &trial.intensity {
        Intensity::Closed { connections, .. } => *connections,
        Intensity::Open { max_connections, .. } => *max_connections,
        Intensity::SClients { .. } => return false,
    };
    let fails = trial.tally.errors.requests() > 0;
    fails && clients.open >= PLATEAU_KEPT * clients.max_open && clients.max_open < f64::from(wanted)
}
