//! Threads that are blocked all the time, while more requests than threads wait in their process. Such threads are
//! either workers of a pool, or background threads that always sleep. The number of workers of a pool is the number of
//! requests that the server handles at a time.

use run::{ThreadState, WaitProfile};

use super::activity::Activity;
use super::members::MIN_MEMBERS;
use super::requests::Requests;
use crate::thresholds::{WAIT_MOSTLY, WAIT_POOL_BUSY, WAIT_QUEUE};

/// Threads that are blocked all the time, in all processes with one name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BlockedWorkers {
    /// Name of the process, with its ID if it is the only process of this name.
    pub(crate) process: String,
    /// Number of the blocked threads, a whole number.
    pub(crate) threads: f64,
    /// Address of the server for whose replies the threads wait; empty if they wait for something else.
    pub(crate) peer: String,
}

/// Returns the threads that are blocked all the time, at most one entry for each process name. Requests can wait for
/// such threads only if another thread receives the requests. Leaves out processes in which no thread waits for events.
pub(super) fn blocked_workers(profile: &WaitProfile) -> Vec<BlockedWorkers> {
    let requests = Requests::of(profile);
    let most_requests = requests.in_progress().map_or(0.0, |(_, high)| high) + requests.queued;
    let of = |process| {
        let activity = Activity::of(profile, process);
        let (state, blocked, key) = activity.blocked()?;
        let threads = blocked.round();
        let is_always_blocked = blocked >= WAIT_POOL_BUSY * threads && threads >= MIN_MEMBERS;
        let receives = activity.all_threads(|state| state == ThreadState::Events) >= WAIT_MOSTLY;
        let is_queue = most_requests >= threads + WAIT_QUEUE;
        let peer = if state == ThreadState::Peer { key } else { String::new() };
        (is_always_blocked && receives && is_queue).then(|| BlockedWorkers {
            process: process.process.clone(),
            threads,
            peer,
        })
    };
    profile.processes.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{clients, peer, process};
    use super::*;

    /// Figures of a server with gevent, whose four native threads sleep for 20 ms per request.
    #[test]
    fn threads_that_always_sleep_beside_an_idle_loop_and_a_queue_are_counted() {
        let count = |asleep: f64, in_progress: f64| {
            let mut profile = process(5.0, &[(ThreadState::Sleep, "", asleep), (ThreadState::Events, "", 0.88)]);
            profile.clients = Some(clients(in_progress, 0.0));
            blocked_workers(&profile).first().map(|found| found.threads)
        };
        assert_eq!(count(3.93, 115.0), Some(4.0));
        // Figures of Node.js, whose two free native threads look up names with a slow DNS server.
        let looking_up = [(ThreadState::Peer, "10.0.0.3:53 (DNS)", 2.0), (ThreadState::Events, "", 1.9)];
        let mut profile = process(9.0, &looking_up);
        profile.clients = Some(clients(22.8, 0.0));
        let found = blocked_workers(&profile).remove(0);
        assert_eq!((found.threads, found.peer.as_str()), (2.0, "10.0.0.3:53 (DNS)"));
        profile.peers = vec![run::PeerConnections {
            address: "10.0.0.3:53 (DNS)".into(),
            answers: Some(0.0),
            ..peer("app:7", 2.0, 0.0)
        }];
        assert!(blocked_workers(&profile).is_empty(), "they listen to a subscription");
        assert_eq!(count(3.5, 115.0), None, "idle at times");
        assert_eq!(count(3.93, 3.0), None, "no request waits");
        assert_eq!(count(1.0, 115.0), None, "one thread is no pool");
    }
}
