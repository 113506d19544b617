//! Tests of causes of waiting other than locks: blocking calls, busy and computing workers, and processes of a
//! database.

use run::{ThreadState, WaitCause, WaitProcess, WaitProfile};

use super::tests::{causes, clients, peer, process};
use super::{headline, waits};

#[test]
fn an_event_loop_that_sleeps_while_requests_wait_is_a_blocking_call() {
    let mut profile = process(1.0, &[(ThreadState::Sleep, "", 0.93), (ThreadState::OnCpu, "", 0.07)]);
    profile.processes[0].epoll = true;
    profile.clients = Some(clients(1.0, 7.0));
    assert_eq!(causes(&profile), [WaitCause::BlockingCall]);
    profile.clients = Some(clients(0.0, 0.0));
    assert!(causes(&profile).is_empty(), "a thread of housekeeping sleeps without requests");
    let mut idle = process(2.0, &[(ThreadState::Sleep, "", 1.0), (ThreadState::Events, "", 1.0)]);
    idle.processes[0].epoll = true;
    idle.clients = Some(clients(1.0, 7.0));
    assert!(causes(&idle).is_empty(), "its loop waits for events");
}

/// This test repeats a situation that was observed with nginx, which reads a large file with `directio`: its master
/// process only waits for signals.
#[test]
fn a_parent_that_waits_for_signals_is_no_idle_worker() {
    let states = [
        (ThreadState::Signal, "", 1.0),
        (ThreadState::Disk, "pread64 of /big.bin on vda", 0.75),
        (ThreadState::OnCpu, "", 0.25),
    ];
    let mut profile = process(2.0, &states);
    profile.processes[0].processes = 2.0;
    profile.processes[0].epoll = true;
    profile.clients = Some(clients(0.0, 35.0));
    let found = waits(&profile, &[]);
    assert_eq!((found.len(), found[0].cause), (1, WaitCause::BlockingCall), "{found:?}");
    let wanted = "the event loop of app:7 waits for the disk in pread64 of /big.bin on vda while requests wait";
    assert_eq!(found[0].sentence, wanted);
    profile.groups[0].threads = 2.0;
    assert!(causes(&profile).is_empty(), "another process waits, too");
}

/// This test repeats a situation that was observed with Node, which flushes a file for each request: neither its CPU
/// nor the disk is full.
#[test]
fn an_event_loop_that_computes_and_flushes_never_rests() {
    let states = [
        (ThreadState::Events, "", 1.0),
        (ThreadState::Futex, "", 5.0),
        (ThreadState::OnCpu, "", 0.6),
        (ThreadState::Disk, "fsync of /node.log on vda", 0.44),
    ];
    let mut profile = process(7.0, &states);
    let first = &mut profile.processes[0];
    (first.epoll, first.busiest, first.busiest_blocked) = (true, 0.6, 0.4);
    profile.clients = Some(clients(1.0, 61.0));
    let wanted = "the event loop of app:7 waits for the disk in fsync of /node.log on vda 40 % of the time and computes for \
                  the rest while requests wait";
    assert_eq!(waits(&profile, &[])[0].sentence, wanted);
    profile.processes[0].busiest_blocked = 0.1;
    assert!(causes(&profile).is_empty(), "it rests, or something else fills it");
    // The busiest thread of a server with an idle event loop sleeps between two checks of its listener.
    (profile.processes[0].busiest, profile.processes[0].busiest_blocked) = (0.01, 0.99);
    assert!(causes(&profile).is_empty(), "another thread sleeps");
}

