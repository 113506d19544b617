//! Adds causes from inside the processes to the text of a verdict. Causes of waiting never change which bottleneck the
//! verdict names.

use run::WaitCause::{BlockingCall, ConnectionPool, Disk, Lock, Peer, RowLock, SerialCpu, Sleep, WorkerPool};
use run::{
    Bottleneck, Counted, Evidence, HotFunction, SessionState, ThreadState, UpstreamLimit, WaitCause, WaitFinding,
    WaitsFor,
};

use super::advice::{advice, is_unseen, more_workers};
use super::collectors::is_collection;
use super::only_worker::is_only_worker;
use super::pools::{is_of_processes, waits_for_slot};
use super::runtime_cpus;
use super::sentence::sentence;
use crate::context::view::{names, program};
use crate::in_flight::places;
use crate::number::{figure, percent};
use crate::thresholds::{MANY_PLACES, WAIT_QUEUE};

/// ID of the verdict that names no bottleneck.
pub(super) const UNKNOWN: &str = "unknown";

/// The ID of a verdict (the named bottleneck), and the causes of waiting threads that may be the reason for this
/// bottleneck.
struct Agreement {
    bottleneck: &'static str,
    causes: &'static [WaitCause],
    /// True if a function that uses much CPU time may explain the verdict, too.
    by_function: bool,
}

/// All verdicts that causes inside the processes may explain.
const AGREEMENTS: &[Agreement] = &[
    Agreement {
        bottleneck: "server-concurrency",
        causes: &[Lock, WorkerPool, ConnectionPool, BlockingCall, RowLock, Disk, Sleep, Peer, SerialCpu],
        by_function: false,
    },
    Agreement { bottleneck: "server-single-thread", causes: &[Lock], by_function: true },
    Agreement { bottleneck: "server-cpu", causes: &[], by_function: true },
    Agreement { bottleneck: "server-cpu-quota", causes: &[], by_function: true },
    // While all its workers are blocked, a server accepts no connections.
    Agreement {
        bottleneck: "accept-queue",
        causes: &[Lock, WorkerPool, ConnectionPool, BlockingCall, RowLock, Sleep, Peer, SerialCpu],
        by_function: false,
    },
    Agreement {
        bottleneck: UNKNOWN,
        causes: &[Lock, WorkerPool, ConnectionPool, BlockingCall, RowLock, Disk, SerialCpu],
        by_function: false,
    },
    // If the holder of a lock waits for the disk, threads that wait for the lock wait for the disk, too.
    Agreement { bottleneck: "server-disk", causes: &[Disk, Lock], by_function: false },
];

/// Causes of waiting that may explain a wait for a full upstream service.
const OF_UPSTREAM: &[WaitCause] = &[ConnectionPool, Peer, RowLock];
/// Causes that may explain why requests use the CPU one at a time.
const OF_TURNS: &[WaitCause] = &[Lock, RowLock, SerialCpu, BlockingCall];

/// Returns true if a cause of waiting may explain a verdict.
fn agrees(agreement: &Agreement, verdict: &Bottleneck, finding: &WaitFinding) -> bool {
    let cause = &finding.cause;
    let holder_computes = finding.holder.is_none_or(ThreadState::wants_cpu);
    match () {
        // A command that a database executes nearly all the time explains CPU use.
        () if finding.session == Some(SessionState::Running) => {
            agreement.by_function || verdict.waits_for.is_some() || verdict.id == UNKNOWN
        }
        () if verdict.waits_for.is_some() => OF_UPSTREAM.contains(cause) || finding.session.is_some(),
        () if verdict.serial => OF_TURNS.contains(cause) && holder_computes,
        () if verdict.id == "server-single-thread" && (runtime_cpus::is_limit(finding) || is_collection(finding)) => {
            true
        }
        () if verdict.id == "server-single-thread" => agreement.causes.contains(cause) && holder_computes,
        () if verdict.id == "server-disk" && *cause == Lock => {
            finding.holder.is_none_or(|state| state == ThreadState::Disk || state.wants_cpu())
        }
        // Threads that sleep or wait for a peer explain `unknown` and `accept-queue` only if the server has a single
        // worker, for which all requests wait.
        () if matches!(verdict.id.as_str(), UNKNOWN | "accept-queue") && matches!(cause, Sleep | Peer) => {
            is_only_worker(finding)
        }
        () => agreement.causes.contains(cause),
    }
}

