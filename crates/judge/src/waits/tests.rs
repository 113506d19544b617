//! Made-up profiles with a known cause of waiting, and profiles of idle servers, in which no cause may be found.

use run::{
    ClientConnections, FutexKind, FutexProfile, HolderFunction, HolderState, HolderThread, TaskGroup, TaskState,
    ThreadState, WaitCause, WaitFinding, WaitGroup, WaitProcess, WaitProfile,
};

use super::{headline, waits};

/// Makes a process with `threads` threads. `groups` are the states, the objects that threads wait for, and the numbers
/// of threads.
pub(crate) fn process(threads: f64, groups: &[(ThreadState, &str, f64)]) -> WaitProfile {
    let group = |(state, key, n): &(ThreadState, &str, f64)| WaitGroup {
        process: "app:7".into(),
        thread: "worker-#".into(),
        state: *state,
        key: (*key).into(),
        threads: *n,
        share: n / threads,
    };
    WaitProfile {
        rounds: 100,
        seconds: 1.0,
        processes: vec![WaitProcess { process: "app:7".into(), processes: 1.0, threads, ..WaitProcess::default() }],
        groups: groups.iter().map(group).collect(),
        ..WaitProfile::default()
    }
}

/// Makes a profile in which 14.7 of 16 threads wait for one futex and one thread sleeps. On average, 15.7 requests are
/// in progress.
pub(crate) fn locked(kind: FutexKind) -> WaitProfile {
    let mut profile = process(
        16.0,
        &[(ThreadState::Futex, "0x10", 14.7), (ThreadState::Sleep, "", 1.0), (ThreadState::ClientRead, "", 0.3)],
    );
    profile.futexes = vec![FutexProfile {
        process: "app:7".into(),
        address: "0x10".into(),
        kind,
        users: 16,
        waiting: 14.7,
        contended: 1.0,
        active: 1.0,
        owned: f64::from(kind == FutexKind::OwnedMutex),
        holders: vec![HolderState { state: ThreadState::Sleep, share: 1.0, ..HolderState::default() }],
        ..FutexProfile::default()
    }];
    profile.clients = Some(clients(15.7, 0.0));
    profile
}

pub(super) fn peer(process: &str, open: f64, busy: f64) -> run::PeerConnections {
    run::PeerConnections {
        process: process.into(),
        address: "10.0.0.2:5432".into(),
        open,
        busy,
        max_open: open,
        ..run::PeerConnections::default()
    }
}

pub(super) fn clients(in_progress: f64, unread: f64) -> ClientConnections {
    ClientConnections { readings: 20, open: 16.0, in_progress, unread, ..ClientConnections::default() }
}

pub(super) fn causes(profile: &WaitProfile) -> Vec<WaitCause> {
    waits(profile, &[]).iter().map(|f| f.cause).collect()
}

#[test]
fn a_lock_whose_waiters_hold_requests_is_named_with_its_holder() {
    for kind in [FutexKind::OwnedMutex, FutexKind::Mutex, FutexKind::Semaphore] {
        let found = waits(&locked(kind), &[]);
        assert_eq!(found.len(), 1, "{found:?}");
        let WaitFinding { cause, threads, of, holder, .. } = &found[0];
        assert_eq!((*cause, *threads, *of, *holder), (WaitCause::Lock, 14.7, 16.0, Some(ThreadState::Sleep)));
        let said = headline(&locked(kind), &found);
        let probably = if kind == FutexKind::OwnedMutex { "" } else { "probably " };
        let expected = format!("14.7 of 16 threads of app:7 wait for one lock (0x10); its holder {probably}sleeps.");
        assert_eq!(said, expected);
    }
}

#[test]
fn a_lock_is_told_with_the_thread_and_the_function_of_its_holder() {
    let row = |state, function: &str, share| HolderFunction { state, function: function.into(), stacks: 40, share };
    let told = |kind, thread_share, function: HolderFunction| {
        let mut profile = locked(kind);
        let futex = &mut profile.futexes[0];
        futex.holders[0].state = function.state;
        futex.holders[0].key = if function.state == ThreadState::Disk { "fsync of /log".into() } else { String::new() };
        futex.holder_threads =
            vec![HolderThread { name: "worker-3".into(), id: 812, readings: 60, share: thread_share }];
        futex.holder_functions = vec![function];
        let found = waits(&profile, &[]).remove(0);
        let clause = found.sentence.split_once("; ").map(|(_, clause)| clause.to_string()).unwrap_or_default();
        (found, clause)
    };
    let owned = FutexKind::OwnedMutex;
    let (found, clause) = told(owned, 0.9, row(ThreadState::Sleep, "pause (app.c:9)", 1.0));
    assert_eq!(clause, "its holder (thread worker-3, ID 812) sleeps in pause (app.c:9)");
    assert_eq!((found.holder_function.as_str(), found.holder_function_share), ("pause (app.c:9)", Some(1.0)));
    assert_eq!(found.holder_thread.map(|thread| (thread.name, thread.id)), Some(("worker-3".into(), 812)));
    let (_, clause) = told(FutexKind::Mutex, 0.9, row(ThreadState::Sleep, "pause", 1.0));
    assert_eq!(clause, "its holder (thread worker-3, ID 812) probably sleeps in pause");
    // The lock passes from thread to thread, so only the function is told.
    let (found, clause) = told(owned, 0.2, row(ThreadState::Disk, "write_log (fsync.c:15)", 1.0));
    assert_eq!(clause, "its holder waits for the disk in fsync of /log, called in write_log (fsync.c:15)");
    assert_eq!(found.holder_thread, None);
    let (_, clause) = told(owned, 0.2, row(ThreadState::Disk, "write_log", 0.8));
    assert_eq!(clause, "its holder waits for the disk in fsync of /log, 80 % of the time in write_log");
    let (_, clause) = told(owned, 0.2, row(ThreadState::Sleep, "pause", 0.4));
    assert_eq!(clause, "its holder sleeps");
}

