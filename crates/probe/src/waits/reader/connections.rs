//! The connections of the processes that the reader reads.

use std::cell::LazyCell;
use std::sync::Arc;

use super::Reader;
use crate::udp_sockets::receivers_at;
use crate::waits::process::Process;
use crate::waits::round::{Accepted, ConnectionSample, PeerSample};
use crate::waits::sockets::SocketUse;

/// Maximum number of known sockets. Above this number, the sockets of event loops are not looked up at each reading.
/// The look-up for one event loop takes 1 µs per known socket.
const MAX_FRESH_SOCKETS: usize = 1024;

/// ID of a process, and the inodes of its sockets, each with the name of the process.
type FreshSockets = (u32, Vec<(u32, Arc<str>)>);

impl Reader {
    /// Reads all connections.
    pub(in crate::waits) fn read_connections(&mut self) -> Option<ConnectionSample> {
        let loops = self.find_fresh_sockets();
        match self.sockets.read(&self.held) {
            Ok(mut sample) => {
                self.note_accepted(&loops);
                self.name_peers(&mut sample.peers);
                sample.peers.iter().for_each(|peer| self.note_upstream(&peer.address));
                Some(sample)
            }
            Err(error) => {
                self.miss(format!("the connections could not be read: {error}"));
                None
            }
        }
    }

    /// Counts the connections of the server's clients.
    pub(in crate::waits) fn read_clients(&mut self) -> Option<[f64; 5]> {
        self.sockets.read_clients()
    }

    /// Reads again the connections to known peers, and adds the counts of the clients' connections.
    pub(in crate::waits) fn read_peers(&mut self, clients: Option<[f64; 5]>) -> Option<ConnectionSample> {
        let peers = self.sockets.read_peers();
        if peers.is_none() && clients.is_none() {
            return None;
        }
        let mut peers = peers.unwrap_or_default();
        self.name_peers(&mut peers);
        Some(ConnectionSample { clients, peers, is_full: false })
    }

    /// Adds to each peer the name of a process that answers at the peer's address, if one is known.
    pub(in crate::waits) fn name_peers(&self, peers: &mut [PeerSample]) {
        for peer in peers {
            let process = self.answers.get(&peer.address).and_then(|pid| self.processes.get(pid));
            peer.to = process.map(|process| process.name.clone());
        }
    }

    /// Finds the present sockets of processes with epoll, and returns these sockets by process. A process with an event
    /// loop may open a connection to an upstream for each request. If too many sockets are known, leaves out processes
    /// for which an accepted connection was seen before.
    fn find_fresh_sockets(&mut self) -> Vec<FreshSockets> {
        let has_room = self.held.len() <= MAX_FRESH_SOCKETS;
        let loops = self
            .processes
            .values()
            .filter(|p| p.epoll && (has_room || p.accepted.is_none_or(|accepted| accepted == Accepted::None)));
        let of = |p: &Process| (p.pid, p.sockets().take(MAX_FRESH_SOCKETS).collect());
        let fresh: Vec<FreshSockets> = loops.map(of).collect();
        if has_room {
            self.held.extend(fresh.iter().flat_map(|(_, sockets)| sockets).take(MAX_FRESH_SOCKETS).cloned());
        }
        fresh
    }

    /// Notes how many accepted connections each process holds. `loops` has the sockets of processes with epoll. Without
    /// known listeners, the accepted connections are unknown: a server that only uses UDP (HTTP/3) has no TCP listener.
    /// A server that uses both receives datagrams at the same port. The few TCP connections of such a server do not
    /// show how many requests it handles at a time.
    fn note_accepted(&mut self, loops: &[FreshSockets]) {
        if self.sockets.listening_ports().is_empty() {
            return;
        }
        let datagrams = LazyCell::new(|| receivers_at(self.sockets.listening_ports(), self.netns_pid));
        for (pid, sockets) in loops {
            let is_accepted = |inode: u32| self.sockets.socket_use(inode) == Some(&SocketUse::Client);
            let accepted = sockets.iter().filter(|(inode, _)| is_accepted(*inode)).count();
            let may_use_datagrams = accepted <= 1 && sockets.iter().any(|(inode, _)| datagrams.contains(inode));
            let process = self.processes.get_mut(pid).filter(|_| !may_use_datagrams);
            process.into_iter().for_each(|process| process.note_accepted(accepted));
        }
    }
}
