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
use crate::process_tree::{descendants, own_line, parent_of, pids, server_descendants};
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

/// Returns the processes that have a socket with one of the given inodes open, and their descendants. The result is
/// empty if no such process was found, for example because its descriptors may not be read.
fn holders(inodes: &[u32]) -> Vec<u32> {
    let proc = Path::new("/proc");
    let all: Vec<u32> = pids(proc).filter(|pid| holds_any(*pid, inodes)).collect();
    if all.is_empty() { all } else { family(proc, &all) }
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

/// Returns the holders of a socket and their descendants, with two exceptions. A service manager may have created the
/// socket for its service (socket activation), and still has it open. If another process has the socket open, too, the
/// result leaves out the service manager. The returned list has no descendants of a service manager, of the calling
/// process, or of an ancestor of the calling process.
fn family(proc: &Path, holders: &[u32]) -> Vec<u32> {
    let own_line = own_line(proc);
    let manager = |pid: &u32| is_manager(proc, *pid);
    let mut servers: Vec<u32> = holders.iter().copied().filter(|pid| !manager(pid)).collect();
    if servers.is_empty() {
        servers = holders.to_vec();
    }
    // The calling process, its ancestors and service managers also have children that are not part of the server.
    let parents_of_more: Vec<u32> =
        servers.iter().copied().filter(|pid| !own_line.contains(pid) && !manager(pid)).collect();
    servers.extend(descendants(proc, &parents_of_more));
    servers.sort_unstable();
    servers.dedup();
    servers
}

/// Returns true for a service manager: it may hold a service's socket, but has many children of other services.
pub(crate) fn is_manager(proc: &Path, pid: u32) -> bool {
    let comm = std::fs::read(proc.join(format!("{pid}/comm"))).unwrap_or_default();
    is_manager_called(pid, comm.trim_ascii())
}

/// Returns true for a service manager with this process ID and name.
pub(crate) fn is_manager_called(pid: u32, name: &[u8]) -> bool {
    pid == 1 || name == b"systemd"
}

/// Returns true if a process has one of the sockets in `inodes` open. Returns false if the process's descriptors cannot
/// be read.
fn holds_any(pid: u32, inodes: &[u32]) -> bool {
    sockets_of(pid).any(|found| inodes.contains(&found))
}

/// Returns true if one of the processes in `pids` has a socket open, or an io_uring, which may keep sockets open. Every
/// server has at least one socket or io_uring open. Returns `None` if no socket and no io_uring was found, but the
/// descriptors of some process could not be read.
pub fn holds_sockets(pids: &[u32]) -> Option<bool> {
    let holds = |pid: &u32| -> Option<bool> {
        let links = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
        let mut links = links.filter_map(|fd| std::fs::read_link(fd.ok()?.path()).ok());
        Some(links.any(|to| to.to_str().is_some_and(|to| to.starts_with("socket:[") || to.contains("io_uring"))))
    };
    let all: Vec<Option<bool>> = pids.iter().map(holds).collect();
    match all.contains(&Some(true)) {
        true => Some(true),
        false => (!all.contains(&None)).then_some(false),
    }
}

/// Returns the inodes of the sockets that a process has open. The result is empty if the process's descriptors cannot
/// be read.
pub(crate) fn sockets_of(pid: u32) -> impl Iterator<Item = u32> {
    let inode = |link: std::path::PathBuf| -> Option<u32> {
        link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    };
    let folder = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten();
    folder.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok()).filter_map(inode)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_listener_is_found_by_any_of_its_addresses() {
        let server = TcpListener::bind("0.0.0.0:0").unwrap();
        let (port, me) = (server.local_addr().unwrap().port(), [std::process::id()]);
        for ip in ["127.0.0.1", "127.0.0.9"] {
            let at = Address::Inet(format!("{ip}:{port}").parse().unwrap());
            // A child forked by a concurrent test may hold a copy of the socket for a moment.
            let found = testkit::eventually(|| Some(find_server(at.clone()).unwrap()).filter(|f| f.pids == me));
            assert_eq!((found.netns_pid, found.listen), (None, server.local_addr().ok().map(Address::from)));
        }
    }

    #[test]
    fn a_udp_socket_leads_to_its_holder() {
        let server = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let (at, me) = (server.local_addr().unwrap(), [std::process::id()]);
        let found = testkit::eventually(|| Some(find_server(at).unwrap()).filter(|f| f.pids == me));
        assert_eq!((found.netns_pid, found.listen), (None, Some(Address::Inet(at))));
    }

    #[test]
    fn a_unix_socket_leads_to_its_holder() {
        let dir = tempfile::tempdir().unwrap();
        let at = Address::Unix(dir.path().join("s"));
        let error = find_server(at.clone()).unwrap_err();
        assert!(matches!(error, FindError::NoListener(_)) && error.to_string().contains("/s "), "{error}");
        let _server = std::os::unix::net::UnixListener::bind(dir.path().join("s")).unwrap();
        let me = [std::process::id()];
        let found = testkit::eventually(|| Some(find_server(at.clone()).unwrap()).filter(|f| f.pids == me));
        assert_eq!((found.netns_pid, found.listen), (None, Some(at)));
    }

    #[test]
    fn a_named_process_is_found_with_those_below_it() {
        let below = testkit::ChildProcess::start(std::process::Command::new("sleep").arg("60"));
        let found = named_server(std::process::id(), None).unwrap();
        assert_eq!((found.pids[0], found.netns_pid, found.listen), (std::process::id(), None, None));
        assert!(found.pids.contains(&below.pid()), "{:?}", found.pids);
        let error = named_server(u32::MAX, None).unwrap_err();
        assert!(error.to_string().starts_with("there is no process 4294967295"), "{error}");
    }

    #[test]
    fn each_reason_for_not_finding_a_server_has_advice() {
        let (_bound, free) = testkit::refusing();
        let error = find_server(free).unwrap_err();
        assert!(matches!(error, FindError::NoListener(_)) && error.to_string().contains("--server-pid"), "{error}");
        let error = find_server(Address::Inet("192.0.2.1:80".parse().unwrap())).unwrap_err();
        assert!(matches!(error, FindError::NotLocal(_)) && error.to_string().contains("--server-pid"), "{error}");
    }
}
