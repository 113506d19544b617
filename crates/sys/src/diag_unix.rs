//! Unix sockets as the kernel reports them (sock_diag): listeners with their accept queues, and connected pairs.
//! Sources: sock_diag(7), linux/unix_diag.h. According to net/unix/diag.c, `udiag_rqueue` of a listener is the number
//! of waiting connections, and `udiag_wqueue` is the backlog.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::Result;
use crate::diag::Diag;
use crate::netlink::{DumpControl, attributes, u32_at};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const UNIX: u8 = 1;
const STREAM: u8 = 1;
/// Bit of the state LISTEN in a request's set of states, which are numbered as for TCP.
const LISTEN: u32 = 1 << 10;
/// Bit of the state ESTABLISHED in a request's set of states, which are numbered as for TCP.
const ESTABLISHED: u32 = 1 << 1;
/// Attributes requested for a listener: `UDIAG_SHOW_NAME`, `UDIAG_SHOW_VFS` and `UDIAG_SHOW_RQLEN`.
const LISTENER_ATTRIBUTES: u32 = 0x01 | 0x02 | 0x10;
/// Attributes requested for a connection: `UDIAG_SHOW_NAME` and `UDIAG_SHOW_PEER`.
const PAIR_ATTRIBUTES: u32 = 0x01 | 0x04;
const NAME: u16 = 0;
const VFS: u16 = 1;
const PEER: u16 = 2;
const RQLEN: u16 = 4;

/// A listening unix socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnixListener {
    /// Inode of the socket, as shown by the links in /proc/PID/fd.
    pub inode: u32,
    /// Number of connections that wait to be accepted.
    pub queue: u32,
    /// Limit of the accept queue: the smaller of the backlog and somaxconn. The kernel admits one connection more than
    /// the limit.
    pub limit: u32,
}

impl Diag {
    /// Calls `each` with every stream socket of this network namespace that listens on the file `path`. A socket also
    /// matches if its file has the same inode and the same name as `path`. A server may have bound the file by a
    /// relative path or a link, so comparing paths is not enough.
    pub fn unix_listeners(&mut self, path: &Path, mut each: impl FnMut(&UnixListener)) -> Result<()> {
        let file = std::fs::metadata(path).ok().map(|m| m.ino());
        self.ask(SOCK_DIAG_BY_FAMILY, &request(LISTEN, LISTENER_ATTRIBUTES), |payload| {
            let Some((name, vfs, listener)) = listener(payload) else { return DumpControl::Continue };
            let name = as_path(name);
            let same_file = vfs.is_some() && file.map(|ino| ino as u32) == vfs && name.file_name() == path.file_name();
            if name == path || same_file {
                each(&listener);
            }
            DumpControl::Continue
        })
    }

    /// Calls `each` with every connected stream socket of this network namespace. The arguments are the socket's inode,
    /// its peer's inode, and the path of the listener that accepted the socket. The path is empty for the connecting
    /// end and for a socketpair.
    pub fn unix_pairs(&mut self, mut each: impl FnMut(u32, u32, &Path)) -> Result<()> {
        self.ask(SOCK_DIAG_BY_FAMILY, &request(ESTABLISHED, PAIR_ATTRIBUTES), |payload| {
            if let Some((inode, peer, name)) = pair(payload) {
                each(inode, peer, as_path(name));
            }
            DumpControl::Continue
        })
    }
}

fn as_path(name: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(name))
}

/// Builds a `struct unix_diag_req`.
fn request(states: u32, show: u32) -> [u8; 24] {
    let mut out = [0_u8; 24];
    out[0] = UNIX;
    out[4..8].copy_from_slice(&states.to_ne_bytes());
    out[12..16].copy_from_slice(&show.to_ne_bytes());
    // A cookie with all bits set matches any socket.
    out[16..24].fill(0xff);
    out
}

/// Parses `struct unix_diag_msg` (16 bytes, then attributes). Returns the name to which the socket is bound, the inode
/// of the socket's file, and the description of the listening socket.
fn listener(payload: &[u8]) -> Option<(&[u8], Option<u32>, UnixListener)> {
    if payload.get(1) != Some(&STREAM) {
        return None;
    }
    let rest = payload.get(16..)?;
    let find = |kind| attributes(rest).find(|(k, _)| *k == kind).map(|(_, value)| value);
    let lengths = find(RQLEN)?;
    let listener = UnixListener { inode: u32_at(payload, 4)?, queue: u32_at(lengths, 0)?, limit: u32_at(lengths, 4)? };
    Some((until_zero(find(NAME)?), find(VFS).and_then(|vfs| u32_at(vfs, 0)), listener))
}

/// Parses a connected stream socket. Returns the socket's inode, its peer's inode and its name.
fn pair(payload: &[u8]) -> Option<(u32, u32, &[u8])> {
    if payload.get(1) != Some(&STREAM) {
        return None;
    }
    let rest = payload.get(16..)?;
    let find = |kind| attributes(rest).find(|(k, _)| *k == kind).map(|(_, value)| value);
    Some((u32_at(payload, 4)?, u32_at(find(PEER)?, 0)?, find(NAME).map_or(&[][..], until_zero)))
}

/// Returns the name up to its final zero byte. The result is empty for an abstract name, which begins with a zero byte.
fn until_zero(name: &[u8]) -> &[u8] {
    &name[..name.iter().position(|b| *b == 0).unwrap_or(name.len())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::Peer;

    #[test]
    fn each_end_of_a_connection_reports_its_peer() {
        use std::os::fd::AsRawFd as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let server = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let near = std::os::unix::net::UnixStream::connect(&path).unwrap();
        let (far, _) = server.accept().unwrap();
        let inode = |fd: i32| std::fs::metadata(format!("/proc/self/fd/{fd}")).unwrap().ino() as u32;
        let (near, far) = (inode(near.as_raw_fd()), inode(far.as_raw_fd()));
        let mut ends = Vec::new();
        Diag::open().unwrap().unix_pairs(|inode, peer, name| ends.push((inode, peer, name.to_owned()))).unwrap();
        assert!(ends.contains(&(far, near, path)) && ends.contains(&(near, far, "".into())), "{ends:?}");
    }

    fn found(path: &Path) -> Vec<UnixListener> {
        let mut found = Vec::new();
        Diag::open().unwrap().unix_listeners(path, |l| found.push(*l)).unwrap();
        found
    }

    #[test]
    fn a_listener_is_found_by_either_of_two_names_of_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let peer = Peer::unix(&path).unwrap();
        let _server = peer.listen(7).unwrap();
        let waiting = [peer.socket().unwrap(), peer.socket().unwrap()];
        assert!(waiting.iter().all(|fd| peer.connect(fd).is_ok()));
        let listeners = found(&path);
        assert_eq!(listeners.len(), 1, "{listeners:?}");
        assert_eq!((listeners[0].queue, listeners[0].limit), (2, 7));
        let other = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path(), &other).unwrap();
        assert_eq!(found(&other.join("s")), listeners);
        assert!(found(&dir.path().join("t")).is_empty());
    }
}
