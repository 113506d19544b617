//! Finds the processes of a server, by its listener or by one process that the user named. The inode of a listening TCP
//! socket comes from sock_diag. If no TCP socket listens on this port, a UDP socket on this port (HTTP/3) is searched.
//! The inode of a UDP socket comes from /proc/net/udp, and /proc/PID/fd shows the processes that have the socket open
//! (its holders). The server consists of all holders and their descendants: a master process, its workers, and helpers.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use run::Address;
use sys::netns::network_id;

use crate::bound_address::{is_same_ip, serves};
use crate::process_tree::{parent_of, pids, server_descendants};
use crate::socket_holders::holders;
use crate::tree::{diag_in, rtnl_in};
use crate::udp_sockets;

/// A server on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Process IDs of the server.
    pub pids: Vec<u32>,
    /// Process ID of one of the server's processes, for `Scope::netns_pid`. `None` if the server and the caller are in
    /// one network namespace.
    pub netns_pid: Option<u32>,
    /// Bound listen address, which may be a wildcard. `None` if the user named a process and no address.
    pub listen: Option<Address>,
}

/// Reason why a server's processes were not found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// The address belongs neither to this machine nor to a network namespace that can be read.
    #[error(
        "{0} is not an address of this machine: its server's counters cannot be read here; name the server's process with --server-pid if it does run here (behind address translation, say)"
    )]
    NotLocal(Address),
    /// The address belongs to this machine, but nothing listens at the address.
    #[error(
        "nothing listens on {0} in this network namespace; start the server, or name its process with --server-pid"
    )]
    NoListener(Address),
    /// A listener exists, but its socket was not found in any process whose descriptors this process may read.
    #[error(
        "something listens on {addr}, but no process that may be looked into holds its socket; {}, or name its process with --server-pid",
        crate::rights::advice("the server's user")
    )]
    NoPermission {
        /// Address that was searched for.
        addr: Address,
        /// Bound address of the listener. The listener's accept queue and the host's counters can be read even if its
        /// processes are unknown.
        listen: Address,
        /// A process of the listener's network namespace, if that differs from the caller's.
        netns_pid: Option<u32>,
    },
    /// The user named a process that does not exist.
    #[error("there is no process {0}; see `ss -ltnp` for who listens where")]
    NoProcess(u32),
    /// A netlink query to the kernel failed.
    #[error("cannot ask the kernel who listens on {addr}: {source}; name the server's process with --server-pid")]
    Kernel {
        /// Address that was searched for.
        addr: Address,
        /// Error of the netlink query.
        source: std::io::Error,
    },
}

/// Returns the server whose process the user named: this process and all its descendants, except
/// loadline's own. `listen` is the address to
/// which the requests go, if it is known.
pub fn named_server(pid: u32, listen: Option<Address>) -> Result<Found, FindError> {
    parent_of(pid).ok_or(FindError::NoProcess(pid))?;
    let netns_pid = sys::netns::elsewhere(pid).and_then(|other| other.then_some(pid));
    let pids = std::iter::once(pid).chain(server_descendants(Path::new("/proc"), &[pid])).collect();
    Ok(Found { pids, netns_pid, listen })
}

/// Finds the server that accepts connections to `at`. Searches this network namespace or, for an address of another
/// namespace, the namespaces of other processes.
pub fn find_server(at: impl Into<Address>) -> Result<Found, FindError> {
    let at = &at.into();
    let kernel = |source| FindError::Kernel { addr: at.clone(), source };
    let addr = match at {
        Address::Inet(addr) => *addr,
        Address::Unix(path) => return of_unix(at, &unix_inodes(path, None).map_err(kernel)?),
    };
    match ask(addr, None).map_err(kernel)? {
        NamespaceAnswer::Listens(sockets) => holders_of(addr, &sockets, None),
        NamespaceAnswer::Silent => Err(FindError::NoListener(at.clone())),
        NamespaceAnswer::Foreign if addr.ip().is_loopback() => Err(FindError::NotLocal(at.clone())),
        NamespaceAnswer::Foreign => elsewhere(addr),
    }
}

/// Returns the inodes of the unix sockets that listen on the file `path`. `netns_pid` is a process in the network
/// namespace to search, or `None` for the caller's namespace.
fn unix_inodes(path: &Path, netns_pid: Option<u32>) -> std::io::Result<Vec<u32>> {
    let mut inodes = Vec::new();
    diag_in(netns_pid)?.unix_listeners(path, |l| inodes.push(l.inode))?;
    Ok(inodes)
}