/// Returns true for a lock inside a full upstream service, if the lock's holder uses the resource that is full.
fn is_lock_inside(upstream: &WaitsFor, finding: &WaitFinding) -> bool {
    // Several processes with one name have one finding, which names no process ID.
    let is_own = |process: &String| names(&finding.process, process);
    let fits = |state: ThreadState| match upstream.limit {
        Some(UpstreamLimit::Disk) => state == ThreadState::Disk,
        _ => state.wants_cpu(),
    };
    finding.cause == Lock && finding.holder.is_none_or(fits) && upstream.processes.iter().any(is_own)
}

/// Facts about the server, other than causes of waiting, that an explanation uses.
pub(crate) struct Known<'a> {
    /// Function that explains the CPU time.
    pub(crate) hot: Option<&'a HotFunction>,
    /// Number of requests that the server handles at a time.
    pub(crate) places: Option<f64>,
    /// Advice on the full CPUs of the server's machine; `None` if CPUs have idle time.
    pub(crate) full_cpus: Option<String>,
    /// Number of clients' connections that the server holds while others wait to be accepted; `None` if none wait.
    pub(crate) held: Option<f64>,
}

/// Finds the cause that explains a verdict, and adds it to the verdict's sentence, evidence and advice. `order` is the
/// position of the cause in the sentence.
pub(crate) fn explain(verdict: &mut Bottleneck, findings: &[WaitFinding], known: &Known<'_>, order: WordOrder) {
    let Some(agreement) = AGREEMENTS.iter().find(|row| row.bottleneck == verdict.id) else { return };
    let upstream = verdict.waits_for.as_ref();
    let behind = upstream.and_then(|upstream| findings.iter().find(|finding| is_lock_inside(upstream, finding)));
    if let Some(finding) = behind.or_else(|| findings.iter().find(|finding| agrees(agreement, verdict, finding))) {
        let finding = &fitting(verdict, finding);
        tell(verdict, &finding.sentence, order);
        let line = evidence(finding);
        if !verdict.evidence.contains(&line) {
            verdict.evidence.push(line);
        }
        let counted: Vec<String> =
            verdict.counted.iter().filter(|counted| follows(counted, finding)).map(places::advice).collect();
        verdict.advice.retain(|advice| !counted.contains(advice));
        let needs_members = matches!(finding.cause, WorkerPool | ConnectionPool);
        let is_too_large = known.places.is_some_and(|places| has_too_many(finding, places));
        if is_too_large {
            // The advice of the rule asks for more workers.
            verdict.advice.clear();
        }
        let first = match known.places {
            // On full CPUs, more workers or connections do not help.
            _ if needs_members && known.full_cpus.is_some() => known.full_cpus.clone().unwrap_or_default(),
            _ if is_too_large => look_for_a_lock(finding),
            _ if is_of_held_connections(finding, known) => hold_more(finding),
            Some(_) if is_unseen(finding) => more_workers(finding),
            _ => advice(finding),
        };
        verdict.advice.retain(|advice| *advice != first);
        verdict.advice.insert(0, first);
        return;
    }
    if let Some(hot) = known.hot.filter(|_| agreement.by_function || verdict.serial) {
        let share = hot.inclusive.unwrap_or(hot.share);
        let called = if hot.inclusive.is_some() { " and what it calls" } else { "" };
        let words = format!("{} of its user CPU time is in {}{called}", percent(share), hot.function);
        verdict.sentence = joined(&verdict.sentence, &words);
        verdict.evidence.push(line(&words, &hot.process, share));
        verdict.advice.insert(0, format!("Make {} of {} cheaper, or call it less often.", hot.function, hot.process));
    }
}

