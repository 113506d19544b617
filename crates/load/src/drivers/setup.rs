//! Parameters of a driver.

use std::net::{IpAddr, SocketAddr};

use sys::peer::Peer;

/// Parameters of a driver.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// Number of connections; they are numbered from 0.
    pub(crate) capacity: u32,
    /// Maximum number of open descriptors for this shard.
    pub(crate) descriptors: u32,
    /// Address of the server.
    pub(crate) target: Peer,
    /// Further addresses of the server.
    pub(crate) further: Vec<SocketAddr>,
    /// Local addresses, used in rotation. Without local addresses in the plan, the kernel chooses the address.
    pub(crate) sources: Vec<IpAddr>,
    /// Maximum number of writes, and of bytes, that one connection sends before an answer comes. Absent if a request is
    /// sent in several writes.
    pub(crate) burst: Option<(usize, usize)>,
    /// True to set TCP_NODELAY. The option is needed if a connection sends again before everything was acknowledged.
    pub(crate) nodelay: bool,
    /// True to send acknowledgements at once after each request; only the epoll driver supports this.
    pub(crate) quick_ack: bool,
    /// Receive buffer size to request, in bytes; only the epoll driver supports it.
    pub(crate) receive_buffer: Option<u32>,
}

impl Setup {
    /// Returns all addresses of the server.
    pub(crate) fn targets(&self) -> Vec<Peer> {
        std::iter::once(self.target.clone()).chain(self.further.iter().copied().map(Peer::from)).collect()
    }

    /// Returns the sources as addresses to bind to.
    pub(crate) fn source_addrs(&self) -> Vec<SocketAddr> {
        self.sources.iter().map(|&ip| SocketAddr::new(ip, 0)).collect()
    }
}