#[test]
fn a_holder_that_does_one_thing_and_another_is_told_by_its_thread() {
    let mut profile = locked(FutexKind::OwnedMutex);
    let futex = &mut profile.futexes[0];
    let holder = |state, share| HolderState { state, share, ..HolderState::default() };
    futex.holders =
        vec![holder(ThreadState::Sleep, 0.4), holder(ThreadState::Disk, 0.3), holder(ThreadState::OnCpu, 0.3)];
    futex.holder_threads = vec![HolderThread { name: "flusher".into(), id: 9, readings: 60, share: 0.9 }];
    let found = waits(&profile, &[]).remove(0);
    assert!(
        found.sentence.ends_with("wait for one lock (0x10); its holder is thread flusher, ID 9"),
        "{}",
        found.sentence
    );
}

/// On a busy machine, the holder of a lock often waits for a CPU after a flush.
#[test]
fn a_lock_around_a_flush_is_told_first_in_a_verdict_about_the_disk() {
    let holder = |state, key: &str, share| HolderState { state, key: key.into(), share };
    let mut profile = locked(FutexKind::OwnedMutex);
    profile.futexes[0].holders = vec![
        holder(ThreadState::Runnable, "", 0.55),
        holder(ThreadState::Disk, "fsync of /log", 0.35),
        holder(ThreadState::OnCpu, "", 0.1),
    ];
    let mut verdict = run::Bottleneck { id: "server-disk".into(), ..run::Bottleneck::default() };
    super::explain(&mut verdict, &waits(&profile, &[]), None, super::WordOrder::WaitsFirst);
    let expected =
        "14.7 of 16 threads of app:7 wait for one lock (0x10); its holder waits for the disk in fsync of /log";
    assert_eq!(verdict.sentence, expected);
}

#[test]
fn a_mutex_with_an_owner_needs_no_account_of_requests() {
    let mut profile = locked(FutexKind::OwnedMutex);
    profile.clients = None;
    assert_eq!(causes(&profile), [WaitCause::Lock]);
    for kind in [FutexKind::Mutex, FutexKind::Semaphore, FutexKind::Condition, FutexKind::Unknown] {
        profile.futexes[0].kind = kind;
        assert!(causes(&profile).is_empty(), "{kind:?}");
    }
}

#[test]
fn idle_workers_that_wait_for_one_futex_are_no_lock() {
    // A pool of 16 threads has one request. The futex of the pool's idle threads looks like a lock with 15 waiting
    // threads.
    for kind in [FutexKind::OwnedMutex, FutexKind::Mutex, FutexKind::Semaphore] {
        let mut profile = locked(kind);
        profile.clients = Some(clients(1.0, 0.0));
        assert!(causes(&profile).is_empty(), "{kind:?}");
    }
    let mut condition = locked(FutexKind::Condition);
    condition.futexes[0].owned = 0.0;
    assert!(causes(&condition).is_empty(), "a condition variable is not a lock");
}

#[test]
fn a_leader_that_waits_for_work_holds_no_lock_that_counts() {
    for state in [ThreadState::Accept, ThreadState::Events, ThreadState::ClientRead, ThreadState::Futex] {
        let mut profile = locked(FutexKind::OwnedMutex);
        profile.futexes[0].holders[0].state = state;
        profile.futexes[0].active = 0.0;
        profile.clients = None;
        assert!(causes(&profile).is_empty(), "{state:?}");
    }
}

