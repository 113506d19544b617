//! Parameters with which a driver is created.

use std::net::{IpAddr, SocketAddr};

use sys::peer::Peer;

/// Parameters with which a driver is created.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// Number of connections that can exist at a time, including those that wait for a FIN. The indexes of these
    /// connections begin at 0.
    pub(crate) capacity: u32,
    /// Maximum number of descriptors that this shard (generator thread) may have open.
    pub(crate) descriptors: u32,
    /// First address of the server.
    pub(crate) target: Peer,
    /// Further addresses of the server.
    pub(crate) further: Vec<SocketAddr>,
    /// Local addresses, which connects use in rotation. If empty, the kernel chooses the local address.
    pub(crate) sources: Vec<IpAddr>,
    /// Maximum number of writes, and of bytes, that a connection sends before an answer comes. `None` if a request is
    /// sent in several writes.
    pub(crate) burst: Option<(usize, usize)>,
    /// True to set TCP_NODELAY. TCP_NODELAY is needed if a connection sends again before its earlier bytes are
    /// acknowledged.
    pub(crate) nodelay: bool,
    /// True to acknowledge received data at once, without delay. Only the epoll driver supports immediate
    /// acknowledgements.
    pub(crate) quick_ack: bool,
    /// Size of the receive buffer that is requested from the kernel, bytes. Only the epoll driver can set the size of
    /// the receive buffer.
    pub(crate) receive_buffer: Option<u32>,
}

impl Setup {
    /// Returns all addresses of the server.
    pub(crate) fn targets(&self) -> Vec<Peer> {
        std::iter::once(self.target.clone()).chain(self.further_peers()).collect()
    }

    /// Returns the further addresses of the server, which are reached like the first one.
    pub(crate) fn further_peers(&self) -> impl Iterator<Item = Peer> {
        let datagrams = self.target.is_datagram();
        self.further.iter().map(move |&addr| if datagrams { Peer::Udp(addr) } else { Peer::Inet(addr) })
    }

    /// Returns the local addresses to which sockets are bound, with port 0.
    pub(crate) fn source_addrs(&self) -> Vec<SocketAddr> {
        self.sources.iter().map(|&ip| SocketAddr::new(ip, 0)).collect()
    }
}
