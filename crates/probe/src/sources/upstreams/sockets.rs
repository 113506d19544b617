//! Reads the sockets of the server's network namespace from the kernel.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use run::Address;
use sys::diag::{Diag, Listener, OtherConnection, SocketName, Traffic};

use super::limits::MAX_ENDS;
use super::same_port::SamePort;
use crate::tree::Tree;

/// The connecting end of a connection.
pub(super) struct ConnectionEnd {
    /// Inode of the socket.
    pub(super) inode: u32,
    /// Address of the connection's other end.
    pub(super) to: Address,
    pub(super) traffic: Option<Traffic>,
    /// True if a request waits at the other end, because the upstream has not read it or not accepted the connection.
    pub(super) is_unread: bool,
    /// Identity of a TCP socket, by which the kernel finds the socket again; `None` for a unix socket.
    pub(super) name: Option<SocketName>,
}

/// The sockets of a network namespace, without those of the server's own clients.
#[derive(Default)]
pub(super) struct Sockets {
    pub(super) ends: Vec<ConnectionEnd>,
    pub(super) listeners: Vec<Listener>,
    /// Unread bytes on accepted connections, by local address.
    pub(super) unread: HashMap<SocketAddr, f64>,
}

/// Returns the sockets of the server's network namespace, without those of the server's own clients. `describe` asks
/// the kernel for the traffic on each connection, too.
pub(super) fn read(
    diag: &mut Diag,
    tree: &Tree,
    listen: &Address,
    describe: bool,
    same_port: &mut SamePort,
) -> io::Result<Sockets> {
    let mut found = Sockets::default();
    let mut tcp: Vec<OtherConnection> = Vec::new();
    for v6 in [false, true] {
        diag.listeners(v6, None, |l| found.listeners.push(*l))?;
        diag.others(v6, listen.inet().map_or(0, |a| a.port()), describe, |connection| {
            if tcp.len() < MAX_ENDS {
                tcp.push(*connection);
            }
        })?;
    }
    if let Some(server) = listen.inet() {
        same_port.add((diag, tree), server, describe, &mut tcp)?;
    }
    found.add_tcp(tcp);
    found.ends.extend(unix_ends(diag, listen)?);
    Ok(found)
}

impl Sockets {
    /// Adds TCP sockets. The sockets at the port of a listener are accepting ends, and all others are connecting ends.
    fn add_tcp(&mut self, tcp: Vec<OtherConnection>) {
        let listening: HashSet<u16> = self.listeners.iter().map(|l| l.local.port()).collect();
        let has_unread = |end: &&OtherConnection| listening.contains(&end.local.port()) && end.receive_queue > 0;
        let unread: HashSet<[SocketAddr; 2]> =
            tcp.iter().filter(has_unread).map(|end| [end.local, end.remote]).collect();
        for OtherConnection { local, remote, inode, receive_queue, is_connecting, traffic, name } in tcp {
            if listening.contains(&local.port()) {
                *self.unread.entry(local).or_default() += f64::from(receive_queue);
            } else if inode != 0 {
                let (to, name) = (Address::Inet(remote), Some(name));
                let is_unread = is_connecting || unread.contains(&[remote, local]);
                self.ends.push(ConnectionEnd { inode, to, traffic, is_unread, name });
            }
        }
    }
}

/// Returns the connecting ends of unix connections. Only the accepting end of a connection has a path: the path of the
/// listener that accepted the connection.
pub(super) fn unix_ends(diag: &mut Diag, listen: &Address) -> io::Result<Vec<ConnectionEnd>> {
    let mut accepted: Vec<(u32, PathBuf)> = Vec::new();
    diag.unix_pairs(|_, peer, name| {
        let own = matches!(listen, Address::Unix(path) if path == name);
        if name != Path::new("") && !own && accepted.len() < MAX_ENDS {
            accepted.push((peer, name.to_owned()));
        }
    })?;
    let end =
        |(inode, path)| ConnectionEnd { inode, to: Address::Unix(path), traffic: None, is_unread: false, name: None };
    Ok(accepted.into_iter().map(end).collect())
}
