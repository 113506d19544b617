//! Sockets of a network namespace by inode: connections of the server's clients, and connections to peers.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sys::diag::{Diag, OtherConnection, SocketName};

use crate::tree::diag_in;

use super::counted::{Counted, MAX_CONNECTIONS};
use super::exchanges::{self, ToPeer, may_be_unread};
use super::round::{ConnectionSample, PeerId, PeerSample};

/// Maximum number of connections to peers that are read again between two dumps (readings of all connections).
const MAX_KNOWN: usize = 32;

/// Sockets of a network namespace, as the kernel lists them.
#[derive(Debug, Default)]
struct Dump {
    /// Connections of the server's clients.
    clients: Counted<OtherConnection>,
    /// Connections that a service behind the server accepted.
    behind: Counted<OtherConnection>,
    /// Connections from a sampled process to a peer.
    held: Counted<OtherConnection>,
    /// All connections that are neither of the server's clients, nor accepted by an upstream, nor from a sampled
    /// process to a peer. If the server and its clients share a machine, these are mostly the clients' ends of the
    /// connections.
    others: Counted<OtherConnection>,
    /// Accepted unix sockets.
    unix: Counted<UnixPair>,
    /// Number of connections that wait in the server's accept queues.
    queued: f64,
}

/// Accepted unix socket: its inode, the inode of the connecting end, and the path of the listener.
type UnixPair = (u32, u32, PathBuf);

/// Connections to each peer.
#[derive(Debug, Default)]
struct PeerSums(BTreeMap<PeerId, Vec<ToPeer>>);

impl PeerSums {
    fn add(&mut self, id: &PeerId, connection: ToPeer) {
        self.0.entry(id.clone()).or_default().push(connection);
    }