fn of_unix(at: &Address, inodes: &[u32]) -> Result<Found, FindError> {
    if inodes.is_empty() {
        return Err(FindError::NoListener(at.clone()));
    }
    match holders(inodes) {
        pids if pids.is_empty() => {
            Err(FindError::NoPermission { addr: at.clone(), listen: at.clone(), netns_pid: None })
        }
        pids => Ok(Found { pids, netns_pid: None, listen: Some(at.clone()) }),
    }
}

/// Returns the processes that accept connections to `at`. `netns_pid` is a process in the network namespace of the
/// address, or `None` for the caller's namespace. The result is empty if no process on this machine does so, or if its
/// descriptors may not be read.
pub(crate) fn who_answers(at: &Address, netns_pid: Option<u32>) -> Vec<u32> {
    let addr = match at {
        Address::Inet(addr) => *addr,
        Address::Unix(path) => {
            return unix_inodes(path, netns_pid).map(|inodes| holders(&inodes)).unwrap_or_default();
        }
    };
    match ask(addr, netns_pid) {
        Ok(NamespaceAnswer::Listens((inodes, _))) => holders(&inodes),
        Ok(NamespaceAnswer::Foreign) => elsewhere(addr).map(|found| found.pids).unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// Result of searching one network namespace for an address.
#[derive(Debug)]
enum NamespaceAnswer {
    /// Listeners were found. The values are the inodes of the listening sockets, and the address to which one of the
    /// listening sockets is bound.
    Listens((Vec<u32>, SocketAddr)),
    /// The address belongs to the namespace, but nothing listens at the address.
    Silent,
    /// The address does not belong to the namespace.
    Foreign,
}

/// Searches a network namespace for listeners that accept connections to `addr`. `pid` is a process in the searched
/// namespace, or `None` for the caller's namespace.
fn ask(addr: SocketAddr, pid: Option<u32>) -> std::io::Result<NamespaceAnswer> {
    let ip = addr.ip().to_canonical();
    if !ip.is_unspecified() && !rtnl_in(pid)?.is_local(ip)? {
        return Ok(NamespaceAnswer::Foreign);
    }
    let mut inodes = Vec::new();
    let mut bound = None;
    let (mut diag, mut failed) = (diag_in(pid)?, None);
    for v6 in [false, true] {
        let asked = diag.listeners(v6, Some(addr.port()), |l| {
            if serves(l.local, l.v6_only, addr) {
                inodes.push(l.inode);
                // Prefer an exact address to a wildcard, because an exact address identifies the server better.
                bound = Some(l.local).filter(|b| is_same_ip(*b, addr)).or(bound).or(Some(l.local));
            }
        });
        failed = asked.err().or(failed);
    }
    // A file lists the UDP sockets, also if the kernel cannot list the TCP sockets.
    match (bound.map(|bound| (inodes, bound)).or_else(|| udp_sockets::receivers(addr, pid)), failed) {
        (Some(listens), _) => Ok(NamespaceAnswer::Listens(listens)),
        (None, Some(error)) => Err(error.into()),
        (None, None) => Ok(NamespaceAnswer::Silent),
    }
}

/// Searches all network namespaces that some process uses, except the caller's.
fn elsewhere(addr: SocketAddr) -> Result<Found, FindError> {
    for pid in one_process_a_namespace() {
        if let Ok(NamespaceAnswer::Listens(sockets)) = ask(addr, Some(pid)) {
            return holders_of(addr, &sockets, Some(pid));
        }
    }
    Err(FindError::NotLocal(addr.into()))
}

/// Returns one process of every network namespace except the caller's.
fn one_process_a_namespace() -> Vec<u32> {
    let id = |pid: &str| network_id(&Path::new("/proc").join(pid)).ok();
    let ours = id("self");
    let mut found = BTreeMap::new();
    for pid in pids(Path::new("/proc")) {
        if let Some(ns) = id(&pid.to_string()) {
            found.entry(ns).or_insert(pid);
        }
    }
    found.into_iter().filter(|(ns, _)| Some(*ns) != ours).map(|(_, pid)| pid).collect()
}

fn holders_of(addr: SocketAddr, found: &(Vec<u32>, SocketAddr), netns: Option<u32>) -> Result<Found, FindError> {
    let (inodes, listen) = found;
    let pids = holders(inodes);
    let Some(&first) = pids.first() else {
        return Err(FindError::NoPermission { addr: addr.into(), listen: (*listen).into(), netns_pid: netns });
    };
    Ok(Found { pids, netns_pid: netns.map(|_| first), listen: Some((*listen).into()) })
}

#[cfg(test)]
mod tests;
