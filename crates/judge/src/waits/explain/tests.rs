//! Tests of the text and the advice that causes of waiting add to a verdict.

use run::WaitCause::{ConnectionPool, Disk, Lock, RowLock, SerialCpu, Sleep, WorkerPool};
use run::{Counted, CountedKind, SessionState, UpstreamLimit, WaitsFor};

use super::super::advice::ROW_LOCK_ADVICE;
use super::WordOrder::{WaitsFirst, WaitsLast};
use super::*;
use crate::in_flight::places;

fn explain(verdict: &mut Bottleneck, findings: &[WaitFinding], hot: Option<&HotFunction>) {
    super::explain(verdict, findings, &Known { hot, ..Known::default() }, WaitsFirst);
}

fn verdict(id: &str) -> Bottleneck {
    Bottleneck { id: id.into(), sentence: "it is full".into(), confidence: 0.8, ..Bottleneck::default() }
}

fn lock(holder: Option<ThreadState>) -> WaitFinding {
    let sentence = "14.4 of 17 threads wait for one lock".into();
    WaitFinding { process: "app".into(), threads: 14.4, of: 17.0, holder, sentence, ..WaitFinding::default() }
}

#[test]
fn a_cause_that_agrees_comes_first_and_changes_neither_bottleneck_nor_confidence() {
    let mut found = verdict("server-concurrency");
    explain(&mut found, &[lock(Some(ThreadState::Sleep))], None);
    assert_eq!(found.sentence, "14.4 of 17 threads wait for one lock; it is full");
    assert_eq!((found.id.as_str(), found.confidence, found.evidence.len()), ("server-concurrency", 0.8, 1));
    assert_eq!(found.advice, ["Let app release this lock before it waits."]);
}

#[test]
fn a_verdict_without_a_cause_begins_with_the_wait_and_stays_without_a_cause() {
    for (order, sentence) in [
        (WaitsFirst, "14.4 of 17 threads wait for one lock; this need not be the limit: it is full"),
        (WaitsLast, "it is full; 14.4 of 17 threads wait for one lock"),
    ] {
        let mut found = Bottleneck { confidence: 0.0, ..verdict(UNKNOWN) };
        super::explain(&mut found, &[lock(None)], &Known::default(), order);
        assert_eq!((found.sentence.as_str(), found.id.as_str(), found.confidence), (sentence, UNKNOWN, 0.0));
    }
    for (holder, is_told) in [(Some(ThreadState::Sleep), true), (None, false)] {
        let mut found = verdict(UNKNOWN);
        explain(&mut found, &[WaitFinding { cause: Sleep, ..lock(holder) }], None);
        assert_eq!(found.evidence.len() == 1, is_told, "the only worker sleeps, or any threads");
    }
}

#[test]
fn blocked_workers_explain_connections_that_nobody_accepts() {
    for (cause, holder, is_told) in [
        (WorkerPool, None, true),
        (Lock, Some(ThreadState::Sleep), true),
        (Sleep, Some(ThreadState::Sleep), true),
        (Sleep, None, false),
        (Disk, None, false),
    ] {
        let mut found = verdict("accept-queue");
        explain(&mut found, &[WaitFinding { cause, ..lock(holder) }], None);
        assert_eq!(found.sentence.starts_with("14.4 of 17"), is_told, "{cause:?} {holder:?}");
    }
}

/// This test repeats a situation that was observed with PostgreSQL, whose transactions all update one row.
#[test]
fn a_row_lock_may_be_why_requests_take_turns() {
    let mut found = Bottleneck { serial: true, ..verdict("server-concurrency") };
    explain(&mut found, &[WaitFinding { cause: RowLock, ..lock(None) }], None);
    assert_eq!((found.evidence.len(), found.advice[0].as_str()), (1, ROW_LOCK_ADVICE));
}

/// The number of threads equals the number of requests at a time, because one thread holds the lock.
#[test]
fn more_threads_are_no_advice_if_requests_wait_for_a_lock() {
    for (cause, is_advised) in [(Lock, false), (RowLock, false), (WorkerPool, true)] {
        let threads = Counted { what: CountedKind::Threads, of: "app".into(), count: 1.0, ..Counted::default() };
        let advice = places::advice(&threads);
        let mut found =
            Bottleneck { counted: vec![threads], advice: vec![advice.clone()], ..verdict("server-concurrency") };
        explain(&mut found, &[WaitFinding { cause, ..lock(None) }], None);
        assert_eq!(found.advice.contains(&advice), is_advised, "{cause:?}: {:?}", found.advice);
    }
}