#[test]
fn requests_that_wait_elsewhere_leave_the_cause_open() {
    // An event loop has read 64 requests. Most threads of the event loop's pool of four threads are idle.
    let mut profile = process(5.0, &[(ThreadState::Futex, "0x10", 3.0), (ThreadState::OnCpu, "", 2.0)]);
    profile.futexes =
        vec![FutexProfile { waiting: 3.0, users: 4, active: 1.0, ..locked(FutexKind::Semaphore).futexes[0].clone() }];
    profile.clients = Some(clients(64.0, 0.0));
    assert!(causes(&profile).is_empty());
}

#[test]
fn a_pool_of_any_load_is_never_a_lock() {
    // Pools of 2 to 64 workers, at every load. `busy` workers have a request each, and the other workers wait for work.
    for workers in [2.0_f64, 4.0, 16.0, 64.0] {
        for percent in 1..100 {
            let busy = workers * f64::from(percent) / 100.0;
            for kind in [FutexKind::OwnedMutex, FutexKind::Mutex, FutexKind::Semaphore, FutexKind::Condition] {
                let mut profile = locked(kind);
                let futex = &mut profile.futexes[0];
                (futex.waiting, futex.active, futex.contended) = (workers - busy, busy, 1.0);
                futex.holders[0].state = ThreadState::Futex;
                profile.clients = Some(clients(busy, 0.0));
                let found = causes(&profile);
                let is_none = ![WaitCause::Lock, WaitCause::WorkerPool].iter().any(|cause| found.contains(cause));
                assert!(is_none, "{workers} workers, {busy} busy, {kind:?}");
            }
        }
    }
}

#[test]
fn a_lock_that_is_rarely_contended_is_not_named() {
    let mut profile = locked(FutexKind::OwnedMutex);
    profile.futexes[0].contended = 0.3;
    assert!(!causes(&profile).contains(&WaitCause::Lock));
    // In the first case, threads often wait while no other thread is active. In the second case, hardly any thread that
    // uses the futex is active.
    for (unheld, active) in [(0.4, 1.0), (0.0, 0.2)] {
        let mut profile = locked(FutexKind::Semaphore);
        (profile.futexes[0].unheld, profile.futexes[0].active) = (unheld, active);
        assert!(!causes(&profile).contains(&WaitCause::Lock));
    }
}

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
    assert_eq!(causes(&waiting), [WaitCause::ConnectionPool]);
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

#[test]
fn processes_are_serial_if_one_or_each_of_them_computes() {
    // Makes processes of one name, of which `computing` compute. One of the processes may be an idle parent of the
    // other processes.
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
fn the_interpreter_lock_is_named_by_all_its_futexes() {
    let mut profile = process(16.0, &[(ThreadState::Futex, "0x10", 13.0), (ThreadState::OnCpu, "", 1.0)]);
    let lock = locked(FutexKind::Condition).futexes[0].clone();
    let holders = vec![HolderState { state: ThreadState::OnCpu, share: 0.9, ..HolderState::default() }];
    let half = FutexProfile { name: "_PyRuntime".into(), waiting: 6.5, contended: 0.5, owned: 0.0, holders, ..lock };
    profile.futexes = vec![half.clone(), FutexProfile { address: "0x14".into(), ..half }];
    profile.clients = Some(clients(16.0, 0.0));
    let found = waits(&profile, &[]);
    assert_eq!((found.len(), found[0].cause, found[0].threads), (1, WaitCause::Lock, 13.0));
    let said = "13 of 16 threads of app:7 wait for Python's interpreter lock (GIL)";
    assert_eq!(found[0].sentence, said);
    profile.futexes.iter_mut().for_each(|futex| futex.waiting = 0.1);
    assert!(!causes(&profile).contains(&WaitCause::Lock));
}

/// Threads that sleep for 10 ms and compute for 0.5 ms often wait briefly for the interpreter lock, but the lock does
/// not limit them.
#[test]
fn the_interpreter_lock_is_not_named_if_most_threads_sleep() {
    let groups = [(ThreadState::Sleep, "", 12.0), (ThreadState::Futex, "0x10", 0.7)];
    let mut profile = process(13.0, &groups);
    let lock = locked(FutexKind::Condition).futexes[0].clone();
    profile.futexes = vec![FutexProfile { name: "_PyRuntime".into(), waiting: 0.7, contended: 0.6, ..lock }];
    profile.clients = Some(clients(13.0, 0.0));
    assert_eq!(causes(&profile), [WaitCause::Sleep]);
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
        // Another statement locks a whole table, so the UPDATE may wait for the table lock.
        profile.titles.push(title(&backend("LOCK TABLE"), 1.0));
        assert_eq!(causes(&profile), [WaitCause::Lock]);
    }
    profile.titles = vec![title("other: waiting", 6.4), title("postgres: app db [local] idle in transaction", 6.4)];
    assert_eq!(causes(&profile), [WaitCause::Peer]);
}

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
    let connections =
        waits(&goroutines(TaskState::Select, "database/sql.(*DB).conn (sql.go:1)", TaskState::Network), &[]);
    assert_eq!((connections.len(), connections[0].cause), (1, WaitCause::ConnectionPool));
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

