//! Listening unix sockets with their accept queues, by sock_diag. Source: sock_diag(7), linux/unix_diag.h;
//! net/unix/diag.c: for a listener `udiag_rqueue` is the number that waits and `udiag_wqueue` the backlog.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::Result;
use crate::diag::Diag;
use crate::netlink::{Walk, attributes, u32_at};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const UNIX: u8 = 1;
const STREAM: u8 = 1;
/// The state LISTEN, as TCP numbers it.
const LISTEN: u32 = 1 << 10;
/// What is asked: `UDIAG_SHOW_NAME`, `UDIAG_SHOW_VFS` and `UDIAG_SHOW_RQLEN`.
const SHOW: u32 = 0x01 | 0x02 | 0x10;
const NAME: u16 = 0;
const VFS: u16 = 1;
const RQLEN: u16 = 4;

/// A listening unix socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnixListener {
    /// Inode of the socket, as in the links of /proc/PID/fd.
    pub inode: u32,
    /// Connections that wait to be accepted.
    pub queue: u32,
    /// Limit of that queue: the smaller of the backlog and somaxconn; the queue holds one more.
    pub limit: u32,
}

impl Diag {
    /// The stream sockets of this network namespace that listen on a file. A server may have bound it by another name (a
    /// relative path, a link), so its file counts as well as its name.
    pub fn unix_listeners(&mut self, path: &Path, mut each: impl FnMut(&UnixListener)) -> Result<()> {
        let file = std::fs::metadata(path).ok().map(|m| m.ino());
        self.ask(SOCK_DIAG_BY_FAMILY, &request(), |payload| {
            let Some((name, vfs, listener)) = listener(payload) else { return Walk::On };
            let name = Path::new(OsStr::from_bytes(name));
            let same_file = vfs.is_some() && file.map(|ino| ino as u32) == vfs && name.file_name() == path.file_name();
            if name == path || same_file {
                each(&listener);
            }
            Walk::On
        })
    }
}

/// `struct unix_diag_req`.
fn request() -> [u8; 24] {
    let mut out = [0_u8; 24];
    out[0] = UNIX;
    out[4..8].copy_from_slice(&LISTEN.to_ne_bytes());
    out[12..16].copy_from_slice(&SHOW.to_ne_bytes());
    // No cookie is asked for.
    out[16..24].fill(0xff);
    out
}

/// `struct unix_diag_msg`, 16 bytes, then attributes: the name that was bound, the inode of its file, the socket.
fn listener(payload: &[u8]) -> Option<(&[u8], Option<u32>, UnixListener)> {
    if payload.get(1) != Some(&STREAM) {
        return None;
    }
    let rest = payload.get(16..)?;
    let find = |kind| attributes(rest).find(|(k, _)| *k == kind).map(|(_, value)| value);
    let name = find(NAME)?;
    let lengths = find(RQLEN)?;
    let listener = UnixListener { inode: u32_at(payload, 4)?, queue: u32_at(lengths, 0)?, limit: u32_at(lengths, 4)? };
    let end = name.iter().position(|b| *b == 0).unwrap_or(name.len());
    Some((&name[..end], find(VFS).and_then(|vfs| u32_at(vfs, 0)), listener))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::Peer;

    fn found(path: &Path) -> Vec<UnixListener> {
        let mut found = Vec::new();
        Diag::open().unwrap().unix_listeners(path, |l| found.push(*l)).unwrap();
        found
    }

    #[test]
    fn a_listener_is_described_with_its_queue_under_either_name() {
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
