//! Tests of causes among goroutines, with made-up profiles whose cause of waiting is known.

use run::{PeerConnections, TaskGroup, TaskState, ThreadState, WaitCause, WaitGroup, WaitProfile};

use super::tests::{causes, clients, peer, process};
use super::{advice, waits};

fn goroutines(state: TaskState, function: &str, inside_state: TaskState) -> WaitProfile {
    let group = |state, function: &str, tasks| TaskGroup {
        process: "app:7".into(),
        state,
        function: function.into(),
        tasks,
        ..TaskGroup::default()
    };
    let waiting = TaskGroup { inside: 5.0, inside_state: Some(inside_state), ..group(state, function, 59.0) };
    let others = [group(TaskState::Network, "net.read", 64.0), group(TaskState::Running, "", 1.0)];
    let mut profile = process(6.0, &[(ThreadState::Futex, "", 4.0), (ThreadState::Events, "", 2.0)]);
    profile.tasks = [vec![waiting], others.to_vec()].concat();
    profile.clients = Some(clients(64.0, 0.0));
    profile
}

#[test]
fn goroutines_that_wait_with_requests_name_a_lock_a_pool_or_connections() {
    let lock = waits(&goroutines(TaskState::Lock, "main.work (app.go:7)", TaskState::Sleep), &[]);
    assert_eq!((lock.len(), lock[0].cause, lock[0].name.as_str()), (1, WaitCause::Lock, "main.work (app.go:7)"));
    let said = "59 of 124 goroutines of app:7 wait for one lock in main.work (app.go:7); its holder probably sleeps";
    assert_eq!(lock[0].sentence, said);
    let pool = waits(&goroutines(TaskState::Send, "main.work (app.go:9)", TaskState::Sleep), &[]);
    assert_eq!((pool.len(), pool[0].cause), (1, WaitCause::WorkerPool));
    let said = "59 of 124 goroutines of app:7 wait for a slot in main.work (app.go:9); those inside sleep";
    assert_eq!(pool[0].sentence, said);
    let asleep = waits(&goroutines(TaskState::Sleep, "main.acquire (app.go:5)", TaskState::Sleep), &[]);
    let said = "59 of 124 goroutines of app:7 sleep in main.acquire (app.go:5) while they have a request";
    assert_eq!((asleep[0].cause, asleep[0].sentence.as_str()), (WaitCause::Sleep, said));
    let connections =
        waits(&goroutines(TaskState::Select, "database/sql.(*DB).conn (sql.go:1)", TaskState::Network), &[]);
    assert_eq!((connections.len(), connections[0].cause), (1, WaitCause::ConnectionPool));
}

/// In this observed case, a Go program uses SQLite through a pool of `database/sql`, and has one connection for a
/// subscription.
#[test]
fn a_pool_of_go_is_named_by_the_only_peer_whose_connections_are_all_busy() {
    let told = |peers: &[PeerConnections]| {
        let mut profile = goroutines(TaskState::Select, "database/sql.(*DB).conn (sql.go:1)", TaskState::Network);
        profile.peers = peers.to_vec();
        let found = waits(&profile, &[]).remove(0);
        assert!(!advice(&found).contains(" to ,"), "{}", advice(&found));
        found.peer
    };
    let other = |busy| PeerConnections { address: "10.0.0.9:6379".into(), ..peer("app:7", 2.0, busy) };
    let database = peer("app:7", 3.0, 2.9);
    let short = PeerConnections { max_open: 3.0, ..other(2.0) };
    for others in [vec![other(0.0)], vec![short], vec![PeerConnections { answers: Some(0.0), ..other(2.0) }]] {
        assert_eq!(told(&[vec![database.clone()], others.clone()].concat()), "10.0.0.2:5432", "{others:?}");
    }
    for open in [vec![], vec![other(0.0)], vec![other(f64::NAN)], vec![database, other(2.0)]] {
        assert_eq!(told(&open), "", "{open:?}");
    }
}

/// This test repeats a situation that was observed with a Go program: a log goes to a named pipe, which a slow program
/// reads.
#[test]
fn a_goroutine_in_a_blocked_system_call_does_not_compute() {
    let mut profile = goroutines(TaskState::Lock, "log.(*Logger).output", TaskState::Running);
    profile.tasks.push(TaskGroup {
        process: "app:7".into(),
        state: TaskState::Running,
        tasks: 1.0,
        ..Default::default()
    });
    profile.tasks[0].inside = 0.0;
    let holder = |profile: &WaitProfile| waits(profile, &[])[0].sentence.clone();
    assert!(holder(&profile).ends_with("its holder probably computes"), "{}", holder(&profile));
    let group = |state, key: &str, threads| WaitGroup {
        process: "app:7".into(),
        state,
        key: key.into(),
        threads,
        ..WaitGroup::default()
    };
    profile.groups = vec![group(ThreadState::FullPipe, "pipe to logger:9", 1.0), group(ThreadState::OnCpu, "", 0.1)];
    assert!(
        holder(&profile).ends_with("its holder probably waits for the full pipe to logger:9"),
        "{}",
        holder(&profile)
    );
}

/// This test repeats a situation that was observed with a Go program: a goroutine holds a mutex during an HTTP call.
/// The queue of the mutex grew between two readings (connections, then goroutines), so 44 goroutines waited, but only
/// 26 requests were counted. An earlier version of loadline named the only connection of the HTTP client as the limit.
#[test]
fn a_lock_is_named_although_its_queue_grew_between_two_readings() {
    let with = |requests, state| {
        let mut profile = goroutines(state, "main.work", TaskState::Network);
        profile.clients = Some(clients(requests, 0.0));
        causes(&profile)
    };
    assert_eq!(with(36.0, TaskState::Lock), [WaitCause::Lock]);
    assert!(with(36.0, TaskState::Send).is_empty(), "goroutines that wait for a slot may be idle workers");
}

/// This test repeats a situation that was observed with HAProxy: `maxconn 10` limits the requests to a program that
/// sleeps.
#[test]
fn threads_that_sleep_behind_a_full_place_come_after_it() {
    let finding = |cause, process: &str, threads| run::WaitFinding {
        cause,
        process: process.into(),
        threads,
        ..run::WaitFinding::default()
    };
    let pool = finding(WaitCause::ConnectionPool, "haproxy:3", 10.0);
    let sleep = finding(WaitCause::Sleep, "app:7", 10.0);
    assert!(super::is_behind(&sleep, &pool) && !super::is_behind(&pool, &sleep));
    assert!(!super::is_behind(&sleep, &finding(WaitCause::ConnectionPool, "app:7", 10.0)), "in the same process");
    assert!(!super::is_behind(&finding(WaitCause::Sleep, "app:7", 30.0), &pool), "most threads sleep elsewhere");
}

#[test]
fn goroutines_without_requests_or_beside_most_requests_are_no_cause() {
    for state in [TaskState::Lock, TaskState::Send] {
        let mut profile = goroutines(state, "main.work", TaskState::Sleep);
        profile.clients = Some(clients(2.0, 0.0));
        assert!(causes(&profile).is_empty(), "workers that wait among themselves");
        profile.clients = Some(clients(640.0, 0.0));
        assert!(causes(&profile).is_empty(), "most requests wait elsewhere");
        profile.clients = None;
        assert!(causes(&profile).is_empty(), "requests are not known");
    }
    assert!(causes(&goroutines(TaskState::Receive, "main.work", TaskState::Sleep)).is_empty());
}
