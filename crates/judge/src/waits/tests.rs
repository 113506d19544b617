//! Made-up profiles with a known cause of waiting, and profiles of idle servers, in which no cause may be found.

use run::{
    ClientConnections, FutexKind, FutexProfile, HolderFunction, HolderState, HolderThread, ThreadState, WaitCause,
    WaitFinding, WaitGroup, WaitProcess, WaitProfile,
};

use super::{headline, waits};

/// Makes a process with `threads` threads. Each entry of `groups` is a state, the object that its threads wait for, and
/// their number.
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

/// Makes a profile of a pool of `children` child processes, which all sleep in a request, while `queued` further
/// requests wait to be accepted.
pub(crate) fn sleeping_children(children: f64, queued: f64) -> WaitProfile {
    let mut profile = process(children, &[(ThreadState::Sleep, "", children)]);
    profile.processes[0] = WaitProcess { processes: children, children: true, ..profile.processes[0].clone() };
    profile.processes[0].process = "app".into();
    profile.groups.iter_mut().for_each(|group| group.process = "app".into());
    profile.clients = Some(ClientConnections { queued, ..clients(children, 0.0) });
    profile
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
    // The lock passes from thread to thread, so the sentence names only the function in which the holder waits.
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
    let known = super::Known::default();
    super::explain(&mut verdict, &waits(&profile, &[]), &known, super::WordOrder::WaitsFirst);
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
    // A pool of 16 threads has one request. The futex of the 15 idle threads looks like a lock.
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

/// This test imitates a Python server with one thread per connection. A delayed acknowledgement of 40 ms per answer
/// keeps 8 of 11 threads idle. Even so, one thread or another holds the lock for 93 % of the time. The threads that
/// wait for the lock also read requests from clients at other times. In contrast, workers that wait for a queue of work
/// never read requests.
#[test]
fn a_lock_with_a_short_queue_is_named_if_its_threads_also_read_requests() {
    let profile = |users: u64, readers: f64| {
        let states =
            [(ThreadState::Futex, "0x10", 1.06), (ThreadState::Sleep, "", 1.0), (ThreadState::Events, "", 1.0)];
        let mut profile = process(11.0, &[&states[..], &[(ThreadState::ClientRead, "", readers)]].concat());
        let futex = FutexProfile { waiting: 1.06, users, contended: 0.88, active: 0.93, ..FutexProfile::default() };
        let holders = locked(FutexKind::Semaphore).futexes[0].holders.clone();
        let (process, kind) = ("app:7".into(), FutexKind::Semaphore);
        profile.futexes = vec![FutexProfile { process, kind, holders, function: "report (app.py:5)".into(), ..futex }];
        profile.clients = Some(clients(1.71, 0.0));
        profile
    };
    assert_eq!(causes(&profile(9, 7.88)), [WaitCause::Lock]);
    assert!(causes(&profile(3, 7.88)).is_empty(), "three workers beside eight threads that read");
    assert!(causes(&profile(9, 1.0)).is_empty(), "nine workers beside one thread that reads");
}

/// This test repeats a situation that was observed with asyncio: requests wait in the event loop while the threads of a
/// pool are idle.
#[test]
fn idle_threads_of_an_executor_wait_for_no_lock() {
    let told = |function: &str, epoll| {
        let mut profile = locked(FutexKind::Semaphore);
        profile.processes[0].epoll = epoll;
        profile.futexes[0].function = function.into();
        causes(&profile)
    };
    assert!(told("_worker (thread.py:81)", true).is_empty() && told("worker (pool.py:114)", true).is_empty());
    assert_eq!(told("handle (app.py:9)", true), [WaitCause::Lock], "threads of gunicorn");
    assert!(told("", true).is_empty(), "a futex without a name beside an event loop");
    assert_eq!(told("", false), [WaitCause::Lock], "without an event loop, threads hold the requests");
}

#[test]
fn a_pool_of_any_load_is_never_a_lock() {
    // The test covers pools of 2 to 64 workers, at every load. `busy` workers handle one request each, and all other
    // workers wait for work.
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
    // In the first case, threads often wait for the futex although no thread that uses the futex is active. In the
    // second case, hardly any thread that uses the futex is active.
    for (unheld, active) in [(0.4, 1.0), (0.0, 0.2)] {
        let mut profile = locked(FutexKind::Semaphore);
        (profile.futexes[0].unheld, profile.futexes[0].active) = (unheld, active);
        assert!(!causes(&profile).contains(&WaitCause::Lock));
    }
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

/// This test repeats a situation that was observed with a server behind nginx. In a second of overload, the queue grew,
/// and both counts of requests at the server were below the count of waiting threads. When an experiment sampled the
/// threads again, the counts of requests and waiting threads agreed.
#[test]
fn a_trial_with_more_rounds_shows_a_lock_that_a_growing_queue_hides() {
    let trial = |rounds, concurrency, in_progress| {
        let profile = WaitProfile { rounds, clients: Some(clients(in_progress, 0.0)), ..locked(FutexKind::Semaphore) };
        let server = Some(run::Side { waits: Some(Box::new(profile)), ..run::Side::default() });
        let mut trial = run::Trial { server, ..run::Trial::default() };
        trial.rates.concurrency = concurrency;
        trial
    };
    let causes = |trials| super::of_run(&run::Run { trials, ..run::Run::default() }, |_| false).len();
    let (growing, steady) = (trial(6, 20.0, 10.0), trial(46, 3.0, 15.7));
    assert_eq!(causes(vec![growing.clone()]), 0);
    assert_eq!(causes(vec![growing.clone(), steady.clone()]), 1);
    let few = trial(5, 3.0, 15.7);
    assert_eq!(causes(vec![growing.clone(), few.clone()]), 0, "fewer rounds");
    let trials = vec![growing, few];
    let found = super::of_run(&run::Run { trials, ..run::Run::default() }, |trial| trial.rates.concurrency > 10.0);
    assert_eq!(found.len(), 1, "a trial that does not count does not exclude others");
}