/// The figures come from HAProxy with `maxconn 20` in its frontend, which uses one upstream connection for each of 20
/// client connections.
#[test]
fn a_limit_on_connections_of_clients_is_no_limit_on_connections_to_an_upstream() {
    let pool = WaitFinding { cause: ConnectionPool, peer: "10.0.0.2:80".into(), of: 20.0, ..lock(None) };
    let advice = |held: Option<f64>| {
        let mut found = verdict("server-concurrency");
        let known = Known { places: Some(20.0), held, ..Known::default() };
        super::explain(&mut found, std::slice::from_ref(&pool), &known, WaitsFirst);
        found.advice.remove(0)
    };
    assert!(
        advice(Some(20.0)).contains("hold more connections of clients at a time (now 20"),
        "{}",
        advice(Some(20.0))
    );
    assert!(advice(None).contains("Raise the number of connections of app to 10.0.0.2:80"), "{}", advice(None));
}

#[test]
fn a_cause_that_does_not_agree_changes_nothing() {
    let hot = HotFunction { process: "app".into(), function: "deflate".into(), share: 0.62, inclusive: None };
    for id in ["network-loss", "client-cpu", "not-saturated"] {
        let mut found = verdict(id);
        explain(&mut found, &[lock(None)], Some(&hot));
        assert_eq!(found, verdict(id));
    }
    let behind = Bottleneck { waits_for: Some(run::WaitsFor::default()), ..verdict("server-concurrency") };
    let turns = Bottleneck { serial: true, ..verdict("server-concurrency") };
    for before in [behind, turns] {
        let mut found = before.clone();
        explain(&mut found, &[lock(Some(ThreadState::Sleep))], None);
        assert_eq!(found, before);
    }
}

#[test]
fn a_lock_explains_a_busy_disk_unless_its_holder_does_something_else() {
    use ThreadState::{Disk, OnCpu, Sleep};
    for (holder, agrees) in [(None, true), (Some(Disk), true), (Some(OnCpu), true), (Some(Sleep), false)] {
        let mut found = verdict("server-disk");
        explain(&mut found, &[lock(holder)], None);
        assert_eq!(found.sentence.starts_with("14.4 of 17 threads"), agrees, "{holder:?}");
        assert!(!found.sentence.contains("holder computes"), "{}", found.sentence);
    }
}

#[test]
fn a_lock_inside_a_full_upstream_comes_before_the_wait_of_the_proxy() {
    let pool = WaitFinding { cause: ConnectionPool, process: "nginx:3".into(), sentence: "pool".into(), ..lock(None) };
    let told = |process: &str, limit, holder| {
        let upstream = WaitsFor { processes: vec!["app:7".into()], limit: Some(limit), ..WaitsFor::default() };
        let mut found = Bottleneck { waits_for: Some(upstream), ..verdict("server-concurrency") };
        let inside = WaitFinding { process: process.into(), ..lock(holder) };
        explain(&mut found, &[pool.clone(), inside], None);
        found.sentence.starts_with("14.4 of 17 threads wait for one lock")
    };
    let [cpu, disk, sleep] = [ThreadState::OnCpu, ThreadState::Disk, ThreadState::Sleep];
    assert!(told("app:7", UpstreamLimit::Lock, Some(cpu)) && told("app", UpstreamLimit::Thread, None));
    assert!(told("app:7", UpstreamLimit::Disk, Some(disk)));
    assert!(!told("other:9", UpstreamLimit::Lock, Some(cpu)), "a lock of another process");
    assert!(!told("app:7", UpstreamLimit::Cpu, Some(sleep)), "a sleeping holder leaves the CPU idle");
    assert!(!told("app:7", UpstreamLimit::Disk, Some(cpu)), "a computing holder leaves the disk idle");
}

/// The sentence of an earlier version of loadline began with the pool of connections. On a terminal with 80 columns,
/// the sentence was shortened to its first clause, and the full thread of Redis behind the pool was lost.
#[test]
fn a_full_upstream_comes_before_the_connections_that_wait_for_it() {
    let behind = || Bottleneck { waits_for: Some(run::WaitsFor::default()), ..verdict("server-concurrency") };
    for cause in [ConnectionPool, WaitCause::Peer] {
        let mut found = behind();
        explain(&mut found, &[WaitFinding { cause, ..lock(None) }], None);
        assert_eq!(found.sentence, "it is full; 14.4 of 17 threads wait for one lock", "{cause:?}");
    }
    let mut found = behind();
    let command = WaitFinding { cause: ConnectionPool, session: Some(SessionState::Running), ..lock(None) };
    explain(&mut found, &[command], None);
    assert!(found.sentence.ends_with("; it is full"), "a cause inside the upstream: {}", found.sentence);
}

