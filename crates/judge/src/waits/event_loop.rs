//! Requests that stay inside a server while its event loop, or its pool of threads, is idle. Such requests wait in a
//! queue of the program or for a timer, which no counter of the kernel shows.

use run::{Bottleneck, Run, ThreadState, WaitFinding, WaitProcess, WaitProfile};

use super::explain::line;
use super::loops::{is_event_loop, without_shared_connections, works_in_loop};
use super::members::MIN_MEMBERS;
use super::requests::Requests;
use super::sentence::mean_count;
use crate::thresholds::{WAIT_FEW, WAIT_MOSTLY};

/// Adds the requests that wait inside an idle event loop to the evidence and the advice of a verdict. Changes only the
/// verdict `server-concurrency`, and only if no other cause is known.
pub(crate) fn explain_idle_loop(verdict: &mut Bottleneck, findings: &[WaitFinding], run: &Run) {
    if verdict.id != "server-concurrency" || verdict.serial || verdict.waits_for.is_some() || !findings.is_empty() {
        return;
    }
    let Some(at) = run.sampled_trial() else { return };
    let Some(profile) = run.trials.get(at).and_then(|trial| trial.server.as_ref()?.waits.as_deref()) else { return };
    let profile = &*without_shared_connections(profile, run, &run.trials[at]);
    let Some((idle, requests)) = idle_with_requests(profile) else { return };
    let (process, is_loop) = (&idle.process, works_in_loop(profile, idle));
    let is_idle = if is_loop { "its event loop is idle" } else { "its threads are idle or wait for one another" };
    let waiting = threads_waiting(profile, process);
    let objects = if waiting >= requests || !is_loop { LOCK_OR_OTHERS } else { OTHERS };
    let text = format!(
        "{} {} inside {process} while {is_idle} and no other server owes a reply; {objects} of the program may hold them",
        mean_count(requests, "request"),
        if requests == 1.0 { "is" } else { "are" }
    );
    verdict.evidence.push(line(&text, process, requests));
    let advice = format!("Look for {objects} in {process}: it holds requests while {is_idle}.");
    verdict.advice.insert(0, advice);
}

/// Text for objects that may delay the requests, if fewer threads wait than there are requests.
const OTHERS: &str = "a semaphore, a queue or a timer";
/// Text for objects that may delay the requests, if at least as many threads wait as there are requests. With fewer
/// waiting threads, a lock cannot delay all requests.
const LOCK_OR_OTHERS: &str = "a lock, a semaphore, a queue or a timer";

/// Returns the mean number of threads of `process` that wait for another thread. Idle threads of a pool also wait for
/// another thread. In Java, idle threads and threads that wait for a lock look the same from outside the process.
fn threads_waiting(profile: &WaitProfile, process: &str) -> f64 {
    let waits = |group: &&run::WaitGroup| group.process == process && group.state == ThreadState::Futex;
    profile.groups.iter().filter(waits).map(|group| group.threads).sum()
}

