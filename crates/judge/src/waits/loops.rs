//! Event loops: processes whose threads handle several requests at a time.

use run::WaitProcess;

use crate::thresholds::WAIT_MOSTLY;

/// Returns true if the processes handle several requests at a time in an event loop.
///
/// An epoll descriptor alone does not show an event loop. A worker that handles one request at a time, such as a
/// synchronous worker of uWSGI or a backend of PostgreSQL, also waits with epoll for the data of its only connection.
/// The parent of such workers also uses epoll, but holds no connection of a client. A process is therefore an event loop
/// only if it holds several accepted connections. Among processes with the same name, one may be a router with an event
/// loop, and the others its workers. Most of the processes with a connection must therefore hold several connections.
/// If the accepted connections are unknown, epoll is the only sign.
pub(super) fn is_event_loop(process: &WaitProcess) -> bool {
    process.epoll && process.multiplexing.is_none_or(|share| share >= WAIT_MOSTLY)
}

#[cfg(test)]
mod tests {
    use run::{ThreadState, WaitCause, WaitProfile};

    use super::super::tests::{clients, process};
    use super::super::waits;
    use super::*;

    #[test]
    fn only_processes_with_several_connections_are_event_loops() {
        let is_loop =
            |epoll, multiplexing| is_event_loop(&WaitProcess { epoll, multiplexing, ..WaitProcess::default() });
        assert!(is_loop(true, None), "a run of an older version");
        assert!(is_loop(true, Some(1.0)) && is_loop(true, Some(0.6)), "workers of nginx, one with a single connection");
        assert!(!is_loop(true, Some(0.2)), "the HTTP router of uWSGI, and its synchronous workers");
        assert!(!is_loop(true, Some(0.0)) && !is_loop(false, Some(1.0)));
    }

    /// The only synchronous worker of uWSGI sleeps in its request. It has an epoll descriptor, with which it waits for
    /// its only connection. An earlier version of loadline advised to make the "blocking call in the event loop"
    /// asynchronous.
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
