//! Tests of pools of connections, with made-up profiles of used-up pools and of pools with free connections.

use run::{FutexKind, ThreadState, WaitCause, WaitProcess, WaitProfile};

use super::tests::{causes, clients, locked, peer, process};
use super::waits;
use crate::planted::{PlantedRun, Who};

#[test]
fn an_event_loop_whose_connections_are_all_busy_waits_for_one() {
    let mut profile = process(5.0, &[(ThreadState::Events, "", 1.0), (ThreadState::Futex, "0x10", 4.0)]);
    profile.processes[0].epoll = true;
    profile.clients = Some(clients(16.0, 0.0));
    profile.peers = vec![peer("app:7", 3.0, 2.85)];
    let found = waits(&profile, &[]);
    assert_eq!((found.len(), found[0].cause, found[0].peer.as_str()), (1, WaitCause::ConnectionPool, "10.0.0.2:5432"));
    assert_eq!(
        found[0].sentence,
        "all 3 connections of app:7 to 10.0.0.2:5432 are busy 95 % of the time, and 13 requests wait for one"
    );
    assert_eq!((found[0].of, found[0].threads, found[0].queued), (3.0, 2.85, Some(13.0)));
    assert!((found[0].share - 0.95).abs() < 1e-9, "{}", found[0].share);
    // The cases below are no used-up pools: a shared connection, a free one, one for each request, one of another
    // process, and a varying number.
    for other in [
        peer("app:7", 1.0, 1.0),
        peer("app:7", 3.0, 2.0),
        peer("app:7", 16.0, 16.0),
        peer("other", 3.0, 3.0),
        run::PeerConnections { max_open: 12.0, ..peer("app:7", 9.0, 9.0) },
    ] {
        profile.peers = vec![other.clone()];
        assert!(causes(&profile).is_empty(), "{other:?}");
    }
    profile.peers = vec![peer("app:7", 3.0, 3.0)];
    let few = WaitProfile { rounds: 3, ..profile.clone() };
    assert!(causes(&few).is_empty(), "three rounds do not show that the number of connections stays the same");
    profile.clients = Some(clients(3.0, 0.0));
    assert!(causes(&profile).is_empty(), "no request waits");
}

/// This test repeats a situation that was observed with two connections to a log shipper, which never answers.
#[test]
fn connections_without_answers_are_no_pool() {
    let mut profile = process(1.0, &[(ThreadState::Events, "", 1.0)]);
    profile.processes[0].epoll = true;
    profile.clients = Some(clients(16.0, 0.0));
    let log = |answers| run::PeerConnections { answers, ..peer("app:7", 4.0, 4.0) };
    let database = run::PeerConnections { address: "10.0.0.3:5432".into(), ..peer("app:7", 3.0, 2.9) };
    profile.peers = vec![log(Some(0.0))];
    assert!(causes(&profile).is_empty(), "a log, or a long poll");
    profile.peers.push(database);
    assert_eq!(waits(&profile, &[])[0].peer, "10.0.0.3:5432", "not the larger number");
    for answers in [Some(30.0), None] {
        profile.peers = vec![log(answers)];
        assert_eq!(causes(&profile), [WaitCause::ConnectionPool], "{answers:?}");
    }
}

/// Consumers of a message queue ask for messages again and again, and the queue replies after some seconds if there are
/// none.
#[test]
fn connections_with_answers_slower_than_any_request_are_no_pool() {
    let told = |sent: fn(f64) -> f64| {
        let mut profile = process(1.0, &[(ThreadState::Events, "", 1.0)]);
        profile.processes[0].epoll = true;
        profile.clients = Some(clients(16.0, 0.0));
        profile.peers = vec![run::PeerConnections { answers: Some(1.0), ..peer("app:7", 2.0, 2.0) }];
        let run = PlantedRun::new(2000.0, 500.0)
            .rates(&[])
            .per_s(Who::Server, "behind.data_out", "10.0.0.2:5432", move |p| sent(p.x))
            .change(move |trial, _| {
                trial.server.iter_mut().for_each(|side| side.waits = Some(Box::new(profile.clone())));
            })
            .run();
        super::of_run(&run, |_| false).iter().map(|found| found.cause).collect::<Vec<_>>()
    };
    assert!(told(|_| 0.0).is_empty(), "a poll for news");
    assert_eq!(told(|x| x), [WaitCause::ConnectionPool], "a pool");
}

#[test]
fn connections_over_a_unix_socket_are_busy_if_the_database_s_processes_are() {
    let mut profile = process(5.0, &[(ThreadState::Events, "", 5.0)]);
    profile.processes[0].epoll = true;
    profile.clients = Some(clients(16.0, 0.0));
    let unix = |open| run::PeerConnections {
        address: "unix:/run/pg/s".into(),
        to: "postgres".into(),
        ..peer("app:7", open, f64::NAN)
    };
    profile.peers = vec![unix(3.0)];
    assert!(causes(&profile).is_empty(), "their activity is not known");
    let backends = |does: &str, processes| run::TitleGroup {
        process: "postgres".into(),
        title: format!("postgres: app db [local] {does}"),
        processes,
    };
    profile.titles = vec![backends("SELECT", 2.9), backends("idle", 0.1)];
    let found = waits(&profile, &[]);
    assert_eq!((found.len(), found[0].cause, found[0].of), (1, WaitCause::ConnectionPool, 3.0));
    profile.titles = vec![backends("SELECT", 2.0), backends("idle", 1.0)];
    assert!(causes(&profile).is_empty(), "a connection is free");
    profile.titles = vec![backends("SELECT", 6.0)];
    assert!(causes(&profile).is_empty(), "other applications have backends, too");
}