/// This test repeats a situation that was observed with asyncio: four threads beside its event loop poll another
/// server.
#[test]
fn a_loop_without_rest_is_told_beside_threads_that_wait_for_a_peer() {
    let states =
        [(ThreadState::Peer, "10.0.0.9:80", 3.96), (ThreadState::OnCpu, "", 0.74), (ThreadState::Sleep, "", 0.26)];
    let mut profile = process(5.0, &states);
    let first = &mut profile.processes[0];
    (first.epoll, first.busiest, first.busiest_blocked) = (true, 0.74, 0.26);
    profile.clients = Some(clients(4.3, 19.5));
    let stack = run::StackSum { stack: "app;main;poll_peer;recv".into(), weight: 4.0 };
    profile.stacks = Some(run::StackProfile { waiting: vec![stack], ..run::StackProfile::default() });
    let said = "the event loop of app:7 sleeps 26 % of the time and computes for the rest while requests wait";
    assert_eq!(waits(&profile, &[])[0].sentence, said);
    // Four threads of nginx read files, and its event loop opens further files.
    (profile.groups[0].state, profile.groups[0].key) = (ThreadState::Disk, "pread64 of /big.bin".into());
    (profile.groups[2].state, profile.groups[2].key) = (ThreadState::Disk, "openat".into());
    let said = "the event loop of app:7 waits for the disk in openat 26 % of the time and computes for the rest while \
                requests wait";
    assert_eq!(waits(&profile, &[])[0].sentence, said);
}

#[test]
fn workers_that_sleep_or_wait_for_a_peer_are_told() {
    let mut sleeping = process(8.0, &[(ThreadState::Sleep, "", 8.0)]);
    sleeping.clients = Some(clients(8.0, 0.0));
    assert_eq!(causes(&sleeping), [WaitCause::Sleep]);
    sleeping.clients = Some(clients(8.0, 24.0));
    assert_eq!(causes(&sleeping), [WaitCause::WorkerPool]);
    let mut waiting = process(8.0, &[(ThreadState::Peer, "10.0.0.2:5432", 8.0)]);
    waiting.clients = Some(clients(8.0, 0.0));
    let found = waits(&waiting, &[]);
    assert_eq!((found[0].cause, found[0].peer.as_str()), (WaitCause::Peer, "10.0.0.2:5432"));
    waiting.clients = Some(clients(8.0, 24.0));
    waiting.peers = vec![peer("app:7", 8.0, 7.9)];
    assert_eq!(causes(&waiting), [WaitCause::WorkerPool], "the server reads no further request");
    let wanted = "all workers of app:7 have a request, 8 of its 8 threads wait for a reply of 10.0.0.2:5432, and further \
                  requests queue";
    assert_eq!(waits(&waiting, &[])[0].sentence, wanted);
}

/// This test repeats a situation that was observed with PHP-FPM: the workers wait for a database in which a table is
/// locked. The load had 8 clients, and half of the 16 workers were idle.
#[test]
fn workers_that_wait_for_a_peer_are_told_beside_idle_workers() {
    let states = [(ThreadState::Accept, "", 8.1), (ThreadState::Peer, "unix:/run/my.sock", 6.9)];
    let mut waiting = process(17.0, &states);
    waiting.processes[0].processes = 17.0;
    waiting.clients = Some(clients(7.9, 0.0));
    let found = waits(&waiting, &[]);
    assert_eq!((found[0].cause, found[0].peer.as_str()), (WaitCause::Peer, "unix:/run/my.sock"));
    waiting.clients = Some(clients(30.0, 0.0));
    assert!(causes(&waiting).is_empty(), "most requests wait elsewhere");
}

/// This test repeats a situation that was observed with Tomcat, whose threads share five connections to a database.
#[test]
fn threads_that_wait_for_a_connection_are_told_beside_those_that_use_one() {
    let states = [(ThreadState::Futex, "", 58.3), (ThreadState::Peer, "10.0.0.2:5432", 5.0)];
    let mut waiting = process(64.0, &states);
    waiting.clients = Some(clients(52.0, 0.0));
    waiting.peers = vec![peer("app:7", 5.0, 4.7)];
    let found = waits(&waiting, &[]);
    assert_eq!((found[0].cause, found[0].of, found[0].queued), (WaitCause::ConnectionPool, 5.0, Some(47.0)));
    waiting.peers = vec![peer("app:7", 10.0, 4.7)];
    assert!(causes(&waiting).is_empty(), "unused connections");
    waiting.peers = vec![peer("app:7", 5.0, 4.7)];
    waiting.clients = Some(clients(5.0, 47.0));
    assert_ne!(causes(&waiting), [WaitCause::ConnectionPool], "no further request was read");
}