/// Returns the process with an idle event loop, and the number of requests inside this process.
///
/// Returns `None` if threads work, if a connection to another server awaits a reply or may await one, or if something
/// could not be read.
fn idle_with_requests(profile: &WaitProfile) -> Option<(&WaitProcess, f64)> {
    let (requests, _) = Requests::of(profile).in_progress()?;
    let threads = |is_counted: &dyn Fn(&run::WaitGroup) -> bool| -> f64 {
        profile.groups.iter().filter(|group| is_counted(group)).map(|group| group.threads).sum()
    };
    let in_loop = |process: &&WaitProcess| {
        let idle = threads(&|group| group.process == process.process && group.state == ThreadState::Events);
        is_event_loop(process) && !process.behind && idle >= WAIT_MOSTLY * process.processes.max(1.0)
    };
    let process = profile.processes.iter().find(in_loop)?;
    // For Unix sockets, it is unknown how many connections are busy.
    let owes = profile.peers.iter().any(|peer| peer.busy.is_nan() || peer.busy > WAIT_FEW);
    let works = threads(&|group| group.state.is_active()) >= WAIT_MOSTLY;
    let is_unknown = !profile.missing.is_empty() || !profile.tasks.is_empty();
    (requests >= MIN_MEMBERS && !owes && !works && !is_unknown).then_some((process, requests))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{clients, peer, process};
    use super::*;

    /// Returns a made-up profile of an event loop that computes for a fifth of the time.
    fn idle() -> WaitProfile {
        let mut profile = process(1.0, &[(ThreadState::Events, "", 0.78), (ThreadState::OnCpu, "", 0.22)]);
        profile.processes[0].epoll = true;
        profile.clients = Some(clients(51.0, 0.0));
        profile
    }

    #[test]
    fn an_idle_event_loop_with_requests_holds_them_itself() {
        let found = |profile: &WaitProfile| idle_with_requests(profile).map(|(of, n)| (of.process.clone(), n));
        assert_eq!(found(&idle()), Some(("app:7".into(), 51.0)));
        let not = |why: &str, change: fn(&mut WaitProfile)| {
            let mut profile = idle();
            change(&mut profile);
            assert_eq!(found(&profile), None, "{why}");
        };
        not("one request", |p| p.clients = Some(clients(1.0, 0.0)));
        not("requests that were not read", |p| p.clients = Some(clients(0.0, 51.0)));
        not("unknown requests", |p| p.clients = None);
        not("no event loop", |p| p.processes[0].epoll = false);
        not("the parent of a database's processes", |p| p.processes[0].multiplexing = Some(0.0));
        not("a busy loop", |p| (p.groups[0].threads, p.groups[1].threads) = (0.22, 0.78));
        not("a sleeping worker", |p| {
            p.groups.push(run::WaitGroup { state: ThreadState::Sleep, threads: 1.0, ..p.groups[0].clone() })
        });
        not("a reply that another server owes", |p| p.peers = vec![peer("app:7", 4.0, 4.0)]);
        not("a unix socket", |p| p.peers = vec![peer("app:7", 4.0, f64::NAN)]);
        not("threads that could not be read", |p| p.missing = vec!["run as root".into()]);
    }

    /// This test imitates a Java server whose threads wait for a `ReentrantLock`. Advice that mentioned only a
    /// semaphore, a queue or a timer would hide the lock.
    #[test]
    fn a_lock_may_hold_requests_if_as_many_threads_wait() {
        let advice = |waiting: f64| {
            let mut profile = idle();
            profile.groups.push(run::WaitGroup {
                state: ThreadState::Futex,
                threads: waiting,
                ..profile.groups[0].clone()
            });
            let server = Some(run::Side { waits: Some(Box::new(profile)), ..run::Side::default() });
            let run = Run { trials: vec![run::Trial { server, ..run::Trial::default() }], ..Run::default() };
            let mut verdict = Bottleneck { id: "server-concurrency".into(), ..Bottleneck::default() };
            explain_idle_loop(&mut verdict, &[], &run);
            verdict.advice.remove(0)
        };
        assert!(advice(60.0).contains("a lock, a semaphore"), "{}", advice(60.0));
        assert!(!advice(4.0).contains("a lock"), "{}", advice(4.0));
    }

    /// This test imitates a Java server whose dispatcher waits for events, while the threads of a pool hold the
    /// requests.
    #[test]
    fn a_pool_of_threads_is_not_called_an_event_loop() {
        let mut profile = idle();
        profile.groups[0].thread = "HTTP-Dispatcher".into();
        profile.groups[1].thread = "pool-#-thread-#".into();
        profile.groups[1].threads = 0.4;
        let server = Some(run::Side { waits: Some(Box::new(profile)), ..run::Side::default() });
        let run = Run { trials: vec![run::Trial { server, ..run::Trial::default() }], ..Run::default() };
        let mut verdict = Bottleneck { id: "server-concurrency".into(), ..Bottleneck::default() };
        explain_idle_loop(&mut verdict, &[], &run);
        let text = &verdict.evidence[0].text;
        assert!(text.contains("its threads are idle") && !text.contains("event loop"), "{text}");
        assert!(!verdict.advice[0].contains("event loop"), "{:?}", verdict.advice);
    }

    #[test]
    fn an_idle_event_loop_explains_only_a_limit_of_concurrency_without_another_cause() {
        let waits = Some(Box::new(idle()));
        let server = Some(run::Side { waits, ..run::Side::default() });
        let run = Run { trials: vec![run::Trial { server, ..run::Trial::default() }], ..Run::default() };
        let told = |verdict: Bottleneck, findings: &[WaitFinding]| {
            let mut found = verdict.clone();
            explain_idle_loop(&mut found, findings, &run);
            let changed = found != verdict;
            assert_eq!((found.sentence, found.confidence), (verdict.sentence, verdict.confidence));
            assert_eq!(changed, found.evidence.len() == 1 && found.advice.len() == 1);
            changed
        };
        let verdict = |id: &str| Bottleneck { id: id.into(), ..Bottleneck::default() };
        assert!(told(verdict("server-concurrency"), &[]));
        assert!(!told(verdict("server-cpu"), &[]));
        assert!(!told(verdict("server-concurrency"), &[WaitFinding::default()]));
        let waits_for = Some(run::WaitsFor::default());
        assert!(!told(Bottleneck { waits_for, ..verdict("server-concurrency") }, &[]));
    }
}
