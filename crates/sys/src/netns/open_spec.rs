//! Specification of a descriptor to open inside a namespace.

use std::ffi::CString;

/// Specification of a descriptor to open inside a namespace.
#[derive(Clone, Debug)]
pub enum OpenSpec {
    /// A file, opened for reading and writing, non-blocking.
    File(CString),
    /// A socket to be created.
    Socket {
        /// Address family: `libc::AF_INET`, `libc::AF_NETLINK`, …
        family: i32,
        /// Socket type: `libc::SOCK_DGRAM`, …; SOCK_CLOEXEC is added.
        kind: i32,
        /// Protocol: `libc::NETLINK_ROUTE`, …; 0 for the default.
        protocol: i32,
    },
}

impl OpenSpec {
    /// A socket for ioctls on interfaces.
    pub const CONTROL: Self = Self::Socket { family: libc::AF_INET, kind: libc::SOCK_DGRAM, protocol: 0 };
    /// A netlink socket of the routing family.
    pub const ROUTE: Self =
        Self::Socket { family: libc::AF_NETLINK, kind: libc::SOCK_RAW, protocol: libc::NETLINK_ROUTE };
    /// A netlink socket of the sock_diag family.
    pub const DIAG: Self =
        Self::Socket { family: libc::AF_NETLINK, kind: libc::SOCK_RAW, protocol: libc::NETLINK_SOCK_DIAG };

    /// A raw packet socket that receives nothing until it is bound.
    pub const FRAMES: Self =
        Self::Socket { family: libc::AF_PACKET, kind: libc::SOCK_RAW | libc::SOCK_NONBLOCK, protocol: 0 };

    /// Returns the specification of `/dev/net/tun`, the device that creates TAP interfaces.
    pub fn tun() -> Self {
        Self::File(c"/dev/net/tun".into())
    }
}