/// This test repeats a situation that was observed with a server whose standard output is a pipe to a slow program.
#[test]
fn threads_that_wait_for_a_pipe_with_their_requests_are_told() {
    let mut profile = process(9.0, &[(ThreadState::Pipe, "pipe", 7.9), (ThreadState::Accept, "", 1.0)]);
    profile.clients = Some(clients(8.0, 0.0));
    assert_eq!(waits(&profile, &[])[0].sentence, "7.9 of 9 threads of app:7 wait for the pipe");
    profile.clients = Some(clients(0.5, 0.0));
    assert!(causes(&profile).is_empty(), "idle workers read a pipe");
}

#[test]
fn one_thread_that_computes_while_requests_wait_is_serial() {
    let mut profile = process(5.0, &[(ThreadState::OnCpu, "", 0.98), (ThreadState::Futex, "", 4.0)]);
    profile.processes[0].busiest = 0.98;
    profile.clients = Some(clients(8.0, 0.0));
    assert_eq!(causes(&profile), [WaitCause::SerialCpu]);
    profile.clients = Some(clients(1.0, 0.0));
    assert!(causes(&profile).is_empty(), "one request at a time waits for nothing");
}

/// This test repeats a situation that was observed with PostgreSQL: one of eight processes computes a report for
/// another program.
#[test]
fn a_process_that_nobody_asks_computes_for_others() {
    let told = |sent: f64| {
        let mut profile = process(8.0, &[(ThreadState::Events, "", 7.0), (ThreadState::OnCpu, "", 1.0)]);
        let first = &mut profile.processes[0];
        (first.processes, first.busiest, first.behind) = (8.0, 1.0, true);
        profile.clients = Some(clients(22.0, 0.0));
        profile.peers = vec![run::PeerConnections { to: "app:7".into(), ..peer("front:3", 4.0, sent) }];
        waits(&profile, &[]).first().map(|found| (found.cause, found.threads))
    };
    assert_eq!(told(0.0), None);
    for sent in [4.0, f64::NAN] {
        assert_eq!(told(sent), Some((WaitCause::SerialCpu, 1.0)), "{sent}");
    }
}

/// This test repeats a situation that was observed with Node.js, whose second thread computes all the time beside three
/// connections to a slow service.
#[test]
fn a_used_up_pool_comes_before_a_thread_that_computes() {
    let mut profile = process(8.0, &[(ThreadState::OnCpu, "", 1.0), (ThreadState::Events, "", 2.0)]);
    (profile.processes[0].busiest, profile.processes[0].epoll) = (1.0, true);
    profile.clients = Some(clients(16.0, 0.0));
    profile.peers = vec![peer("app:7", 3.0, 2.9)];
    assert_eq!(causes(&profile), [WaitCause::ConnectionPool]);
    profile.peers = vec![peer("app:7", 3.0, 1.4)];
    assert_eq!(causes(&profile), [WaitCause::SerialCpu], "a full loop leaves replies unread");
    profile.peers = vec![peer("app:7", 30.0, 29.0)];
    profile.clients = Some(clients(30.0, 20.0));
    assert_eq!(causes(&profile), [WaitCause::SerialCpu], "a full loop leaves requests unread");
}

#[test]
fn processes_are_serial_if_one_or_each_of_them_computes() {
    // Makes processes of one name, `computing` of which compute. One process of this name may be the idle parent of the
    // others.
    let serial = |processes: f64, computing: f64| {
        let mut profile = process(
            processes,
            &[(ThreadState::OnCpu, "", computing), (ThreadState::Events, "", processes - computing)],
        );
        profile.processes[0].processes = processes;
        profile.processes[0].busiest = 1.0;
        profile.clients = Some(clients(32.0, 0.0));
        causes(&profile) == [WaitCause::SerialCpu]
    };
    assert!(serial(2.0, 1.0) && serial(5.0, 4.0) && serial(4.0, 4.0));
    assert!(!serial(8.0, 2.6), "some backends of a database compute");
}

