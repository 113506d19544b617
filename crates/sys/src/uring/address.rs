//! Socket addresses in the kernel's format.

use std::net::SocketAddr;

use rustix::net::SocketAddrUnix;
use rustix::net::addr::SocketAddrArg as _;

use crate::peer::Peer;

/// A socket address in the kernel's format.
pub(crate) struct Address {
    pub(crate) storage: libc::sockaddr_storage,
    pub(crate) len: libc::socklen_t,
    pub(super) family: i32,
    /// Type of the sockets that connect to the address: a stream, or datagrams.
    pub(super) kind: i32,
    pub(super) protocol: i32,
}

impl Address {
    pub(crate) fn new(peer: &Peer) -> Self {
        match peer {
            Peer::Inet(addr) => Self::inet(*addr, libc::SOCK_STREAM, libc::IPPROTO_TCP),
            Peer::Udp(addr) => Self::inet(*addr, libc::SOCK_DGRAM, libc::IPPROTO_UDP),
            Peer::Unix(addr) => Self::unix(addr),
        }
    }

    fn unix(addr: &SocketAddrUnix) -> Self {
        // SAFETY: all-zero bytes are a valid sockaddr_storage.
        let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
        let to = (&raw mut storage).cast::<u8>();
        // SAFETY: rustix gives a pointer that is valid for reads of `len` bytes during the call. A sockaddr_un fits
        // into a sockaddr_storage, and the two do not overlap.
        let len = unsafe {
            addr.with_sockaddr(|from, len| {
                let len = len.min(size_of::<libc::sockaddr_storage>() as u32);
                std::ptr::copy_nonoverlapping(from.cast::<u8>(), to, len as usize);
                len
            })
        };
        Self { storage, len, family: libc::AF_UNIX, kind: libc::SOCK_STREAM, protocol: 0 }
    }

    fn inet(addr: SocketAddr, kind: i32, protocol: i32) -> Self {
        // SAFETY: all-zero bytes are a valid sockaddr_storage.
        let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
        let to = &raw mut storage;
        let (len, family) = match addr {
            SocketAddr::V4(v4) => {
                let sin = libc::sockaddr_in {
                    sin_family: libc::AF_INET as libc::sa_family_t,
                    sin_port: v4.port().to_be(),
                    sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                    sin_zero: [0; 8],
                };
                // SAFETY: sockaddr_storage is large and aligned enough for every socket address.
                unsafe { to.cast::<libc::sockaddr_in>().write(sin) };
                (size_of::<libc::sockaddr_in>(), libc::AF_INET)
            }
            SocketAddr::V6(v6) => {
                let sin6 = libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as libc::sa_family_t,
                    sin6_port: v6.port().to_be(),
                    sin6_flowinfo: v6.flowinfo(),
                    sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                    sin6_scope_id: v6.scope_id(),
                };
                // SAFETY: sockaddr_storage is large and aligned enough for every socket address.
                unsafe { to.cast::<libc::sockaddr_in6>().write(sin6) };
                (size_of::<libc::sockaddr_in6>(), libc::AF_INET6)
            }
        };
        Self { storage, len: len as libc::socklen_t, family, kind, protocol }
    }
}
