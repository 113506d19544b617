//! Lists the sockets of a network namespace, by the role that each socket has for the sampled processes.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sys::diag::{Diag, OtherConnection};

use super::super::counted::Counted;

/// Sockets of a network namespace, as the kernel lists them.
#[derive(Debug, Default)]
pub(super) struct Dump {
    /// Connections of the server's clients.
    pub(super) clients: Counted<OtherConnection>,
    /// Connections that a service behind the server accepted.
    pub(super) behind: Counted<OtherConnection>,
    /// Connections from a sampled process to a peer.
    pub(super) held: Counted<OtherConnection>,
    /// All connections that are neither of the server's clients, nor accepted by an upstream, nor from a sampled
    /// process to a peer. If the server and its clients share a machine, these are mostly the clients' ends of the
    /// connections.
    pub(super) others: Counted<OtherConnection>,
    /// Accepted unix sockets.
    pub(super) unix: Counted<UnixPair>,
    /// Number of connections that wait in the server's accept queues.
    pub(super) queued: f64,
}

/// Accepted unix socket: its inode, the inode of the connecting end, and the path of the listener.
pub(super) type UnixPair = (u32, u32, PathBuf);

/// Dumps the sockets of the network namespace. `held` has the sockets of the sampled processes, `front` the
/// ports of the server, and `ports` those of all sampled processes.
pub(super) fn dump(
    diag: &mut Diag,
    held: &HashMap<u32, Arc<str>>,
    front: &HashSet<(bool, u16)>,
    ports: &HashSet<u16>,
) -> sys::Result<Dump> {
    let mut found = Dump::default();
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
    })?;
    Ok(found)
}
