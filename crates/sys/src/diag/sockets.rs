//! Sockets as the kernel describes them. New kernels only append fields to the structures, so fields that an older
//! kernel lacks are `None`.

use std::net::SocketAddr;

/// A listening socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Address that the listener is bound to.
    pub local: SocketAddr,
    /// Inode of the socket, as shown by the links in /proc/PID/fd.
    pub inode: u32,
    /// Number of connections that wait to be accepted.
    pub queue: u32,
    /// Limit of the accept queue: the smaller of the backlog and somaxconn. The kernel admits one connection more than
    /// the limit.
    pub limit: u32,
    /// Number of connection requests dropped at this socket; `None` if the kernel does not report this number.
    pub drops: Option<u32>,
    /// True for an IPv6 socket that accepts no IPv4 connections.
    pub v6_only: bool,
}

/// An established connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Connection {
    /// Local address of the connection.
    pub local: SocketAddr,
    /// Remote address of the connection.
    pub remote: SocketAddr,
    /// Number of bytes received but not yet read by the program.
    pub receive_queue: u32,
    /// Number of bytes written by the program but not yet acknowledged by the peer.
    pub send_queue: u32,
    /// True if the send buffer is so full that a writer waits; `None` if the kernel does not report how full the buffer
    /// is.
    pub write_full: Option<bool>,
    /// Figures from the kernel's structure `tcp_info`; `None` if the kernel left the structure out.
    pub info: Option<TcpInfo>,
    /// Identity of the socket, by which [`super::Diag::connection`] finds the socket again.
    pub name: SocketName,
}

/// The kernel's identity of a socket: addresses, interface and a cookie. No later socket with these addresses has the
/// same cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketName {
    pub(super) family: u8,
    pub(super) id: [u8; 48],
}

impl SocketName {
    /// Returns the name of the connection's other end: addresses and ports are exchanged. The kernel finds the other
    /// socket by this name only if both ends are in one network namespace. The cookie of the other end is unknown, so
    /// the name matches any cookie. Source: Linux, inet_diag.h, `struct inet_diag_sockid`: ports, addresses of 16
    /// bytes, interface and cookie.
    pub fn other_end(&self) -> Self {
        const NO_COOKIE: [u8; 8] = [0xFF; 8];
        let mut id = self.id;
        id[..2].copy_from_slice(&self.id[2..4]);
        id[2..4].copy_from_slice(&self.id[..2]);
        id[4..20].copy_from_slice(&self.id[20..36]);
        id[20..36].copy_from_slice(&self.id[4..20]);
        id[40..].copy_from_slice(&NO_COOKIE);
        Self { family: self.family, id }
    }
}

impl Default for SocketName {
    fn default() -> Self {
        Self { family: 0, id: [0; 48] }
    }
}

/// The fields of `struct tcp_info` that loadline uses. Times are in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TcpInfo {
    /// Smoothed round-trip time.
    pub rtt_us: u32,
    /// Timeout of the timer for delayed ACKs, microseconds.
    pub ato_us: u32,
    /// Maximum segment size that is sent, bytes.
    pub send_mss: u32,
    /// Number of segments in flight: sent but not acknowledged.
    pub unacked: u32,
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Number of segments retransmitted since the connection began.
    pub total_retrans: u32,
    /// Smallest observed round-trip time (since kernel 4.6).
    pub min_rtt_us: Option<u32>,
    /// Latest measured delivery rate in bytes per second (since kernel 4.9).
    pub delivery_rate: Option<u64>,
    /// Time in which the connection had data to send (since kernel 4.10).
    pub busy_us: Option<u64>,
    /// Part of `busy_us` in which the peer's receive window blocked sending (since kernel 4.10).
    pub rwnd_limited_us: Option<u64>,
    /// Part of `busy_us` in which the connection's own send buffer limited sending (since kernel 4.10).
    pub sndbuf_limited_us: Option<u64>,
    /// Number of bytes that the program wrote but the kernel has not yet sent (since kernel 4.6).
    pub unsent: Option<u32>,
    /// Receive window that the peer last advertised, in bytes (since kernel 5.4).
    pub peer_window: Option<u32>,
}

/// A connection that is established or being opened, as [`super::Diag::others`] and [`super::Diag::accepted`] describe
/// it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OtherConnection {
    /// Local address of the connection.
    pub local: SocketAddr,
    /// Remote address of the connection.
    pub remote: SocketAddr,
    /// Inode of the socket; 0 while the connection waits to be accepted.
    pub inode: u32,
    /// Number of bytes that arrived but were not yet read by the program.
    pub receive_queue: u32,
    /// True if this end is opening the connection and has no answer yet (SYN_SENT).
    pub is_connecting: bool,
    /// Counters and times of sent and received data. `None` if the request did not ask for traffic, or on kernels
    /// before 4.6.
    pub traffic: Option<Traffic>,
    /// Identity of the socket, by which [`super::Diag::other`] finds the socket again.
    pub name: SocketName,
}

/// Counters of sent and received segments, and the times since data was last sent and received, from `struct tcp_info`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of segments with data that were sent since the connection began.
    pub data_out: u32,
    /// Number of segments with data that were received since the connection began.
    pub data_in: u32,
    /// Milliseconds since data was last sent.
    pub sent_ms_ago: u32,
    /// Milliseconds since data last arrived.
    pub received_ms_ago: u32,
    /// Number of sent segments that the peer has not acknowledged.
    pub unacknowledged: u32,
    /// Milliseconds since the last acknowledgement arrived, even if it acknowledged no new data.
    pub acknowledged_ms_ago: u32,
}

/// Selects the connections of a dump by their ports; `None` selects all ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionFilter {
    /// Selects a server's connections, by the server's local port.
    pub local_port: Option<u16>,
    /// Selects a client's connections, by the remote port.
    pub remote_port: Option<u16>,
}
