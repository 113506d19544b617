//! A limit on the server's connections: the number of accepted connections stays constant, while more connections wait
//! to be accepted.

use run::number::number;
use run::{Bottleneck, ClientConnections, ErrorKind, Intensity, Trial, WaitFinding, WaitProfile};

use super::agreement::UNKNOWN;
use super::explain::{WordOrder, line, tell};
use super::is_queue;
use super::loops::is_event_loop;
use super::members::MIN_MEMBERS;
use super::sentence::mean_count;
use crate::context::view::program;
use crate::thresholds::{LIMIT_CONNECTS, LIMIT_READINGS, WAIT_FEW, WAIT_POOL_BUSY, WAIT_QUEUE};

/// Adds a limit on connections to the sentence, the evidence and the advice of a verdict. Changes only verdicts that a
/// limit on connections can explain. A process with another cause among `findings` accepts no further connections
/// because of that cause. For example, Puma accepts as many connections as it has idle threads.
pub(crate) fn explain_connection_limit(
    verdict: &mut Bottleneck,
    findings: &[WaitFinding],
    run: &run::Run,
    order: WordOrder,
) {
    if !matches!(verdict.id.as_str(), UNKNOWN | "server-concurrency" | "accept-queue") {
        return;
    }
    let trial = run.sampled_trial().and_then(|at| run.trials.get(at));
    let Some(Limit { process, open, is_proxy, others }) = trial.and_then(limit) else { return };
    if findings.iter().any(|finding| finding.process == process && is_queue(finding)) {
        return;
    }
    let most = mean_count(open, "connection");
    let text = format!("{process} never held more than {most}, and {}", others.text());
    tell(verdict, &text, order);
    verdict.evidence.push(line(&text, process, open));
    let option = others.option(program(process), is_proxy);
    verdict.advice.insert(0, format!("Let {process} hold more than {most} of clients{option}."));
}

/// Programs with the option that limits the connections of each. Source: the manuals of these programs.
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
struct Limit<'a> {
    process: &'a str,
    /// Maximum number of accepted connections in the samples.
    open: f64,
    /// True if the process also has connections to other servers. In nginx, connections to other servers count towards
    /// the limit, too.
    is_proxy: bool,
    others: Others,
}

/// What happens to connects beyond the limit on connections.
#[derive(Clone, Copy)]
enum Others {
    /// Connects beyond the limit are refused. A firewall may also refuse connects.
    Refused,
    /// Connections beyond the limit wait to be accepted. The value is the mean number of waiting connections.
    Queued(f64),
}

impl Others {
    /// Returns a clause that says what happens to connects beyond the limit.
    fn text(self) -> String {
        match self {
            Self::Refused => "other connects were refused".into(),
            Self::Queued(mean) => format!("{} more waited to be accepted", number(mean)),
        }
    }

    /// Returns the change that raises the limit on connections, as a part of a sentence. Returns an empty text if no
    /// such change is known.
    fn option(self, program: &str, is_proxy: bool) -> String {
        match self {
            Self::Refused => ", or raise the limit of a firewall in front of it".into(),
            Self::Queued(_) => option(program, is_proxy),
        }
    }
}

/// Returns the limit on connections that a trial shows. Returns `None` if the trial shows no limit on connections.
fn limit(trial: &Trial) -> Option<Limit<'_>> {
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
        others: if refuses_connects { Others::Refused } else { Others::Queued(clients.queued) },
    })
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
/// little, and clients want more connections than the server ever had at a time.
fn refuses(trial: &Trial, clients: &ClientConnections) -> bool {
    let wanted = match &trial.intensity {
        Intensity::Closed { connections, .. } => *connections,
        Intensity::Open { max_connections, .. } => *max_connections,
        Intensity::SClients { .. } => return false,
    };
    let fails = trial.tally.errors.requests() > 0;
    fails && clients.open >= WAIT_POOL_BUSY * clients.max_open && clients.max_open < f64::from(wanted)
}

#[cfg(test)]
mod tests {
    use super::super::tests::process;
    use super::*;
    use run::{ClientConnections, Run, Side, ThreadState};

    /// Makes a run in which an event loop has 36 connections, and 15 further connections wait to be accepted.
    fn planted(change: impl FnOnce(&mut Trial, &mut WaitProfile)) -> Run {
        let mut profile = process(1.0, &[(ThreadState::Events, "", 0.5), (ThreadState::OnCpu, "", 0.5)]);
        profile.processes[0].epoll = true;
        let clients = ClientConnections { readings: 3, open: 36.0, max_open: 36.0, queued: 15.0, ..Default::default() };
        profile.clients = Some(clients);
        let tally = run::Tally { attempted: 72_000, completed: 370_000, ..run::Tally::default() };
        let mut trial = Trial { tally, ..Trial::default() };
        change(&mut trial, &mut profile);
        trial.server = Some(Side { waits: Some(Box::new(profile)), ..Side::default() });
        Run { trials: vec![trial], ..Run::default() }
    }

