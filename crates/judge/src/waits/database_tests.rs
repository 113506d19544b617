//! Tests of causes inside databases, with made-up profiles whose cause of waiting is known.

use run::{
    Blocker, CommandSum, DatabaseKind, DatabaseProfile, PeerConnections, SessionGroup, SessionState, ThreadState,
    TitleGroup, WaitCause, WaitProcess, WaitProfile,
};

use super::tests::{causes, clients, peer, process};
use super::waits;

/// Makes a database with 16 sessions. On average, `waiting` sessions are in `state`, waiting for `event`.
fn database(state: SessionState, event: &str, waiting: f64) -> DatabaseProfile {
    let group = |state, event: &str, statement: &str, sessions| SessionGroup {
        state,
        event: event.into(),
        statement: statement.into(),
        sessions,
    };
    DatabaseProfile {
        address: "127.0.0.1:5432/app".into(),
        samples: 40,
        sessions: 16.0,
        active: 13.0,
        groups: vec![
            group(state, event, "UPDATE counters SET n = n + ? WHERE id = ?", waiting),
            group(SessionState::Sleep, "Timeout:PgSleep", "SELECT pg_sleep(?)", 13.0 - waiting),
        ],
        blockers: vec![Blocker {
            blocked: state,
            state: SessionState::Sleep,
            statement: "SELECT pg_sleep(?)".into(),
            share: 1.0,
            held_s: 0.009,
        }],
        ..DatabaseProfile::default()
    }
}

#[test]
fn sessions_of_a_database_name_the_lock_its_statement_and_its_holder() {
    let mut profile = process(8.0, &[(ThreadState::Peer, "127.0.0.1:5432", 8.0)]);
    profile.clients = Some(clients(8.0, 0.0));
    let found = waits(&profile, &[database(SessionState::RowLock, "Lock:transactionid", 12.0)]);
    assert_eq!((found.len(), found[0].cause, found[0].peer.as_str()), (1, WaitCause::RowLock, "127.0.0.1:5432/app"));
    assert_eq!((found[0].name.as_str(), found[0].held_s), ("UPDATE counters SET n = n + ? WHERE id = ?", Some(0.009)));
    assert_eq!(
        found[0].sentence,
        "12 of 16 backends of postgres wait for a row lock (Lock:transactionid) in UPDATE counters SET n = n + ? WHERE id = ?; its holder sleeps in SELECT pg_sleep(?) and holds it for 9 ms"
    );
    // No activity of the lock's holder covers most of its samples, so the sentence names no activity.
    let mut mixed = database(SessionState::RowLock, "Lock:transactionid", 12.0);
    mixed.blockers[0].share = 0.4;
    let found = waits(&profile, &[mixed]);
    assert!(found[0].sentence.ends_with("; it is held for 9 ms"), "{}", found[0].sentence);
    let mut open = database(SessionState::Lock, "Lock:relation", 12.0);
    open.blockers[0].state = SessionState::OpenTransaction;
    let found = waits(&profile, &[open]);
    assert_eq!((found[0].cause, found[0].holder), (WaitCause::Lock, Some(ThreadState::ClientRead)));
    assert!(
        found[0].sentence.contains("wait for a lock of another transaction (Lock:relation)"),
        "{}",
        found[0].sentence
    );
    // If the server's threads cannot be sampled, samples of the database alone name the cause.
    let found = waits(&WaitProfile::default(), &[database(SessionState::Disk, "IO:WALSync", 12.0)]);
    assert_eq!(found[0].cause, WaitCause::Disk);
}

#[test]
fn a_database_with_few_waits_has_no_cause() {
    // One of two sessions owns the lock, and the other session waits for the lock.
    let two =
        DatabaseProfile { active: 1.8, sessions: 2.0, ..database(SessionState::RowLock, "Lock:transactionid", 0.8) };
    assert_eq!(waits(&WaitProfile::default(), &[two]).len(), 1);
    for waiting in [0.0, 0.4, 5.0] {
        let database = database(SessionState::RowLock, "Lock:transactionid", waiting);
        assert!(waits(&WaitProfile::default(), &[database]).is_empty(), "{waiting}");
    }
    assert!(waits(&WaitProfile::default(), &[database(SessionState::Other, "IPC:x", 12.0)]).is_empty());
}

