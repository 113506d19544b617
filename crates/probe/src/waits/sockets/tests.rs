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
        crate::socket_holders::sockets_of(std::process::id()).map(|inode| (inode, "app".into())).collect();
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
        crate::socket_holders::sockets_of(std::process::id()).map(|inode| (inode, "app".into())).collect();
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
        crate::socket_holders::sockets_of(std::process::id()).map(|inode| (inode, "app".into())).collect();
    let seen = Sockets::new(None).read(&mine).unwrap();
    let address = format!("unix:{}", path.display());
    let peer = seen.peers.into_iter().find(|peer| *peer.address == *address).unwrap();
    assert!(&*peer.process == "app" && peer.open == 1.0 && peer.busy.is_nan(), "{peer:?}");
}
