//! What a driver is made from.

use std::net::{IpAddr, SocketAddr};

use sys::peer::Peer;

/// What a driver is made from.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// Connection numbers go from 0 to one below this.
    pub(crate) capacity: u32,
    /// Descriptors that this shard may have at the same time.
    pub(crate) descriptors: u32,
    /// The server.
    pub(crate) target: Peer,
    /// Local addresses, taken in turn; empty lets the kernel choose.
    pub(crate) sources: Vec<IpAddr>,
    /// Writes and bytes that one connection may have to send before an answer comes; absent when a request takes several
    /// writes.
    pub(crate) burst: Option<(usize, usize)>,
    /// Sets TCP_NODELAY: needed when a connection writes again before everything is acknowledged.
    pub(crate) nodelay: bool,
    /// Acknowledges at once after each request; only the epoll driver does.
    pub(crate) quick_ack: bool,
    /// Receive buffer to ask for, bytes; only the epoll driver does.
    pub(crate) receive_buffer: Option<u32>,
}

impl Setup {
    /// The sources as addresses to bind to.
    pub(crate) fn source_addrs(&self) -> Vec<SocketAddr> {
        self.sources.iter().map(|&ip| SocketAddr::new(ip, 0)).collect()
    }
}
