//! Limited sections inside a program: code that only a limited number of threads may run at a time, for example because
//! of a semaphore. Threads with one request each wait until another thread leaves the limited section. In Python, each
//! thread waits at its own address, so the waiting threads have no common address that shows the section.

use run::{ThreadState, WaitCause, WaitFinding, WaitProcess, WaitProfile};

use super::activity::Activity;
use super::functions;
use super::loops::is_event_loop;
use super::pools::demand_of;
use super::requests::Requests;
use crate::thresholds::{WAIT_FEW, WAIT_HOLDS_NONE, WAIT_HOLDS_TOO_MANY, WAIT_MOSTLY, WAIT_QUEUE};

/// Text for a limited section whose function has no known name.
const SECTION: &str = "a limited section of its code";

/// Returns the limited section for which threads of a process wait, if each waiting thread works on a request.
pub(super) fn limited_section(
    profile: &WaitProfile,
    activity: &Activity<'_>,
    requests: &Requests,
) -> Option<WaitFinding> {
    section_of_each_connection(profile, activity, requests).or_else(|| section_of_stacks(profile, activity, requests))
}

/// Returns the limited section for which threads of Python or Java wait in a function that the program calls for a
/// request. The stacks tell these threads from idle ones, so the process may also have an event loop, as gunicorn has.
fn section_of_stacks(profile: &WaitProfile, activity: &Activity<'_>, requests: &Requests) -> Option<WaitFinding> {
    let (function, waiting) = functions::waits_for_places(profile, activity.process)?;
    let active = activity.all_threads(ThreadState::is_active);
    let is_limited = waiting >= WAIT_QUEUE && active >= WAIT_MOSTLY && requests.are_held_by(waiting);
    is_limited.then(|| section(activity, waiting, function.into()))
}

/// Returns the limited section for which threads wait in a process with one thread for each connection.
///
/// Idle threads of a pool wait in the same way, but work on no request. While idle threads wait, the number of requests
/// at the process equals the number of its active threads. Threads of an event loop, or with other work, do not work on
/// one request each. The process must therefore have one thread per connection, and at most one further thread, which
/// accepts connections.
fn section_of_each_connection(
    profile: &WaitProfile,
    activity: &Activity<'_>,
    requests: &Requests,
) -> Option<WaitFinding> {
    let process = activity.process;
    let is_single = process.processes <= 1.0 + WAIT_FEW && !is_event_loop(process);
    let has_one_each = process.threads <= open_connections(profile, process)? + 1.0 + WAIT_FEW;
    let without_place =
        activity.groups.iter().filter(|group| group.state == ThreadState::Futex && group.key.is_empty());
    let waiting: f64 = without_place.map(|group| group.threads).sum();
    let active = activity.threads(ThreadState::is_active);
    let of_own = || requests.in_progress().map(|(low, _)| low);
    let held = if process.behind { demand_of(profile, process, requests) } else { of_own() };
    let each = (held.filter(|held| held.is_finite())? - active) / waiting;
    let hold_one = (1.0 - WAIT_HOLDS_NONE..=WAIT_HOLDS_TOO_MANY).contains(&each);
    let is_limited = is_single && has_one_each && waiting >= WAIT_QUEUE && active >= WAIT_MOSTLY && hold_one;
    is_limited.then(|| section(activity, waiting, functions::mostly_in(profile, process)))
}

/// Returns the finding about a limited section for which `waiting` threads wait in `function`.
fn section(activity: &Activity<'_>, waiting: f64, function: String) -> WaitFinding {
    let process = activity.process;
    WaitFinding {
        cause: WaitCause::WorkerPool,
        name: if function.is_empty() { SECTION.into() } else { function.clone() },
        process: process.process.clone(),
        threads: waiting,
        of: process.threads,
        holder: holder(activity),
        holder_probable: true,
        function,
        share: (waiting / process.threads.max(waiting)).min(1.0),
        ..WaitFinding::default()
    }
}

/// Returns the number of connections on which a process gets requests. For an upstream, the counted connections are
/// those of the sampled processes. Returns `None` if the number is unknown.
fn open_connections(profile: &WaitProfile, process: &WaitProcess) -> Option<f64> {
    if !process.behind {
        return profile.clients.as_ref().map(|clients| clients.open);
    }
    let senders = profile.peers.iter().filter(|peer| peer.to == process.process);
    senders.map(|peer| peer.open).reduce(|a, b| a + b)
}

