//! Destination of a connection: an internet address for TCP or UDP, or the file of a unix socket. Source: unix(7),
//! udp(7).

use std::fmt;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::socket::{self, Connect};
use crate::{Errno, Result};

/// Destination to which a client connects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// An address reached by TCP.
    Inet(SocketAddr),
    /// An address reached by UDP.
    Udp(SocketAddr),
    /// A unix socket on this host.
    Unix(SocketAddrUnix),
}

impl Peer {
    /// Returns the destination for the file of a unix socket. Fails with ENAMETOOLONG for a path of more than 107
    /// bytes.
    pub fn unix(path: &Path) -> Result<Self> {
        SocketAddrUnix::new(path).map(Self::Unix)
    }

    /// Returns true for a unix socket, which has no ports, no segments and no network delays.
    pub const fn is_unix(&self) -> bool {
        matches!(self, Self::Unix(_))
    }

    /// Returns true if data travels as datagrams instead of a stream of bytes.
    pub const fn is_datagram(&self) -> bool {
        matches!(self, Self::Udp(_))
    }

    /// Converts a TCP destination into a UDP destination with the same address. A destination that is a unix socket is
    /// returned unchanged.
    #[must_use]
    pub fn over_udp(self) -> Self {
        match self {
            Self::Inet(addr) => Self::Udp(addr),
            other => other,
        }
    }

    /// Creates a socket that can connect to this peer, non-blocking, closed on exec.
    #[inline]
    pub fn socket(&self) -> Result<OwnedFd> {
        match self {
            Self::Inet(addr) => socket::tcp(*addr),
            Self::Udp(addr) => socket::udp(*addr),
            Self::Unix(_) => net::socket_with(
                AddressFamily::UNIX,
                SocketType::STREAM,
                SocketFlags::NONBLOCK | SocketFlags::CLOEXEC,
                None,
            ),
        }
    }

    /// Starts to connect to this destination. A unix socket connects immediately, or fails with EAGAIN if its accept
    /// queue is full.
    #[inline]
    pub fn connect(&self, fd: impl AsFd) -> Result<Connect> {
        match self {
            Self::Inet(addr) | Self::Udp(addr) => socket::connect(fd, *addr),
            Self::Unix(addr) => net::connect(fd, addr).map(|()| Connect::Done),
        }
    }

    /// Creates a socket that listens at this address, or that receives datagrams there. Fails with EADDRINUSE if the
    /// file of the unix socket exists or the port is in use.
    pub fn listen(&self, backlog: u32) -> Result<OwnedFd> {
        let fd = self.socket()?;
        match self {
            Self::Inet(addr) | Self::Udp(addr) => socket::bind(&fd, *addr)?,
            Self::Unix(addr) => net::bind(&fd, addr)?,
        }
        if !self.is_datagram() {
            socket::listen(&fd, backlog)?;
        }
        Ok(fd)
    }
}

impl From<SocketAddr> for Peer {
    fn from(addr: SocketAddr) -> Self {
        Self::Inet(addr)
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inet(addr) | Self::Udp(addr) => addr.fmt(f),
            Self::Unix(addr) => match addr.path() {
                Some(path) => write!(f, "unix:{}", path.to_string_lossy()),
                None => f.write_str("unix:"),
            },
        }
    }
}

/// Returns true if a connect error means that a unix socket's accept queue is full.
pub const fn queue_is_full(errno: Errno) -> bool {
    errno.raw_os_error() == Errno::AGAIN.raw_os_error()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unix_socket_connects_at_once_and_refuses_when_its_queue_is_full() {
        let dir = tempfile::tempdir().unwrap();
        let peer = Peer::unix(&dir.path().join("s")).unwrap();
        assert_eq!(peer.connect(peer.socket().unwrap()), Err(Errno::NOENT));
        let server = peer.listen(0).unwrap();
        let client = peer.socket().unwrap();
        assert_eq!(peer.connect(&client), Ok(Connect::Done));
        let refused = peer.connect(peer.socket().unwrap()).unwrap_err();
        assert!(queue_is_full(refused), "{refused}");
        let accepted = socket::accept(&server).unwrap();
        assert_eq!(socket::send(&client, b"ping").unwrap(), 4);
        let mut got = [0; 8];
        assert_eq!(socket::recv(&accepted, &mut got).unwrap(), 4);
        assert!(peer.to_string().ends_with("/s") && peer.is_unix());
    }

    #[test]
    fn a_path_that_is_too_long_is_refused() {
        assert_eq!(Peer::unix(Path::new(&"x".repeat(200))), Err(Errno::NAMETOOLONG));
    }
}