    /// Returns the numbers of connections to each peer. `scaled` extrapolates a number of these connections to all
    /// connections.
    fn rows(self, scaled: impl Fn(f64) -> f64) -> Vec<PeerSample> {
        let row = |((process, address), connections): (PeerId, Vec<ToPeer>)| {
            let (open, busy) = (scaled(connections.len() as f64), scaled(exchanges::awaiting(&connections)));
            let received = connections.iter().map(|c| Some((c.own.inode, c.own.traffic?.data_in)));
            let received = received.collect::<Option<_>>().unwrap_or_default();
            PeerSample { process, address, open, busy, received, to: None }
        };
        self.0.into_iter().map(row).collect()
    }
}

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
        let dump = self.dump(held)?;
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

    /// Dumps the sockets of the network namespace. `held` has the sockets of the sampled processes.
    fn dump(&mut self, held: &HashMap<u32, Arc<str>>) -> sys::Result<Dump> {
        let mut found = Dump::default();
        let (front, ports) = (self.front.clone(), self.ports.clone());
        self.over(|diag| {
            for v6 in [false, true] {
                diag.others(v6, 0, true, |connection| {
                    let port = connection.local.port();
                    let kind = match connection.inode {
                        0 => return,
                        _ if connection.is_connecting => return,
                        _ if front.iter().any(|(_, front)| *front == port) => &mut found.clients,
                        _ if ports.contains(&port) => &mut found.behind,
                        inode if held.contains_key(&inode) => &mut found.held,
                        _ => &mut found.others,
                    };
                    kind.add(|| *connection);
                })?;
                diag.listeners(v6, None, |l| {
                    if front.contains(&(v6, l.local.port())) {
                        found.queued += f64::from(l.queue);
                    }
                })?;
            }
            diag.unix_pairs(|inode, peer, name| {
                if name != Path::new("") {
                    found.unix.add(|| (inode, peer, name.to_owned()));
                }
            })
        })?;
        Ok(found)
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
        // The third client sends nothing, so its connection has no request in progress.
        clients[..2].iter_mut().for_each(|c| c.write_all(b"GET").unwrap());
        let mut buffer = [0; 3];
        accepted[0].read_exact(&mut buffer).unwrap();
        accepted[1].peek(&mut buffer).unwrap();
        let mine: HashMap<u32, Arc<str>> =
            crate::find::sockets_of(std::process::id()).map(|inode| (inode, "app".into())).collect();
        let mut sockets = Sockets::new(None);
        sockets.find_ports(&mine, &HashMap::new()).unwrap();
        sockets.front = HashSet::from([(false, server.local_addr().unwrap().port())]);
        let seen = sockets.read(&mine).unwrap();
        let [open, in_progress, _, unread, queued] = seen.clients.unwrap();
        assert_eq!((open, in_progress, unread, queued), (3.0, 1.0, 1.0, 0.0));
        assert_eq!(sockets.read_clients(), seen.clients, "the clients alone");
        let address = server.local_addr().unwrap().to_string();
        let peer = seen.peers.iter().find(|peer| *peer.address == *address).unwrap();
        assert_eq!((&*peer.process, peer.open, peer.busy), ("app", 3.0, 2.0));
        assert_eq!(peer.received.values().copied().collect::<Vec<_>>(), [0; 3]);
        accepted[0].write_all(b"OK").unwrap();
        clients[0].read_exact(&mut buffer[..2]).unwrap();
        // Concurrent tests may also have connections, so only connections to this server are kept.
        let again = testkit::eventually(|| {
            let _ = sockets.read(&mine).unwrap();
            sockets.known.retain(|(_, (_, to))| **to == *address);
            sockets.read_peers()?.into_iter().find(|peer| peer.busy < 2.0)
        });
        assert_eq!((again.open, again.busy, again.received.values().sum::<u32>()), (3.0, 1.0, 1));
    }

    /// The server answers the first request on a connection, and does not read the second request. The server's kernel
    /// acknowledges the second request at once.
    #[test]
    fn a_request_that_waits_unread_at_the_peer_is_busy() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        let mut client = TcpStream::connect(address).unwrap();
        let (mut accepted, _) = server.accept().unwrap();
        client.write_all(b"1").unwrap();
        accepted.read_exact(&mut [0]).unwrap();
        accepted.write_all(b"a").unwrap();
        client.read_exact(&mut [0]).unwrap();
        client.write_all(b"2").unwrap();
        let mine: HashMap<u32, Arc<str>> =
            crate::find::sockets_of(std::process::id()).map(|inode| (inode, "app".into())).collect();
        let mut sockets = Sockets { ports: HashSet::from([address.port()]), ..Sockets::new(None) };
        let busy = |peers: Vec<PeerSample>| {
            peers.into_iter().find(|peer| *peer.address == *address.to_string()).map(|peer| peer.busy)
        };
        assert_eq!(busy(sockets.read(&mine).unwrap().peers), Some(1.0));
        sockets.known.retain(|(_, (_, to))| **to == *address.to_string());
        assert_eq!(busy(sockets.read_peers().unwrap()), Some(1.0), "read again");
        let other_end = sockets.known[0].0.other_end();
        let mut unread = None;
        let asked = sockets.over(|diag| {
            unread = diag.other(&other_end)?.map(|end| end.receive_queue);
            Ok(())
        });
        assert_eq!((asked.is_ok(), unread), (true, Some(1)));
    }

    #[test]
    fn connections_of_small_pools_are_read_again() {
        let connection = |to: &str| (SocketName::default(), ("app".into(), to.into()));
        let known = [vec![connection("large"); MAX_KNOWN], vec![connection("small"); 3]].concat();
        let mut sockets = Sockets { known, ..Sockets::new(None) };
        sockets.keep_small_pools();
        assert_eq!(sockets.known, vec![connection("small"); 3]);
    }

    #[test]
    fn an_event_loop_s_upstream_behind_a_unix_socket_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let server = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let _client = std::os::unix::net::UnixStream::connect(&path).unwrap();
        let _accepted = server.accept().unwrap();
        let mine: HashMap<u32, Arc<str>> =
            crate::find::sockets_of(std::process::id()).map(|inode| (inode, "app".into())).collect();
        let seen = Sockets::new(None).read(&mine).unwrap();
        let address = format!("unix:{}", path.display());
        let peer = seen.peers.into_iter().find(|peer| *peer.address == *address).unwrap();
        assert!(&*peer.process == "app" && peer.open == 1.0 && peer.busy.is_nan(), "{peer:?}");
    }
}
