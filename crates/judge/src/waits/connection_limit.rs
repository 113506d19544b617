//! A limit on the server's connections: the number of accepted connections stays constant, while more connections wait
//! to be accepted.

use run::{Bottleneck, WaitFinding};

use super::agreement::UNKNOWN;
use super::explain::{WordOrder, line, tell};
use super::is_queue;
use super::limit_signs::{Limit, limit};
use super::sentence::mean_count;
use crate::context::view::program;

/// Adds a limit on connections to the sentence, the evidence and the advice of a verdict. Changes only verdicts that a
/// limit on connections can explain. A process with another cause among `findings` accepts no further connections
/// because of that cause. For example, Puma accepts as many connections as it has idle threads.
pub(crate) fn explain_connection_limit(
    verdict: &mut Bottleneck,
    findings: &[WaitFinding],
    run: &run::Run,
    order: WordOrder,
) {
    let is_beside = verdict.id == "server-single-thread";
    if !is_beside && !matches!(verdict.id.as_str(), UNKNOWN | "server-concurrency" | "accept-queue") {
        return;
    }
    // Beside a full thread, the limit on connections only explains failures at other loads, so it comes last.
    let order = if is_beside { WordOrder::WaitsLast } else { order };
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
    let at = if is_beside { verdict.advice.len() } else { 0 };
    verdict.advice.insert(at, format!("Let {process} hold more than {most} of clients{option}."));
}

#[cfg(test)]
mod tests {
    use super::super::tests::process;
    use super::*;
    use run::{ClientConnections, ErrorKind, Intensity, Run, Side, ThreadState, Trial, WaitCause, WaitProfile};

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
                let connected = 12_005;
                trial.tally =
                    run::Tally { attempted: connected, connected, completed: 15_621, errors, ..run::Tally::default() };
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
        let limit = "43.4 % of the requests failed; app:7 never held more than 58 connections, and 11,977 connections ended \
                     before an answer was complete";
        assert_eq!(told(200, |_, _| ()), limit);
        let none = "43.4 % of the requests failed";
        let drains = told(200, |_, clients| (clients.open, clients.max_open) = (51.7, 60.0));
        assert!(drains.contains("never held more than 60 connections"), "nginx closes many at once: {drains}");
        assert_eq!(told(58, |_, _| ()), none, "all clients had a connection");
        assert_eq!(told(200, |_, clients| clients.open = 40.0), none, "a number that grows");
        assert_eq!(told(200, |trial, _| trial.tally.errors = run::Errors::default()), none, "fresh connections");
    }

    /// This test repeats a situation that was observed with nginx with 64 worker_connections: 31 clients, each with a
    /// connection to the upstream. An earlier version of loadline advised a larger pool.
    #[test]
    fn connections_to_an_upstream_that_follow_the_clients_connections_are_no_pool() {
        let found = |of: f64, reset: u64| {
            let run = planted(|trial, profile| {
                profile.clients = Some(ClientConnections {
                    readings: 3,
                    open: 31.0,
                    max_open: 31.0,
                    in_progress: 31.0,
                    queued: 1.7,
                    ..Default::default()
                });
                let peer = super::super::tests::peer("app:7", of, of);
                profile.peers = vec![peer];
                trial.intensity = Intensity::Closed { connections: 50, pipeline: 1, think: run::ThinkTime::default() };
                let errors = run::Errors([(ErrorKind::Reset, reset)].into());
                trial.tally =
                    run::Tally { attempted: 4880, connected: 4880, completed: 8513, errors, ..Default::default() };
            });
            let findings = super::super::of_run(&run, |_| false);
            let mut verdict = Bottleneck { id: "server-concurrency".into(), ..Bottleneck::default() };
            explain_connection_limit(&mut verdict, &findings, &run, WordOrder::WaitsFirst);
            (findings.iter().any(|pool| pool.cause == WaitCause::ConnectionPool), verdict.sentence)
        };
        let limit =
            "app:7 never held more than 31 connections, and 1,281 connections ended before an answer was complete";
        assert_eq!(found(29.0, 1281), (false, limit.to_string()));
        assert_eq!(found(8.0, 1281), (true, String::new()), "a pool that is smaller than the number of clients");
        assert!(found(29.0, 0).0, "no connection was closed");
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
        let ended = planted(|trial, _| {
            trial.incidents.push(run::Incident {
                kind: run::IncidentKind::ServerEnded,
                begin_s: 1.0,
                end_s: None,
                text: "the server ended".into(),
            });
        });
        assert!(advice("unknown", &ended).is_empty(), "a server that ended");
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
