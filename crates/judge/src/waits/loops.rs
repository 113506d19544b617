//! Event loops: processes whose threads handle several requests at a time.

use std::borrow::Cow;
use std::collections::BTreeSet;

use run::{Protocol, Run, ThreadState, Trial, WaitGroup, WaitProcess, WaitProfile};

use super::members::MIN_MEMBERS;
use crate::thresholds::{WAIT_FEW, WAIT_MOSTLY};

/// Returns true if the processes handle several requests at a time in an event loop.
///
/// An epoll descriptor alone does not show an event loop. Some workers handle one request at a time, such as a
/// synchronous worker of uWSGI or a backend of PostgreSQL. Such workers also wait with epoll for the data of their only
/// connection. The parent of synchronous workers also uses epoll, but has no client connection. A process is therefore
/// an event loop only if it has several accepted connections. Among processes with the same name, one may be a router
/// with an event loop, and the others its workers. Most of the processes with a connection must therefore have several
/// connections. If the accepted connections are unknown, an epoll descriptor is the only sign.
pub(super) fn is_event_loop(process: &WaitProcess) -> bool {
    process.epoll && process.multiplexing.is_none_or(|share| share >= WAIT_MOSTLY)
}

/// Returns true if the threads that wait for events also do most of the work, as in an event loop. In a server with a
/// pool of threads, such as Tomcat, the thread that waits for events only hands the requests to other threads. Returns
/// true if no thread was seen to wait for events, or if the process hardly works: then either may be true.
pub(super) fn works_in_loop(profile: &WaitProfile, process: &WaitProcess) -> bool {
    let own = || profile.groups.iter().filter(|group| group.process == process.process);
    let loops: BTreeSet<&str> =
        own().filter(|group| group.state == ThreadState::Events).map(|group| group.thread.as_str()).collect();
    let cpu = |is_counted: &dyn Fn(&WaitGroup) -> bool| -> f64 {
        own().filter(|group| group.state.wants_cpu() && is_counted(group)).map(|group| group.threads).sum()
    };
    let all = cpu(&|_| true);
    let in_loops = cpu(&|group| loops.contains(group.thread.as_str()));
    loops.is_empty() || all < WAIT_FEW || in_loops >= WAIT_MOSTLY * all
}

/// Returns a profile in which the accepted connections are unknown for some processes of the server: those that had too
/// few connections for their streams. A single HTTP/2 connection carries many requests, so the number of connections
/// does not show if a process handles several requests at a time.
pub(super) fn without_shared_connections<'a>(
    profile: &'a WaitProfile,
    run: &Run,
    trial: &Trial,
) -> Cow<'a, WaitProfile> {
    let has_streams = matches!(run.plan.load.protocol, Protocol::Http2(_) | Protocol::Http3(_) | Protocol::Grpc(_));
    let open = profile.clients.as_ref().map_or(0.0, |clients| clients.max_open);
    let are_too_few = |process: &WaitProcess| {
        !process.behind && process.multiplexing.is_some() && open < MIN_MEMBERS * process.processes.max(1.0)
    };
    if !has_streams || trial.intensity.pipeline() <= 1 || !profile.processes.iter().any(are_too_few) {
        return Cow::Borrowed(profile);
    }
    let mut profile = profile.clone();
    profile.processes.iter_mut().filter(|process| are_too_few(process)).for_each(|process| process.multiplexing = None);
    Cow::Owned(profile)
}

#[cfg(test)]
mod tests {
    use run::{HttpPlan, Intensity, ThinkTime, WaitCause};

    use super::super::tests::{clients, process};
    use super::super::waits;
    use super::*;

    /// Makes a profile of groups of threads. Each row has the thread name, the state and the number of threads.
    fn threads(rows: &[(&str, ThreadState, f64)]) -> WaitProfile {
        let states: Vec<(ThreadState, &str, f64)> = rows.iter().map(|(_, state, n)| (*state, "", *n)).collect();
        let mut profile = process(rows.iter().map(|(.., n)| n).sum(), &states);
        profile.groups.iter_mut().zip(rows).for_each(|(group, (name, ..))| group.thread = (*name).into());
        (profile.processes[0].epoll, profile.processes[0].multiplexing) = (true, Some(1.0));
        profile
    }