    /// Returns the advice that the limit on connections adds to a verdict with this ID.
    fn advice(id: &str, run: &Run) -> Vec<String> {
        let mut verdict = Bottleneck { id: id.into(), ..Bottleneck::default() };
        explain_connection_limit(&mut verdict, &[], run, WordOrder::WaitsFirst);
        assert_eq!(verdict.evidence.len(), verdict.advice.len());
        verdict.advice
    }

    #[test]
    fn a_server_that_closes_connections_beyond_its_limit_is_told_in_the_sentence() {
        // The figures of this test were seen with nginx with 64 worker_connections, which closed connections of 200
        // clients.
        let told = |clients: u32, change: fn(&mut Trial, &mut ClientConnections)| {
            let run = planted(|trial, profile| {
                trial.intensity =
                    Intensity::Closed { connections: clients, pipeline: 1, think: run::ThinkTime::default() };
                let errors = run::Errors([(run::ErrorKind::ShortResponse, 11_977)].into());
                trial.tally = run::Tally { attempted: 12_005, completed: 15_621, errors, ..run::Tally::default() };
                let open =
                    ClientConnections { open: 55.0, max_open: 58.0, queued: 32.5, ..ClientConnections::default() };
                let counts = profile.clients.get_or_insert_default();
                *counts = ClientConnections { readings: 14, ..open };
                change(trial, counts);
            });
            let sentence = "43.4 % of the requests failed".to_string();
            let mut verdict = Bottleneck { id: UNKNOWN.into(), sentence, ..Bottleneck::default() };
            explain_connection_limit(&mut verdict, &[], &run, WordOrder::WaitsLast);
            verdict.sentence
        };
        let limit = "43.4 % of the requests failed; app:7 never held more than 58 connections, and 32.5 more waited to be accepted";
        assert_eq!(told(200, |_, _| ()), limit);
        let none = "43.4 % of the requests failed";
        assert_eq!(told(58, |_, _| ()), none, "all clients had a connection");
        assert_eq!(told(200, |_, clients| clients.open = 40.0), none, "a number that grows");
        assert_eq!(told(200, |trial, _| trial.tally.errors = run::Errors::default()), none, "fresh connections");
    }

    #[test]
    fn a_constant_number_of_connections_beside_a_queue_of_others_is_a_limit() {
        let told = ["Let app:7 hold more than 36 connections of clients."];
        assert_eq!(advice("unknown", &planted(|_, _| ())), told);
        let nginx = planted(|_, profile| profile.processes[0].process = "nginx:7".into());
        let told = ["Let nginx:7 hold more than 36 connections of clients (worker_connections)."];
        assert_eq!(advice("unknown", &nginx), told);
        assert!(advice("server-cpu", &planted(|_, _| ())).is_empty());
        type Change = fn(&mut ClientConnections);
        let changes: [(&str, Change); 5] = [
            ("no queue", |c| c.queued = 0.1),
            ("a number that grows", |c| c.max_open = 40.0),
            ("few readings", |c| c.readings = 2),
            ("one connection at a time", |c| (c.open, c.max_open) = (1.0, 1.0)),
            ("a run of an older version", |c| c.max_open = 0.0),
        ];
        let refused = planted(|trial, profile| {
            trial.tally.errors = run::Errors([(ErrorKind::ConnectRefused, 369)].into());
            profile.clients.iter_mut().for_each(|clients| clients.queued = 0.0);
        });
        assert_eq!(advice("unknown", &refused).len(), 1, "connects that a firewall refuses");
        for (why, change) in changes {
            let run = planted(|_, profile| profile.clients.iter_mut().for_each(change));
            assert!(advice("unknown", &run).is_empty(), "{why}");
        }
        let fresh = planted(|trial, _| trial.tally.attempted = trial.tally.completed);
        assert!(advice("unknown", &fresh).is_empty(), "a connection per request");
        let threads = planted(|_, profile| profile.processes[0].epoll = false);
        assert!(advice("unknown", &threads).is_empty(), "a worker per connection");
    }

    /// This test repeats a situation that was observed with Puma, which never held more connections than it has
    /// threads.
    #[test]
    fn workers_that_are_all_busy_explain_the_connections_that_nobody_accepts() {
        let told = |cause, process: &str| {
            let pool = WaitFinding { cause, process: process.into(), ..WaitFinding::default() };
            let mut verdict = Bottleneck { id: UNKNOWN.into(), ..Bottleneck::default() };
            explain_connection_limit(&mut verdict, &[pool], &planted(|_, _| ()), WordOrder::WaitsFirst);
            verdict.advice.len()
        };
        use run::WaitCause::{Peer, WorkerPool};
        assert_eq!((told(WorkerPool, "app:7"), told(WorkerPool, "other:9"), told(Peer, "app:7")), (0, 1, 1));
    }
}