/// Each thread that waits for a Java monitor has a futex of its own, so only the stacks show the common lock.
#[test]
fn threads_that_wait_for_a_java_monitor_are_told_with_the_function() {
    let monitor = |function: &str, waiting| run::MonitorGroup {
        process: "app:7".into(),
        kind: run::MonitorKind::JavaMonitor,
        function: function.into(),
        waiting,
    };
    let told = |function, waiting, in_progress| {
        let mut profile = process(40.0, &[(ThreadState::Futex, "", 39.0), (ThreadState::Sleep, "", 1.0)]);
        (profile.monitors, profile.clients) = (vec![monitor(function, waiting)], Some(clients(in_progress, 20.0)));
        waits(&profile, &[]).into_iter().map(|found| found.sentence).collect::<Vec<_>>()
    };
    assert_eq!(told("", 31.0, 32.0), ["31 of 40 threads of app:7 wait for a Java monitor (synchronized)"]);
    assert_eq!(told("slow", 31.0, 32.0), ["31 of 40 threads of app:7 wait for a Java monitor (synchronized) in slow"]);
    let none = |said: Vec<String>| !said.iter().any(|sentence| sentence.contains("monitor"));
    assert!(none(told("", 31.0, 3.0)), "threads without requests");
    assert!(none(told("", 3.0, 32.0)), "few of the requests");
}

#[test]
fn threads_that_wait_for_the_lock_of_ruby_have_work() {
    let told = |waiting, sleeping| {
        let groups =
            [(ThreadState::Futex, "", 60.0), (ThreadState::OnCpu, "", 1.0), (ThreadState::Sleep, "", sleeping)];
        let mut profile = process(65.0, &groups);
        let kind = run::MonitorKind::RubyLock;
        profile.monitors = vec![run::MonitorGroup { process: "app:7".into(), kind, function: String::new(), waiting }];
        // Threads that return from writing an answer also wait for the lock. Fewer requests than threads are in
        // progress.
        profile.clients = Some(clients(35.0, 14.0));
        waits(&profile, &[]).into_iter().map(|found| (found.cause, found.sentence)).collect::<Vec<_>>()
    };
    let sentence = "58 of 65 threads of app:7 wait for Ruby's interpreter lock (GVL)";
    assert_eq!(told(58.0, 0.0), [(WaitCause::Lock, sentence.to_string())]);
    let none = |told: Vec<(WaitCause, String)>| told.iter().all(|(cause, _)| *cause != WaitCause::Lock);
    assert!(none(told(0.4, 0.0)), "a thread that returns now and then");
    assert!(none(told(0.7, 12.0)), "most threads sleep");
}

#[test]
fn threads_that_wait_for_one_of_several_places_are_a_pool() {
    let mut profile = locked(FutexKind::Condition);
    profile.groups[1].threads = 3.0;
    profile.futexes[0] =
        FutexProfile { name: "PLACES".into(), waiting: 13.0, active: 3.0, owned: 0.0, ..profile.futexes[0].clone() };
    profile.clients = Some(clients(16.0, 0.0));
    let found = waits(&profile, &[]);
    assert_eq!((found.len(), found[0].cause), (1, WaitCause::WorkerPool));
    assert_eq!(found[0].sentence, "13 of 16 threads of app:7 wait for a slot in PLACES; those inside sleep");
    profile.clients = Some(clients(3.0, 0.0));
    assert!(!causes(&profile).contains(&WaitCause::WorkerPool), "idle workers");
}

/// This case occurred live with a server behind nginx. In a second of overload, the queue grew, and both counts of
/// requests at the server were lower than the count of waiting threads. In the samples of the later experiment, the
/// counts of requests and waiting threads agreed.
#[test]
fn a_trial_with_more_rounds_shows_a_lock_that_a_growing_queue_hides() {
    let trial = |rounds, concurrency, in_progress| {
        let profile = WaitProfile { rounds, clients: Some(clients(in_progress, 0.0)), ..locked(FutexKind::Semaphore) };
        let server = Some(run::Side { waits: Some(Box::new(profile)), ..run::Side::default() });
        let mut trial = run::Trial { server, ..run::Trial::default() };
        trial.rates.concurrency = concurrency;
        trial
    };
    let causes = |trials| super::of_run(&run::Run { trials, ..run::Run::default() }).len();
    let (growing, steady) = (trial(6, 20.0, 10.0), trial(46, 3.0, 15.7));
    assert_eq!(causes(vec![growing.clone()]), 0);
    assert_eq!(causes(vec![growing.clone(), steady.clone()]), 1);
    assert_eq!(causes(vec![growing, trial(5, 3.0, 15.7)]), 0, "fewer rounds");
}
