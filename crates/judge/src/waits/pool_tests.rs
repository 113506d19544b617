//! Tests of pools, with made-up profiles of used-up pools and of pools with free members.

use run::{FutexKind, PeerConnections, ThreadState, TitleGroup, WaitCause, WaitGroup, WaitProcess, WaitProfile};

use super::tests::{causes, clients, locked, peer, process};
use super::waits;
use crate::planted::{PlantedRun, Who};

/// Makes a profile of eight threads of a pool and four other threads. No system call shows that the pool's threads
/// wait.
fn pool_of_threads() -> WaitProfile {
    let mut profile = process(12.0, &[(ThreadState::Futex, "", 4.0)]);
    let thread = |state, threads| WaitGroup {
        process: "app:7".into(),
        thread: "exec-#".into(),
        state,
        threads,
        ..WaitGroup::default()
    };
    profile.groups.extend([thread(ThreadState::Futex, 7.8), thread(ThreadState::OnCpu, 0.2)]);
    profile
}

#[test]
fn a_pool_is_used_up_if_each_thread_has_a_request_and_others_queue() {
    let mut profile = pool_of_threads();
    profile.clients = Some(clients(7.6, 40.0));
    let found = waits(&profile, &[]);
    assert_eq!((found.len(), found[0].cause, found[0].name.as_str()), (1, WaitCause::WorkerPool, "exec-#"));
    assert_eq!(found[0].sentence, "all 8 threads exec-# of app:7 have a request, and further requests queue");
    let acceptor = WaitGroup { state: ThreadState::Accept, threads: 1.0, ..profile.groups.last().unwrap().clone() };
    profile.groups.push(acceptor);
    assert_eq!(waits(&profile, &[])[0].sentence, found[0].sentence, "the kernel cut the acceptor's name to the same");
    profile.groups.pop();
    for (in_progress, unread) in [(7.6, 0.0), (1.0, 40.0), (30.0, 40.0)] {
        profile.clients = Some(clients(in_progress, unread));
        assert!(causes(&profile).is_empty(), "{in_progress} in progress, {unread} unread");
    }
}

/// An earlier version of loadline took the two compiler threads of a Java program for a pool of two workers.
#[test]
fn threads_that_compile_the_program_are_no_workers() {
    let mut profile = pool_of_threads();
    profile.clients = Some(clients(7.6, 40.0));
    profile.groups.iter_mut().for_each(|group| group.thread = "C# CompilerThre".into());
    assert!(causes(&profile).is_empty(), "{:#?}", waits(&profile, &[]));
}

#[test]
fn busy_children_of_a_parent_are_a_used_up_pool() {
    let mut profile = process(6.0, &[(ThreadState::Sleep, "", 4.9), (ThreadState::Events, "", 1.1)]);
    profile.processes[0].processes = 6.0;
    profile.processes[0].epoll = true;
    profile.clients = Some(clients(30.0, 0.0));
    let found = waits(&profile, &[]);
    assert_eq!((found.len(), found[0].cause), (1, WaitCause::WorkerPool));
    assert_eq!(found[0].sentence, "all 5 children of app:7 have a request (they sleep), and further requests queue");
    let title = |title: &str, processes| TitleGroup { process: "app:7".into(), title: title.into(), processes };
    profile.titles = vec![title("app: master process", 1.0), title("app: pool www", 5.0)];
    let named = "all 5 children of app:7 (pool www) have a request (they sleep), and further requests queue";
    assert_eq!(waits(&profile, &[])[0].sentence, named);
    profile.groups[1].threads = 3.0;
    profile.groups[0].threads = 3.0;
    assert!(causes(&profile).is_empty(), "some workers are idle");
}

/// The figures come from gunicorn with three sync workers. The parent process has two threads: one waits for events of
/// a control socket, and the other for a lock. The parent also has an epoll descriptor. An earlier version of loadline
/// therefore took the workers for a blocked event loop.
#[test]
fn workers_whose_parent_has_an_event_loop_are_a_used_up_pool() {
    let mut profile = process(3.0, &[(ThreadState::Sleep, "", 2.7), (ThreadState::OnCpu, "", 0.3)]);
    let row = |process: &str, processes: f64, epoll| run::WaitProcess {
        process: process.into(),
        processes,
        threads: if epoll { 2.0 } else { processes },
        epoll,
        children: !epoll,
        ..run::WaitProcess::default()
    };
    profile.processes = vec![row("gunicorn", 3.0, false), row("gunicorn:10", 1.0, true)];
    profile.groups.iter_mut().for_each(|group| group.process = "gunicorn".into());
    let parent =
        |state| run::WaitGroup { process: "gunicorn:10".into(), state, threads: 1.0, ..profile.groups[0].clone() };
    let groups = [ThreadState::Events, ThreadState::Futex].map(parent);
    profile.groups.extend(groups);
    profile.clients = Some(clients(3.0, 18.0));
    let found = waits(&profile, &[]);
    let sentence = "all 3 children of gunicorn have a request (they sleep), and further requests queue";
    assert_eq!((found.len(), found[0].sentence.as_str()), (1, sentence), "{found:#?}");
}

/// The figures come from PHP-FPM behind nginx. The parent has an event loop and the listener, so its own entry contains
/// a process ID. It is unknown if nginx has read most requests, but its connections to the parent's listener are busy.
#[test]
fn requests_on_the_way_to_the_parent_of_workers_queue_for_the_workers() {
    let mut profile = process(5.0, &[(ThreadState::Sleep, "", 4.62), (ThreadState::Runnable, "", 0.38)]);
    let row = |process: &str, processes: f64, children: bool| WaitProcess {
        process: process.into(),
        processes,
        threads: processes,
        behind: true,
        epoll: !children,
        children,
        ..WaitProcess::default()
    };
    profile.processes = vec![row("app", 5.0, true), row("app:10", 1.0, false)];
    profile.groups.iter_mut().for_each(|group| group.process = "app".into());
    profile.titles = vec![TitleGroup { process: "app".into(), title: "app: pool www".into(), processes: 5.0 }];
    profile.clients = Some(clients(3.75, 0.0));
    profile.peers = vec![PeerConnections { to: "app:10".into(), ..peer("nginx", 63.0, 63.0) }];
    let found = waits(&profile, &[]);
    let sentence = "all 5 children of app (pool www) have a request (they sleep), and further requests queue";
    assert!(found.iter().any(|finding| finding.sentence == sentence), "{found:#?}");
}

/// This test repeats a situation that was observed with Apache: the parent of four workers sleeps for a second between
/// two checks of its workers.
#[test]
fn a_parent_that_sleeps_is_no_worker() {
    let states =
        [(ThreadState::Peer, "10.0.0.2:80", 3.8), (ThreadState::Sleep, "", 1.0), (ThreadState::Events, "", 0.2)];
    let mut profile = process(5.0, &states);
    profile.processes[0].processes = 5.0;
    profile.clients = Some(clients(30.0, 0.0));
    let found = waits(&profile, &[]);
    assert_eq!((found[0].of, found[0].counted), (4.0, run::CountedKind::Children), "{found:#?}");
}

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