/// Returns the most frequent state of the active threads.
fn holder(activity: &Activity<'_>) -> Option<ThreadState> {
    let active = activity.groups.iter().filter(|group| group.state.is_active());
    active.max_by(|a, b| a.threads.total_cmp(&b.threads)).map(|group| group.state)
}

#[cfg(test)]
mod tests {
    use run::{ClientConnections, StackProfile, StackSum};

    use super::super::tests::{clients, process};
    use super::super::waits;
    use super::*;

    fn sentences(profile: &WaitProfile) -> Vec<String> {
        waits(profile, &[]).into_iter().map(|finding| finding.sentence).collect()
    }

    /// Returns 64 connections with the given number of requests in progress.
    fn open(in_progress: f64) -> ClientConnections {
        ClientConnections { open: 64.0, ..clients(in_progress, 0.0) }
    }

    /// This profile repeats a situation that was observed with a threaded Python server: a semaphore lets only three
    /// requests sleep at a time.
    fn three_places() -> WaitProfile {
        let states = [
            (ThreadState::ClientRead, "", 57.1),
            (ThreadState::Futex, "", 3.85),
            (ThreadState::Sleep, "", 2.85),
            (ThreadState::Events, "", 1.0),
            (ThreadState::OnCpu, "", 0.2),
        ];
        let mut profile = process(65.0, &states);
        profile.clients = Some(open(7.5));
        profile
    }

    #[test]
    fn threads_with_requests_wait_for_a_place_in_a_limited_section() {
        let said = sentences(&three_places());
        let wanted = "3.85 of 65 threads of app:7 wait for a slot in a limited section of its code; those inside sleep";
        assert_eq!(said, [wanted]);
    }

    /// As in an observed gunicorn with 16 threads, a queue of Python contains three connections to a database. The
    /// worker of gunicorn also has an event loop, which accepts the clients' connections.
    fn three_connections(caller: &str) -> WaitProfile {
        let states = [(ThreadState::Futex, "", 12.7), (ThreadState::Sleep, "", 2.96), (ThreadState::Events, "", 1.91)];
        let mut profile = process(18.0, &states);
        profile.processes[0].epoll = true;
        profile.clients = Some(ClientConnections { uncertain: 3.7, ..clients(12.2, 0.0) });
        let stack = format!("app;threading.Thread.run;{caller};queue.Queue.get;threading.Condition.wait;sem_wait");
        let waiting = vec![StackSum { stack, weight: 12.6 }];
        profile.stacks = Some(StackProfile { waiting, ..StackProfile::default() });
        profile
    }

    #[test]
    fn threads_of_python_wait_for_an_element_of_a_queue() {
        let wanted = "12.6 of 18 threads of app:7 wait for a slot in load_user; those inside sleep";
        assert_eq!(sentences(&three_connections("ThreadWorker.handle;load_user")), [wanted]);
        for idle in ["WorkerThread.run", "concurrent.futures.thread._worker"] {
            assert!(sentences(&three_connections(idle)).iter().all(|said| !said.contains("slot")), "{idle}");
        }
        let mut few = three_connections("ThreadWorker.handle;load_user");
        few.clients = Some(clients(3.0, 0.0));
        assert!(sentences(&few).iter().all(|said| !said.contains("slot")), "the waiting threads have no requests");
    }

    #[test]
    fn idle_threads_and_event_loops_wait_for_no_place() {
        let mut idle = three_places();
        idle.clients = Some(open(3.0));
        assert!(sentences(&idle).iter().all(|said| !said.contains("slot")), "a pool of threads, some of them idle");
        let mut event_loop = three_places();
        event_loop.processes[0].epoll = true;
        assert!(sentences(&event_loop).iter().all(|said| !said.contains("slot")), "{:?}", sentences(&event_loop));
        let mut many = three_places();
        many.clients = Some(open(40.0));
        assert!(sentences(&many).iter().all(|said| !said.contains("slot")), "each thread holds ten");
        let mut others = three_places();
        others.processes[0].threads = 90.0;
        assert!(sentences(&others).iter().all(|said| !said.contains("slot")), "a database with threads for other work");
    }
}
