//! Sockets of a network namespace by inode: connections of the server's clients, and connections to peers.

mod dump;
mod peer_sums;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::Arc;

use sys::diag::{Diag, OtherConnection, SocketName};

use crate::tree::diag_in;

use super::counted::{Counted, MAX_CONNECTIONS};
use super::exchanges::{ToPeer, may_be_unread};
use super::round::{ConnectionSample, PeerId, PeerSample};
use dump::{Dump, UnixPair};
use peer_sums::PeerSums;

/// Maximum number of connections to peers that are read again between two dumps (readings of all connections).
const MAX_KNOWN: usize = 32;

/// Role of a socket in its connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SocketUse {
    /// Accepted from a client.
    Client,
    /// Connected to an address.
    Peer(Arc<str>),
}

/// Roles of the sockets of a network namespace, as last read.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    netns_pid: Option<u32>,
    diag: Option<Diag>,
    uses: HashMap<u32, SocketUse>,
    /// Address families (true for IPv6) and ports at which the server listens.
    front: HashSet<(bool, u16)>,
    /// Ports at which any sampled process listens.
    ports: HashSet<u16>,
    /// Texts of the addresses seen so far, so that each text is stored only once.
    names: HashMap<String, Arc<str>>,
    /// Connections to the peers that had the fewest connections at the last dump (reading of all connections). The
    /// connections in `known` are read again between two dumps.
    known: Vec<(SocketName, PeerId)>,
}

impl Sockets {
    pub(super) fn new(netns_pid: Option<u32>) -> Self {
        Self { netns_pid, ..Self::default() }
    }

    /// Returns the role of a socket, if it is known.
    pub(super) fn socket_use(&self, inode: u32) -> Option<&SocketUse> {
        self.uses.get(&inode)
    }

    /// Returns the TCP ports at which the server or an upstream service listens.
    pub(super) fn listening_ports(&self) -> &HashSet<u16> {
        &self.ports
    }

    /// Finds the ports at which sockets of the server (`front`) and of its upstream services (`behind`) listen.
    pub(super) fn find_ports(
        &mut self,
        front: &HashMap<u32, Arc<str>>,
        behind: &HashMap<u32, Arc<str>>,
    ) -> sys::Result<()> {
        let (mut fronts, mut ports) = (HashSet::new(), HashSet::new());
        self.over(|diag| {
            for v6 in [false, true] {
                diag.listeners(v6, None, |l| {
                    if front.contains_key(&l.inode) {
                        fronts.insert((v6, l.local.port()));
                    }
                    if front.contains_key(&l.inode) || behind.contains_key(&l.inode) {
                        ports.insert(l.local.port());
                    }
                })?;
            }
            Ok(())
        })?;
        (self.front, self.ports) = (fronts, ports);
        Ok(())
    }

    /// Reads all connections. `held` has the name of the process in which a socket is open, by the socket's inode.
    pub(super) fn read(&mut self, held: &HashMap<u32, Arc<str>>) -> sys::Result<ConnectionSample> {
        let (mut found, front, ports) = (Dump::default(), self.front.clone(), self.ports.clone());
        self.over(|diag| {
            found = dump::dump(diag, held, &front, &ports)?;
            Ok(())
        })?;
        let dump = found;
        self.uses.clear();
        self.known.clear();
        for connection in dump.clients.kept.iter().chain(&dump.behind.kept) {
            self.uses.insert(connection.inode, SocketUse::Client);
        }
        let mut peers = PeerSums::default();
        let has_unread = |end: &&OtherConnection| end.receive_queue > 0;
        let ends = dump.behind.kept.iter().chain(&dump.others.kept).filter(has_unread);
        let unread: HashSet<[SocketAddr; 2]> = ends.map(|end| [end.remote, end.local]).collect();
        for connection in dump.held.kept.iter().chain(&dump.others.kept) {
            let name = self.name(connection.remote.to_string());
            if let Some(process) = held.get(&connection.inode) {
                let id = (process.clone(), name.clone());
                let is_unread = unread.contains(&[connection.local, connection.remote]);
                peers.add(&id, ToPeer { own: *connection, is_unread });
                self.known.push((connection.name, id));
            }
            self.uses.insert(connection.inode, SocketUse::Peer(name));
        }
        if dump.held.is_cut() {
            // A peer may have more connections than `known` contains.
            self.known.clear();
        }
        let unix_peers = self.unix_peers(&dump.unix, held);
        let peers = [peers.rows(|part| dump.held.scaled(part)), unix_peers].concat();
        let clients = (!self.front.is_empty()).then(|| dump.clients.states(dump.queued));
        self.keep_small_pools();
        Ok(ConnectionSample { clients, peers, is_full: true })
    }