#[test]
fn a_proxy_whose_connections_are_all_busy_has_the_requests_of_its_clients() {
    let mut profile = process(5.0, &[(ThreadState::Events, "", 5.0)]);
    let proxy = WaitProcess {
        process: "bouncer:9".into(),
        processes: 1.0,
        threads: 1.0,
        behind: true,
        epoll: true,
        ..WaitProcess::default()
    };
    profile.processes.push(proxy);
    profile.processes[0].epoll = true;
    profile.clients = Some(clients(16.0, 0.0));
    let to_proxy = |open, busy| run::PeerConnections {
        address: "127.0.0.1:6432".into(),
        to: "bouncer:9".into(),
        ..peer("app:7", open, busy)
    };
    let to_database = run::PeerConnections { to: "postgres".into(), ..peer("bouncer:9", 3.0, 3.0) };
    profile.peers = vec![to_proxy(16.0, 16.0), to_database.clone()];
    let found = waits(&profile, &[]);
    assert_eq!((found.len(), found[0].cause, found[0].process.as_str()), (1, WaitCause::ConnectionPool, "bouncer:9"));
    assert_eq!(
        found[0].sentence,
        "all 3 connections of bouncer:9 to postgres (10.0.0.2:5432) are busy 100 % of the time, and 13 requests wait for one"
    );
    // The server also has its own pool, which passes only three requests at a time to the proxy.
    profile.peers = vec![to_proxy(3.0, 3.0), to_database.clone()];
    let found = waits(&profile, &[]);
    assert_eq!((found.len(), found[0].process.as_str(), found[0].name.as_str()), (1, "app:7", "bouncer:9"));
    profile.peers = vec![to_database];
    assert!(causes(&profile).is_empty(), "requests at the proxy are not known");
}

/// Makes a proxy with `connections` busy connections to a server with five sleeping children and an idle parent.
fn proxy_before_children(connections: f64) -> WaitProfile {
    let mut profile = process(1.0, &[(ThreadState::Events, "", 1.0)]);
    profile.processes[0].epoll = true;
    let mut children = process(6.0, &[(ThreadState::Sleep, "", 5.0), (ThreadState::Events, "", 1.0)]);
    children.processes[0].processes = 6.0;
    children.processes[0].behind = true;
    children.processes[0].process = "php-fpm".into();
    children.groups.iter_mut().for_each(|group| group.process = "php-fpm".into());
    profile.processes.append(&mut children.processes);
    profile.groups.append(&mut children.groups);
    profile.clients = Some(clients(16.0, 0.0));
    profile.peers = vec![run::PeerConnections { to: "php-fpm".into(), ..peer("app:7", connections, connections) }];
    profile
}

#[test]
fn connections_to_a_used_up_pool_of_children_are_no_cause() {
    let found = waits(&proxy_before_children(9.0), &[]);
    assert_eq!((found.len(), found[0].cause, found[0].of), (1, WaitCause::WorkerPool, 5.0), "{found:?}");
    let found = waits(&proxy_before_children(3.0), &[]);
    assert!(found.iter().any(|pool| pool.cause == WaitCause::ConnectionPool && pool.of == 3.0), "{found:?}");
}

/// A proxy opens a connection for each request, so the connections that a sample sees are all busy. The requests on
/// these connections wait for a lock in the server behind the proxy.
#[test]
fn connections_to_a_server_whose_threads_wait_for_a_lock_are_no_cause() {
    let before_lock = |connections: f64, behind: &str| {
        let mut profile = locked(FutexKind::OwnedMutex);
        let mut proxy = process(1.0, &[(ThreadState::Events, "", 1.0)]);
        (proxy.processes[0].process, proxy.processes[0].epoll) = ("nginx:5".into(), true);
        proxy.groups[0].process = "nginx:5".into();
        profile.processes[0].behind = true;
        profile.processes.append(&mut proxy.processes);
        profile.groups.append(&mut proxy.groups);
        profile.clients = Some(clients(connections + 1.0, 0.0));
        profile.peers = vec![run::PeerConnections { to: behind.into(), ..peer("nginx:5", connections, connections) }];
        causes(&profile)
    };
    assert_eq!(before_lock(16.0, "app:7"), [WaitCause::Lock]);
    assert!(before_lock(16.0, "other:8").contains(&WaitCause::ConnectionPool), "the lock is elsewhere");
    assert!(before_lock(60.0, "app:7").contains(&WaitCause::ConnectionPool), "most requests wait elsewhere");
}