/// Returns true for a pool of workers that has many more members than requests that the server handles at a time,
/// `places`. The members have a request, but most of them wait for something inside the server.
fn has_too_many(pool: &WaitFinding, places: f64) -> bool {
    let members = if is_of_processes(pool) { pool.of } else { pool.threads };
    pool.cause == WorkerPool && !waits_for_slot(pool) && members >= MANY_PLACES * places
}

/// Returns the advice on a pool with too many members.
fn look_for_a_lock(pool: &WaitFinding) -> String {
    format!(
        "Look for a lock that the workers of {} share, or for a row or an upstream for which they wait. More workers will not \
         help, because most of them wait.",
        pool.process
    )
}

/// Returns true if the server uses one connection to an upstream for each connection of a client, and the server's limit
/// is on the clients' connections. The pool then seems used up, although its size is no limit.
fn is_of_held_connections(pool: &WaitFinding, known: &Known<'_>) -> bool {
    let is_equal = |held: f64| (held - pool.of).abs() <= WAIT_QUEUE;
    pool.cause == ConnectionPool && known.held.is_some_and(is_equal)
}

/// Returns the advice on a server that holds too few connections of clients at a time.
fn hold_more(pool: &WaitFinding) -> String {
    format!(
        "Let {} hold more connections of clients at a time (now {}; in HAProxy: `maxconn` of the frontend): further clients \
         wait to be accepted. Its connections to the upstream are only as many as those of its clients.",
        pool.process,
        figure(pool.of)
    )
}

/// Returns a finding in the words that fit a verdict. If the verdict names the disk, but the lock's holder seems to
/// compute, removes the holder's activity.
///
/// The activity is removed because a thread that flushes a file under a lock is often sampled on the CPU, just before
/// or after the flush.
fn fitting(verdict: &Bottleneck, finding: &WaitFinding) -> WaitFinding {
    let mut told = finding.clone();
    if verdict.id == "server-disk" && told.holder.is_some_and(ThreadState::wants_cpu) {
        told.holder = None;
        told.sentence = sentence(&told);
    }
    told
}

/// Returns true if a count is only a result of the cause `finding`, so that a larger count would not help. A lock lets one
/// thread work at a time, however many threads there are. A pool of connections limits the counts of connections, and
/// the counts of the peer's processes, such as a database's backends.
fn follows(counted: &Counted, finding: &WaitFinding) -> bool {
    match finding.cause {
        Lock | RowLock => true,
        ConnectionPool => {
            places::is_connections(counted) || !finding.name.is_empty() && counted.of == program(&finding.name)
        }
        _ => false,
    }
}

/// Order of the words in a verdict's sentence: the wait of the requests comes first or last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WordOrder {
    WaitsFirst,
    WaitsLast,
}

/// Adds words about waits to the sentence of a verdict. If the verdict names no bottleneck, the sentence says that the
/// wait need not be the limit.
pub(super) fn tell(verdict: &mut Bottleneck, words: &str, order: WordOrder) {
    let sentence = &verdict.sentence;
    verdict.sentence = match order {
        WordOrder::WaitsLast => joined(sentence, words),
        WordOrder::WaitsFirst if verdict.id == UNKNOWN && !sentence.is_empty() => {
            joined(words, &format!("this need not be the limit: {sentence}"))
        }
        WordOrder::WaitsFirst => joined(words, sentence),
    };
}

fn joined(first: &str, second: &str) -> String {
    if second.is_empty() { first.into() } else { format!("{first}; {second}") }
}

/// Text in [`Evidence::counter`] for evidence from sampled threads. For all other evidence, [`Evidence::counter`] is
/// the name of a counter.
pub(crate) const EVIDENCE: &str = "waits";