    /// Tomcat's poller waits for events, and a pool of threads handles the requests. The workers of tokio wait for
    /// events and also handle requests.
    #[test]
    fn a_pool_of_threads_beside_a_poller_is_no_event_loop() {
        let works = |rows: &[_]| {
            let profile = threads(rows);
            works_in_loop(&profile, &profile.processes[0])
        };
        let poller = ("http-nio-#-Poller", ThreadState::Events, 0.97);
        let exec = |state, n| ("http-nio-#-exec-#", state, n);
        let own = ("http-nio-#-Poller", ThreadState::OnCpu, 0.03);
        assert!(!works(&[poller, own, exec(ThreadState::Futex, 7.0), exec(ThreadState::OnCpu, 1.0)]));
        let tokio = |state, n| ("tokio-runtime-w", state, n);
        assert!(works(&[
            tokio(ThreadState::Events, 1.0),
            tokio(ThreadState::Futex, 2.0),
            tokio(ThreadState::OnCpu, 1.0)
        ]));
        assert!(works(&[poller, own, exec(ThreadState::Futex, 8.0)]), "it hardly works");
        assert!(works(&[exec(ThreadState::Sleep, 1.0), exec(ThreadState::OnCpu, 1.0)]), "no thread waits for events");
    }

    /// All requests of the load use one connection. An earlier version of loadline concluded that the server is a
    /// worker that handles one request at a time.
    #[test]
    fn a_single_connection_with_many_streams_may_belong_to_an_event_loop() {
        let is_loop = |protocol: Protocol, pipeline: u32, max_open: f64| {
            let mut profile = threads(&[("node", ThreadState::Sleep, 1.0)]);
            profile.processes[0].multiplexing = Some(0.0);
            profile.clients = Some(run::ClientConnections { max_open, ..clients(8.0, 0.0) });
            let mut run = Run::default();
            run.plan.load.protocol = protocol;
            let intensity = Intensity::Closed { connections: 1, pipeline, think: ThinkTime::default() };
            let trial = Trial { intensity, ..Trial::default() };
            is_event_loop(&without_shared_connections(&profile, &run, &trial).processes[0])
        };
        let [http1, http2] = [Protocol::Http1, Protocol::Http2].map(|of| of(HttpPlan::default()));
        assert!(is_loop(http2.clone(), 16, 1.0));
        assert!(!is_loop(http2.clone(), 1, 1.0) && !is_loop(http1, 16, 1.0));
        assert!(!is_loop(http2, 16, 8.0), "a process with several connections would hold them at a time");
    }

    #[test]
    fn only_processes_with_several_connections_are_event_loops() {
        let is_loop =
            |epoll, multiplexing| is_event_loop(&WaitProcess { epoll, multiplexing, ..WaitProcess::default() });
        assert!(is_loop(true, None), "a run of an older version");
        assert!(is_loop(true, Some(1.0)) && is_loop(true, Some(0.6)), "workers of nginx, one with a single connection");
        assert!(!is_loop(true, Some(0.2)), "the HTTP router of uWSGI, and its synchronous workers");
        assert!(!is_loop(true, Some(0.0)) && !is_loop(false, Some(1.0)));
    }

    /// In this test, the only synchronous worker of uWSGI sleeps in its request. The worker has an epoll descriptor,
    /// with which it waits for its only connection. An earlier version of loadline took the worker for an event loop,
    /// and advised to make its blocking call asynchronous.
    #[test]
    fn a_blocked_synchronous_worker_with_epoll_is_a_worker() {
        let blocked = |multiplexing| -> WaitProfile {
            let mut profile = process(1.0, &[(ThreadState::Sleep, "", 0.93), (ThreadState::OnCpu, "", 0.07)]);
            (profile.processes[0].epoll, profile.processes[0].multiplexing) = (true, multiplexing);
            profile.clients = Some(clients(1.0, 7.0));
            profile
        };
        let cause = |multiplexing| waits(&blocked(multiplexing), &[]).first().map(|finding| finding.cause);
        assert_eq!(cause(Some(0.0)), Some(WaitCause::Sleep));
        assert_eq!(cause(Some(1.0)), Some(WaitCause::BlockingCall));
        assert_eq!(cause(None), Some(WaitCause::BlockingCall));
    }
}
