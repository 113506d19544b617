//! Processes that have a socket open, found through /proc/PID/fd.

use std::path::Path;

use crate::process_tree::{descendants, own_line, pids};

/// Returns the processes that have a socket with one of the given inodes open, and their descendants. The result is
/// empty if no such process was found, for example because its descriptors may not be read.
pub(crate) fn holders(inodes: &[u32]) -> Vec<u32> {
    let proc = Path::new("/proc");
    let all: Vec<u32> = pids(proc).filter(|pid| holds_any(*pid, inodes)).collect();
    if all.is_empty() { all } else { family(proc, &all) }
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
