//! Counts the accepted connections of each listener, and the connections in its accept queue. sock_diag reports each
//! connection. Clients cannot know which of their connections wait in the accept queue, and the server's own count may
//! be wrong. Source: sock_diag(7).
//!
//! Only the listeners in the scope are counted. Reading tens of thousands of connections takes milliseconds of CPU
//! time. This source therefore has a large budget: 10 ms of CPU time per sample.

use std::collections::HashSet;
use std::net::SocketAddr;

use run::Address;
use sys::diag::Diag;

use crate::Scope;
use crate::family::Family;
use crate::source::{CAPTURED_TREE, Round, Source, none};
use crate::tree::Tree;

const IDS: &[&str] = &["listen.accepted", "listen.waiting"];

struct Accepted {
    listeners: Vec<SocketAddr>,
    diag: Option<Diag>,
    family: Family,
    peers: Peers,
}

/// Peer addresses of the connections. If the kernel's table changes during the reading, sock_diag may report a socket
/// twice. In a set, this socket counts only once.
#[derive(Debug, Default)]
struct Peers {
    accepted: HashSet<SocketAddr>,
    waiting: HashSet<SocketAddr>,
}

pub(super) fn open(scope: &Scope, _: &Tree) -> Box<dyn Source> {
    let listeners = scope.counted.iter().filter_map(Address::inet).collect();
    Box::new(Accepted { listeners, diag: None, family: Family::new(IDS), peers: Peers::default() })
}

impl Source for Accepted {
    fn sample(&mut self, round: &mut Round<'_>) {
        if self.listeners.is_empty() {
            return none(round, &self.family, "nobody asked for the connections of a listener to be counted");
        }
        if !round.tree.is_live() {
            return none(round, &self.family, CAPTURED_TREE);
        }
        for at in 0..self.listeners.len() {
            let listener = self.listeners[at];
            if let Err(e) = self.ask(listener, round.tree) {
                self.diag = None;
                return none(round, &self.family, &format!("sock_diag does not answer: {e}"));
            }
            let Some(slots) = self.family.slots(round.writer, listener.to_string().as_bytes()) else { return };
            round.writer.put(slots, 0, self.peers.accepted.len() as f64);
            round.writer.put(slots, 1, self.peers.waiting.len() as f64);
        }
    }
}

impl Accepted {
    /// Reads the connections of one listener. The connections of an IPv6 listener are IPv6 sockets, even if the clients
    /// use IPv4.
    fn ask(&mut self, listener: SocketAddr, tree: &Tree) -> std::io::Result<()> {
        let diag = match &mut self.diag {
            Some(diag) => diag,
            none => none.insert(tree.diag()?),
        };
        let peers = &mut self.peers;
        peers.clear();
        Ok(diag.peers(listener.is_ipv6(), listener.port(), |peer, inode| peers.add(peer, inode))?)
    }
}

impl Peers {
    fn clear(&mut self) {
        self.accepted.clear();
        self.waiting.clear();
    }

    /// Counts the socket of one connection. A connection in the accept queue has no inode yet.
    fn add(&mut self, peer: SocketAddr, inode: u32) {
        if inode == 0 { &mut self.waiting } else { &mut self.accepted }.insert(peer);
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::testing::Sampled;

    #[test]
    fn accepted_and_waiting_connections_are_distinguished() {
        let [one, other] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let addrs = [&one, &other].map(|listener| listener.local_addr().unwrap());
        let _ends: Vec<_> = (0..3).map(|_| TcpStream::connect(addrs[0]).unwrap()).collect();
        let _taken = one.accept().unwrap();
        let counted = addrs.map(Address::from).to_vec();
        let mut probe = crate::Probe::new(Scope { counted, sources: Some(vec!["accepted"]), ..Scope::default() });
        probe.sample(0.0);
        let r = Sampled(probe.take());
        let counts = |addr: SocketAddr| ["listen.accepted", "listen.waiting"].map(|id| r.last(id, &addr.to_string()));
        assert_eq!(counts(addrs[0]), [Some(1.0), Some(2.0)]);
        assert_eq!(counts(addrs[1]), [Some(0.0), Some(0.0)]);
    }

    #[test]
    fn each_peer_counts_once() {
        let at = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        let mut peers = Peers::default();
        [(at(1), 101), (at(1), 101), (at(2), 0)].into_iter().for_each(|(peer, inode)| peers.add(peer, inode));
        assert_eq!((peers.accepted.len(), peers.waiting.len()), (1, 1));
    }
}