/// Returns the line of evidence for a cause.
pub(crate) fn evidence(finding: &WaitFinding) -> Evidence {
    Evidence { counter: EVIDENCE.into(), ..line(&finding.sentence, &finding.process, finding.threads) }
}

/// Returns a line of evidence from sampled threads.
pub(super) fn line(text: &str, process: &str, value: f64) -> Evidence {
    Evidence {
        text: format!("sampled threads: {text}"),
        value: Some(value),
        place: format!("server {process}"),
        ..Evidence::default()
    }
}

#[cfg(test)]
mod tests {
    use run::CountedKind;

    use super::super::advice::ROW_LOCK_ADVICE;
    use super::WordOrder::{WaitsFirst, WaitsLast};
    use super::*;

    fn explain(verdict: &mut Bottleneck, findings: &[WaitFinding], hot: Option<&HotFunction>) {
        super::explain(verdict, findings, &Known { hot, places: None, full_cpus: None, held: None }, WaitsFirst);
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
            super::explain(
                &mut found,
                &[lock(None)],
                &Known { hot: None, places: None, full_cpus: None, held: None },
                order,
            );
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

    /// The count equals the number of requests at a time, because one thread holds the lock.
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

    /// The figures come from HAProxy with `maxconn 20` in its frontend, and one connection to an upstream for each of
    /// these 20 connections.
    #[test]
    fn a_limit_on_connections_of_clients_is_no_limit_on_connections_to_an_upstream() {
        let pool = WaitFinding { cause: ConnectionPool, peer: "10.0.0.2:80".into(), of: 20.0, ..lock(None) };
        let advice = |held: Option<f64>| {
            let mut found = verdict("server-concurrency");
            let known = Known { hot: None, places: Some(20.0), full_cpus: None, held };
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
        let pool =
            WaitFinding { cause: ConnectionPool, process: "nginx:3".into(), sentence: "pool".into(), ..lock(None) };
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

    #[test]
    fn a_cause_inside_a_database_explains_a_wait_for_it() {
        let row =
            WaitFinding { cause: RowLock, session: Some(SessionState::RowLock), ..lock(Some(ThreadState::Sleep)) };
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

    /// This test repeats a situation that was observed with a server whose 32 threads all have a request, but work one
    /// at a time.
    #[test]
    fn more_workers_are_not_advised_if_most_of_them_wait() {
        let pool = WaitFinding { cause: WorkerPool, holder: None, threads: 32.0, of: 37.0, ..lock(None) };
        let of = |pool: &WaitFinding, places: f64| {
            let pool = pool.clone();
            let mut found = verdict("server-concurrency");
            super::explain(
                &mut found,
                &[pool],
                &Known { hot: None, places: Some(places), full_cpus: None, held: None },
                WaitsFirst,
            );
            found.advice.remove(0)
        };
        let advice = |places: f64| of(&pool, places);
        assert!(advice(1.0).starts_with("Look for a lock that the workers of app share"), "{}", advice(1.0));
        assert!(advice(31.0).starts_with("Raise the number of workers"), "{}", advice(31.0));
        let semaphore = WaitFinding { function: "main.score".into(), ..pool.clone() };
        assert!(of(&semaphore, 4.0).starts_with("Raise the number of workers"), "32 wait for one of 4 slots");
    }

    /// This test repeats a situation that was observed with 16 threads of Java, of which 15 wait for one ReentrantLock.
    #[test]
    fn more_threads_are_not_advised_if_nothing_shows_what_they_wait_for() {
        let pool = WaitFinding { cause: WorkerPool, name: "exec-#".into(), threads: 16.0, of: 20.0, ..lock(None) };
        let told = |pool: &WaitFinding, places| {
            let mut found = verdict("server-concurrency");
            super::explain(
                &mut found,
                std::slice::from_ref(pool),
                &Known { hot: None, places, full_cpus: None, held: None },
                WaitsFirst,
            );
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
}