#[test]
fn a_cause_inside_a_database_explains_a_wait_for_it() {
    let row = WaitFinding { cause: RowLock, session: Some(SessionState::RowLock), ..lock(Some(ThreadState::Sleep)) };
    let mut behind = Bottleneck { waits_for: Some(run::WaitsFor::default()), ..verdict("server-concurrency") };
    explain(&mut behind, &[row], None);
    assert_eq!((behind.evidence.len(), behind.advice.as_slice()), (1, [ROW_LOCK_ADVICE.to_string()].as_slice()));
    let command = WaitFinding { cause: SerialCpu, session: Some(SessionState::Running), ..lock(None) };
    for (id, is_told) in
        [("server-single-thread", true), ("server-cpu", true), ("server-concurrency", false), (UNKNOWN, true)]
    {
        let mut found = verdict(id);
        explain(&mut found, std::slice::from_ref(&command), None);
        assert_eq!(found.evidence.len() == 1, is_told, "{id}");
    }
}

#[test]
fn a_used_up_pool_gives_one_piece_of_advice() {
    let count = |what: CountedKind, of: &str| Counted { what, count: 3.0, of: of.into(), peer: String::new() };
    let counted = vec![
        count(CountedKind::Connections, "node"),
        count(CountedKind::Children, "postgres"),
        count(CountedKind::Threads, "node"),
    ];
    let advice = counted.iter().map(places::advice).collect();
    let mut found = Bottleneck { counted, advice, ..verdict("server-concurrency") };
    let pool = WaitFinding { cause: ConnectionPool, name: "postgres".into(), queued: Some(13.0), ..lock(None) };
    let pool = WaitFinding { peer: "10.0.0.2:5432".into(), ..pool };
    explain(&mut found, &[pool], None);
    assert_eq!(found.advice.len(), 2, "{:?}", found.advice);
    assert!(found.advice[0].starts_with("Raise the number of connections of app"), "{:?}", found.advice);
    assert!(found.advice[1].contains("threads of node"), "{:?}", found.advice);
}

/// In this observed case, all 32 threads of a server have a request, but only one of them works at a time.
#[test]
fn more_workers_are_not_advised_if_most_of_them_wait() {
    let pool = WaitFinding { cause: WorkerPool, holder: None, threads: 32.0, of: 37.0, ..lock(None) };
    let of = |pool: &WaitFinding, places: f64| {
        let pool = pool.clone();
        let mut found = verdict("server-concurrency");
        super::explain(&mut found, &[pool], &Known { places: Some(places), ..Known::default() }, WaitsFirst);
        found.advice.remove(0)
    };
    let advice = |places: f64| of(&pool, places);
    assert!(advice(1.0).starts_with("Look for a lock that the workers of app share"), "{}", advice(1.0));
    assert!(advice(31.0).starts_with("Raise the number of workers"), "{}", advice(31.0));
    let semaphore = WaitFinding { function: "main.score".into(), ..pool.clone() };
    assert!(of(&semaphore, 4.0).starts_with("Raise the number of workers"), "32 wait for one of 4 slots");
}

/// This test repeats a situation that was observed with 16 threads of Java: 15 threads wait for one ReentrantLock.
#[test]
fn more_threads_are_not_advised_if_nothing_shows_what_they_wait_for() {
    let pool = WaitFinding { cause: WorkerPool, name: "exec-#".into(), threads: 16.0, of: 20.0, ..lock(None) };
    let told = |pool: &WaitFinding, places| {
        let mut found = verdict("server-concurrency");
        super::explain(&mut found, std::slice::from_ref(pool), &Known { places, ..Known::default() }, WaitsFirst);
        found.advice.remove(0)
    };
    let unknown = told(&pool, None);
    assert!(unknown.starts_with("Find out what the threads exec-# of app wait for"), "{unknown}");
    assert!(told(&pool, Some(16.0)).starts_with("Raise the number of workers"), "all of them work");
    let asleep = WaitFinding { name: String::new(), holder: Some(ThreadState::Sleep), ..pool };
    assert!(told(&asleep, None).starts_with("Raise the number of workers"), "they were seen to sleep");
}

#[test]
fn a_full_cpu_names_the_function() {
    let own = HotFunction { process: "nginx".into(), function: "deflate".into(), share: 0.62, inclusive: None };
    let inclusive = HotFunction { share: 0.01, inclusive: Some(0.71), ..own.clone() };
    for (hot, words) in [
        (own, "62 % of its user CPU time is in deflate"),
        (inclusive, "71 % of its user CPU time is in deflate and what it calls"),
    ] {
        for id in ["server-cpu", "server-single-thread"] {
            let mut found = verdict(id);
            explain(&mut found, &[lock(Some(ThreadState::Sleep))], Some(&hot));
            assert_eq!(found.sentence, format!("it is full; {words}"));
            assert_eq!(found.evidence[0].value, Some(hot.inclusive.unwrap_or(hot.share)));
        }
    }
}
