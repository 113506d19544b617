//! Requests that a process has passed on to other servers, while further requests wait inside the process. A setting of
//! the process, such as HAProxy's `maxconn`, limits how many requests are passed on at a time.

use run::{PeerConnections, ThreadState, WaitProfile};

use super::activity::Activity;
use super::loops::is_event_loop;
use super::members::MIN_MEMBERS;
use super::peers;
use super::requests::Requests;
use crate::thresholds::{WAIT_MOSTLY, WAIT_QUEUE};

/// Requests that a process has passed on to other servers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PassedOn {
    /// Name of the process, with its ID if it is the only process of this name.
    pub(crate) process: String,
    /// Mean number of requests that wait for replies of other servers.
    pub(crate) requests: f64,
    /// Address of the server that got the most of these requests.
    pub(crate) peer: String,
}

/// Returns, for each process of the server whose event loop is idle, the requests passed on while others wait inside
/// the process.
pub(super) fn passed_on(profile: &WaitProfile) -> Vec<PassedOn> {
    let requests = Requests::of(profile);
    let least_requests = requests.in_progress().map_or(0.0, |(low, _)| low);
    let of = |process| {
        let activity = Activity::of(profile, process);
        let is_idle = activity.all_threads(|state| state == ThreadState::Events) >= WAIT_MOSTLY;
        let passes_on = |peer: &&PeerConnections| peer.busy > 0.0 && peers::gets_answers(peer);
        let own = || profile.peers.iter().filter(|peer| peer.process == process.process).filter(passes_on);
        let busy: f64 = own().map(|peer| peer.busy).sum();
        let most = own().max_by(|a, b| a.busy.total_cmp(&b.busy))?;
        let waits_inside = least_requests >= busy + WAIT_QUEUE && busy >= MIN_MEMBERS;
        (is_event_loop(process) && !process.behind && is_idle && waits_inside).then(|| PassedOn {
            process: process.process.clone(),
            requests: busy,
            peer: most.address.clone(),
        })
    };
    profile.processes.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{clients, peer, process};
    use super::*;

    /// The figures come from HAProxy with `maxconn 6` for its only server. HAProxy keeps a seventh connection open.
    #[test]
    fn requests_inside_a_proxy_are_compared_with_those_at_its_server() {
        let told = |in_progress: f64, events: f64, answers| {
            let mut profile = process(2.0, &[(ThreadState::Events, "", events), (ThreadState::OnCpu, "", 0.3)]);
            profile.processes[0].epoll = true;
            profile.peers = vec![PeerConnections { answers, ..peer("app:7", 6.7, 5.8) }];
            profile.clients = Some(clients(in_progress, 0.0));
            passed_on(&profile).first().map(|found| found.requests)
        };
        let count = |in_progress, events| told(in_progress, events, Some(20.0));
        assert_eq!(count(86.0, 1.4), Some(5.8));
        assert_eq!(told(86.0, 1.4, Some(0.0)), None, "connections to a log, which never answers");
        assert_eq!(count(6.0, 1.4), None, "no request waits inside");
        assert_eq!(count(86.0, 0.2), None, "the loop has no time left");
    }
}