    /// Counts the connections of the server's clients, as [`Sockets::read`] does. The kernel copies only the
    /// connections of clients, so this function takes less time than [`Sockets::read`].
    pub(super) fn read_clients(&mut self) -> Option<[f64; 5]> {
        let (front, mut clients, mut queued) = (self.front.clone(), Counted::default(), 0.0);
        let asked = self.over(|diag| {
            for (v6, port) in front.iter().copied() {
                diag.accepted(v6, port, |connection| {
                    if connection.inode != 0 {
                        clients.add(|| *connection);
                    }
                })?;
                diag.listeners(v6, Some(port), |l| queued += f64::from(l.queue))?;
            }
            Ok(())
        });
        (asked.is_ok() && !front.is_empty()).then(|| clients.states(queued))
    }

    /// Records the role of each unix socket, and counts the connections to peers.
    fn unix_peers(&mut self, pairs: &Counted<UnixPair>, held: &HashMap<u32, Arc<str>>) -> Vec<PeerSample> {
        let mut peers: BTreeMap<PeerId, f64> = BTreeMap::new();
        for (inode, peer, path) in &pairs.kept {
            let name = self.name(run::visible(&format!("unix:{}", path.display())).into_owned());
            self.uses.insert(*inode, SocketUse::Client);
            if let Some(process) = held.get(peer) {
                *peers.entry((process.clone(), name.clone())).or_default() += 1.0;
            }
            self.uses.insert(*peer, SocketUse::Peer(name));
        }
        // The kernel keeps no times for Unix sockets, so it is unknown which connections await a reply.
        let row = |((process, address), part)| PeerSample {
            process,
            address,
            open: pairs.scaled(part),
            busy: f64::NAN,
            received: BTreeMap::new(),
            to: None,
        };
        peers.into_iter().map(row).collect()
    }

    /// Keeps in `known` only connections to the peers with the fewest connections, at most [`MAX_KNOWN`] together.
    fn keep_small_pools(&mut self) {
        let mut sizes: BTreeMap<PeerId, usize> = BTreeMap::new();
        self.known.iter().for_each(|(_, id)| *sizes.entry(id.clone()).or_default() += 1);
        let mut small: Vec<(usize, PeerId)> = sizes.into_iter().map(|(id, size)| (size, id)).collect();
        small.sort();
        let mut room = MAX_KNOWN;
        small.retain(|(size, _)| room.checked_sub(*size).map(|left| room = left).is_some());
        self.known.retain(|(_, id)| small.iter().any(|(_, kept)| kept == id));
    }

    /// Reads the known connections to peers again. If the peer may have an unread request on a connection, also reads
    /// the other end of this connection. Reading one known connection takes some microseconds, while a dump of all
    /// connections takes a millisecond.
    pub(super) fn read_peers(&mut self) -> Option<Vec<PeerSample>> {
        if self.known.is_empty() {
            return None;
        }
        let (known, mut sums) = (std::mem::take(&mut self.known), PeerSums::default());
        let asked = self.over(|diag| {
            for (name, id) in &known {
                let Some(own) = diag.other(name)? else { continue };
                let other_end = if may_be_unread(&own) { diag.other(&name.other_end())? } else { None };
                let is_unread = other_end.is_some_and(|end| end.receive_queue > 0);
                sums.add(id, ToPeer { own, is_unread });
            }
            Ok(())
        });
        self.known = known;
        asked.ok().map(|()| sums.rows(|all| all))
    }

    /// Queries the kernel through a netlink socket. The netlink socket stays open, and is replaced after an error.
    fn over(&mut self, work: impl FnOnce(&mut Diag) -> sys::Result<()>) -> sys::Result<()> {
        let mut diag = match self.diag.take() {
            Some(diag) => diag,
            None => diag_in(self.netns_pid).map_err(|e| sys::Errno::from_io_error(&e).unwrap_or(sys::Errno::IO))?,
        };
        work(&mut diag)?;
        self.diag = Some(diag);
        Ok(())
    }

    fn name(&mut self, text: String) -> Arc<str> {
        if self.names.len() > MAX_CONNECTIONS {
            self.names.clear();
        }
        self.names.entry(text).or_insert_with_key(|text| text.as_str().into()).clone()
    }
}

#[cfg(test)]
mod tests;