/// In this observed case, a session of another program waits for an open transaction, and the requests wait for a
/// semaphore of the server.
#[test]
fn a_session_of_another_program_that_waits_is_no_cause() {
    let mut profile = process(1.0, &[(ThreadState::Events, "", 1.0)]);
    profile.processes[0].epoll = true;
    profile.clients = Some(clients(24.0, 0.0));
    let title = |does: &str, processes| TitleGroup {
        process: "postgres".into(),
        title: format!("postgres: app db [local] {does}"),
        processes,
    };
    let to_database = |busy| PeerConnections { to: "postgres".into(), ..peer("app:7", 4.0, busy) };
    profile.titles = vec![title("UPDATE waiting", 1.0), title("idle in transaction", 1.0), title("idle", 4.0)];
    profile.peers = vec![to_database(0.2)];
    assert!(causes(&profile).is_empty(), "the server awaits hardly any reply");
    profile.clients = Some(clients(0.2, 0.0));
    assert!(causes(&profile).is_empty(), "and has hardly any request");
    profile.clients = Some(clients(24.0, 0.0));
    profile.peers = vec![PeerConnections { busy: f64::NAN, ..to_database(0.0) }];
    assert_eq!(causes(&profile), [WaitCause::RowLock], "unix sockets do not tell the awaited replies");
    (profile.titles[0].processes, profile.peers) = (3.6, vec![to_database(4.0)]);
    assert_eq!(causes(&profile), [WaitCause::RowLock], "most of a pool of four connections");
}

/// The address of a sampled database identifies the server's connections to it, even if the database's program has
/// another name.
#[test]
fn sessions_are_a_cause_if_most_requests_await_replies_of_their_database() {
    let is_told = |address: &str, busy| {
        let mut profile = process(20.0, &[(ThreadState::Futex, "", 20.0)]);
        profile.clients = Some(clients(16.0, 0.0));
        profile.peers = vec![PeerConnections { address: address.into(), ..peer("app:7", 20.0, busy) }];
        let locked = database(SessionState::RowLock, "Lock:transactionid", 12.0);
        waits(&profile, &[locked]).iter().any(|found| found.cause == WaitCause::RowLock)
    };
    assert!(is_told("127.0.0.1:5432", 13.0) && !is_told("127.0.0.1:5432", 2.0));
    assert!(is_told("127.0.0.1:54321", 2.0), "another server");
}

#[test]
fn a_command_that_fills_a_database_is_named() {
    let command =
        |command: &str, calls_per_s, share| CommandSum { command: command.into(), calls_per_s, share, longest_s: 0.0 };
    let redis =
        |commands| DatabaseProfile { kind: DatabaseKind::Redis, commands, ..database(SessionState::Other, "", 0.0) };
    let busy = redis(vec![command("KEYS", 190.0, 0.95), command("GET", 900.0, 0.01)]);
    let found = waits(&WaitProfile::default(), &[busy]);
    assert_eq!((found[0].cause, found[0].name.as_str()), (WaitCause::SerialCpu, "KEYS"));
    assert_eq!(found[0].sentence, "redis spends 95 % of its time in KEYS, 5 ms each");
    for commands in
        [vec![], vec![command("KEYS", 9.0, 0.58)], vec![command("GET", 9.0, 0.46), command("SET", 9.0, 0.46)]]
    {
        assert!(waits(&WaitProfile::default(), &[redis(commands)]).is_empty());
    }
    // The figures were observed with Redis, which counts the commands of a script twice.
    let script = |share: f64| redis(vec![command("EVAL", 90.0, share), command("LPOS", 3600.0, share - 0.01)]);
    assert!(waits(&WaitProfile::default(), &[script(0.53)]).is_empty(), "redis is idle for half of the time");
    assert_eq!(waits(&WaitProfile::default(), &[script(0.95)])[0].name, "EVAL");
    // Other programs use the same CPU, so the database runs for only a part of the time.
    let mut crowded = process(1.0, &[(ThreadState::Runnable, "", 0.4), (ThreadState::OnCpu, "", 0.6)]);
    crowded.processes[0] =
        WaitProcess { process: "redis-server:9".into(), busiest: 1.0, ..crowded.processes[0].clone() };
    crowded.groups.iter_mut().for_each(|group| group.process = "redis-server:9".into());
    crowded.clients = Some(clients(8.0, 0.0));
    let found = waits(&crowded, &[redis(vec![command("KEYS", 190.0, 0.58)])]);
    assert_eq!(found[0].sentence, "redis spends 58.0 % of its time in KEYS, 3.05 ms each");
}
