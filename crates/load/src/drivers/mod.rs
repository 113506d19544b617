//! The client drivers: one file each, one row in [`DRIVERS`].

pub(crate) mod epoll;
pub(crate) mod null;
pub(crate) mod sim;
pub(crate) mod uring;

use std::net::{IpAddr, SocketAddr};

/// One row of [`DRIVERS`].
#[derive(Clone, Copy, Debug)]
pub struct DriverSpec {
    /// Name in plans and flags.
    pub name: &'static str,
    /// What it is, in one line.
    pub help: &'static str,
}

/// Every client driver.
pub const DRIVERS: &[DriverSpec] = &[
    DriverSpec { name: "epoll", help: "edge-triggered readiness, one read and one write a request, no epoll_ctl" },
    DriverSpec {
        name: "uring",
        help: "io_uring: registered files, multishot receive into a buffer ring, batched sends",
    },
    DriverSpec {
        name: "null",
        help: "no network: every request is answered at once; shows the generator's own ceiling",
    },
    DriverSpec { name: "sim", help: "no network: virtual clock and a queueing model; exact and repeatable" },
];

/// What a driver is made from.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// Connection numbers go from 0 to one below this.
    pub(crate) capacity: u32,
    /// Descriptors that this shard may have at the same time.
    pub(crate) descriptors: u32,
    /// The server.
    pub(crate) target: SocketAddr,
    /// Local addresses, taken in turn; empty lets the kernel choose.
    pub(crate) sources: Vec<IpAddr>,
    /// Writes and bytes that one connection may have to send before an answer comes; absent when a request takes several
    /// writes.
    pub(crate) burst: Option<(usize, usize)>,
    /// Sets TCP_NODELAY: needed when a connection writes again before everything is acknowledged.
    pub(crate) nodelay: bool,
}

impl Setup {
    /// The sources as addresses to bind to.
    pub(crate) fn source_addrs(&self) -> Vec<SocketAddr> {
        self.sources.iter().map(|&ip| SocketAddr::new(ip, 0)).collect()
    }
}
