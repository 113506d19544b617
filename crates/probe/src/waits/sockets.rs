//! Sockets of a network namespace by inode: which are connections of the server's clients, and which lead to peers.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use sys::diag::Diag;

use crate::tree::diag_in;

use super::exchanges;
use super::round::{ConnectionSample, PeerId, PeerSample};

/// Maximum number of connections that are read.
const MAX_CONNECTIONS: usize = 16_384;

/// End of a connection to which a socket belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SocketUse {
    /// Accepted from a client.
    Client,
    /// Connected to an address.
    Peer(Arc<str>),
}

/// Sockets of a namespace, as last read.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    netns_pid: Option<u32>,
    diag: Option<Diag>,
    uses: HashMap<u32, SocketUse>,
    /// Ports at which the server listens (`front_ports`), and at which any sampled process listens (`ports`).
    front_ports: HashSet<u16>,
    ports: HashSet<u16>,
    /// Names of addresses, kept so that each exists once.
    names: HashMap<String, Arc<str>>,
    /// True if a thread waited for a socket that is no TCP connection, so that unix sockets are worth reading.
    met_unknown: Cell<bool>,
}

impl Sockets {
    pub(super) fn new(netns_pid: Option<u32>) -> Self {
        Self { netns_pid, ..Self::default() }
    }

    /// Returns the use of a socket, if it is known.
    pub(super) fn socket_use(&self, inode: u32) -> Option<&SocketUse> {
        let known = self.uses.get(&inode);
        self.met_unknown.set(self.met_unknown.get() || known.is_none());
        known
    }

    /// Finds the listening ports of sockets that the server (`front`) and that upstream services hold.
    pub(super) fn find_ports(
        &mut self,
        front: &HashMap<u32, Arc<str>>,
        behind: &HashMap<u32, Arc<str>>,
    ) -> sys::Result<()> {
        let (mut front_ports, mut ports) = (HashSet::new(), HashSet::new());
        self.over(|diag| {
            for v6 in [false, true] {
                diag.listeners(v6, None, |l| {
                    if front.contains_key(&l.inode) {
                        front_ports.insert(l.local.port());
                    }
                    if front.contains_key(&l.inode) || behind.contains_key(&l.inode) {
                        ports.insert(l.local.port());
                    }
                })?;
            }
            Ok(())
        })?;
        (self.front_ports, self.ports) = (front_ports, ports);
        Ok(())
    }

    /// Reads all connections. `held` has the name of the process that holds each of the server's sockets.
    pub(super) fn read(&mut self, held: &HashMap<u32, Arc<str>>) -> sys::Result<ConnectionSample> {
        let (mut tcp, mut unix, mut queued) = (Vec::new(), Vec::new(), 0.0);
        let (front_ports, wants_unix) = (self.front_ports.clone(), self.met_unknown.get());
        self.over(|diag| {
            for v6 in [false, true] {
                diag.others(v6, 0, true, |connection| {
                    if tcp.len() < MAX_CONNECTIONS {
                        tcp.push(*connection);
                    }
                })?;
                diag.listeners(v6, None, |l| {
                    if front_ports.contains(&l.local.port()) {
                        queued += f64::from(l.queue);
                    }
                })?;
            }
            if !wants_unix {
                return Ok(());
            }
            diag.unix_pairs(|inode, peer, name| {
                if name != Path::new("") && unix.len() < MAX_CONNECTIONS {
                    unix.push((inode, peer, name.to_owned()));
                }
            })
        })?;
        self.uses.clear();
        let mut clients = Vec::new();
        let mut peers: BTreeMap<PeerId, (f64, f64)> = BTreeMap::new();
        for connection in tcp.iter().filter(|c| c.inode != 0) {
            let local = connection.local.port();
            if self.ports.contains(&local) {
                self.uses.insert(connection.inode, SocketUse::Client);
                if self.front_ports.contains(&local) {
                    clients.push(*connection);
                }
                continue;
            }
            let name = self.name(connection.remote.to_string());
            if let Some(process) = held.get(&connection.inode) {
                let sums = peers.entry((process.clone(), name.clone())).or_default();
                let busy = connection.traffic.is_some_and(|traffic| exchanges::awaits_reply(&traffic));
                *sums = (sums.0 + 1.0, sums.1 + f64::from(u8::from(busy)));
            }
            self.uses.insert(connection.inode, SocketUse::Peer(name));
        }
        let mut upstreams: BTreeSet<Arc<str>> = peers.keys().map(|(_, address)| address.clone()).collect();
        for (inode, peer, path) in unix {
            let name = self.name(run::visible(&format!("unix:{}", path.display())).into_owned());
            self.uses.insert(inode, SocketUse::Client);
            if held.contains_key(&peer) {
                upstreams.insert(name.clone());
            }
            self.uses.insert(peer, SocketUse::Peer(name));
        }
        let peer = |((process, address), (open, busy))| PeerSample { process, address, open, busy };
        let peers = peers.into_iter().map(peer).collect();
        let clients = (!self.front_ports.is_empty()).then(|| exchanges::count(&clients, queued));
        Ok(ConnectionSample { clients, peers, upstreams })
    }

    /// Calls the kernel over a kept socket, which is replaced after an error.
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
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn requests_in_progress_and_unread_ones_are_counted() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut clients: Vec<TcpStream> =
            (0..3).map(|_| TcpStream::connect(server.local_addr().unwrap()).unwrap()).collect();
        let mut accepted: Vec<TcpStream> = (0..3).map(|_| server.accept().unwrap().0).collect();
        // A connection without data is not in progress.
        clients[..2].iter_mut().for_each(|c| c.write_all(b"GET").unwrap());
        let mut buffer = [0; 3];
        accepted[0].read_exact(&mut buffer).unwrap();
        accepted[1].peek(&mut buffer).unwrap();
        let mine: HashMap<u32, Arc<str>> =
            crate::find::sockets_of(std::process::id()).map(|inode| (inode, "app".into())).collect();
        let mut sockets = Sockets::new(None);
        sockets.find_ports(&mine, &HashMap::new()).unwrap();
        sockets.front_ports = HashSet::from([server.local_addr().unwrap().port()]);
        let seen = sockets.read(&mine).unwrap();
        let [open, in_progress, _, unread, queued] = seen.clients.unwrap();
        assert_eq!((open, in_progress, unread, queued), (3.0, 1.0, 1.0, 0.0));
        let address = server.local_addr().unwrap().to_string();
        assert!(seen.upstreams.contains(&*address));
        let peer = seen.peers.iter().find(|peer| *peer.address == *address).unwrap();
        assert_eq!((&*peer.process, peer.open, peer.busy), ("app", 3.0, 2.0));
    }
}