#[test]
fn an_idle_server_has_no_cause_and_says_what_its_threads_do() {
    let profile = process(3.0, &[(ThreadState::Events, "", 3.0)]);
    assert!(waits(&profile, &[]).is_empty());
    let said = headline(&profile, &[]);
    assert!(said.contains("of 3 threads, 0 compute") && said.contains("3 wait for work"), "{said}");
    assert_eq!(headline(&WaitProfile::default(), &[]), "No thread could be read.");
}

#[test]
fn processes_of_a_database_that_wait_for_a_transaction_are_told_before_the_peer() {
    let mut profile = process(8.0, &[(ThreadState::Peer, "127.0.0.1:5432", 8.0)]);
    profile.clients = Some(clients(8.0, 0.0));
    assert_eq!(causes(&profile), [WaitCause::Peer]);
    let title = |title: &str, processes| run::TitleGroup { process: "postgres".into(), title: title.into(), processes };
    profile.processes.push(WaitProcess { process: "postgres".into(), processes: 14.0, ..WaitProcess::default() });
    for host in ["#.#.#.#(#)", "::#(#)", "[local]"] {
        let backend = |does: &str| format!("postgres: app my db {host} {does}");
        let waiting = title(&backend("UPDATE waiting"), 6.4);
        let idle = [title(&backend("idle"), 1.1), title("postgres: checkpointer", 1.0), title("other: waiting", 9.0)];
        profile.titles = [vec![waiting], idle.to_vec()].concat();
        let found = waits(&profile, &[]);
        assert_eq!((found.len(), found[0].cause, found[0].name.as_str()), (1, WaitCause::RowLock, "UPDATE"));
        assert_eq!(found[0].sentence, "6.4 of 7.5 backends of postgres wait for a row lock (UPDATE)");
        // Another statement locks the whole table, so the UPDATE may wait for the table lock.
        profile.titles.push(title(&backend("LOCK TABLE"), 1.0));
        assert_eq!(causes(&profile), [WaitCause::Lock]);
    }
    profile.titles = vec![title("other: waiting", 6.4), title("postgres: app db [local] idle in transaction", 6.4)];
    assert_eq!(causes(&profile), [WaitCause::Peer]);
}

/// This test repeats a situation that was observed with Node.js, which writes its log to a pipe. A second thread of
/// Node's runtime waits for events all the time.
#[test]
fn an_event_loop_before_a_full_pipe_is_told_beside_an_idle_thread() {
    let told = |state, unread: f64| {
        let states = [(state, "pipe to logger:9", 1.0), (ThreadState::Events, "", 1.0), (ThreadState::Futex, "", 5.0)];
        let mut profile = process(7.0, &states);
        profile.processes[0].epoll = true;
        profile.clients = Some(clients(0.0, unread));
        waits(&profile, &[]).first().map(|found| found.sentence.clone())
    };
    let said = "the event loop of app:7 waits for the full pipe to logger:9 while requests wait";
    assert_eq!(told(ThreadState::FullPipe, 32.9).as_deref(), Some(said));
    assert_eq!(told(ThreadState::FullPipe, 0.0), None, "no request waits");
    assert_eq!(told(ThreadState::Sleep, 32.9), None, "a thread of the runtime may sleep");
}

/// The trial with the most samples had a light load. Another trial with fewer samples had a heavy load, and its threads
/// waited for a lock.
#[test]
fn a_heavy_load_with_fewer_samples_counts_if_the_best_sampled_load_was_light() {
    let with = |rounds: u64, concurrency: f64| {
        let profile = run::WaitProfile { rounds, ..super::tests::locked(run::FutexKind::OwnedMutex) };
        let server = Some(run::Side { waits: Some(Box::new(profile)), ..run::Side::default() });
        let rates = run::Rates { concurrency, ..run::Rates::default() };
        run::Trial { server, rates, ..run::Trial::default() }
    };
    let run = run::Run { trials: vec![with(8, 59.0), with(100, 182.0)], ..run::Run::default() };
    let found = |is_light: fn(&run::Trial) -> bool| super::of_run(&run, is_light).len();
    assert_eq!(found(|trial| trial.rates.concurrency > 100.0), 1);
    assert_eq!(found(|_| true), 0, "only light loads");
}
