//! TCP and UDP sockets, non-blocking and closed on exec, with one function per system call. Sockets are
//! [`OwnedFd`]s, which take only 4 bytes even in an `Option`. Source: socket(7), tcp(7), udp(7), ip(7).

use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::net::{
    self, AddressFamily, RecvFlags, SendFlags, Shutdown, SocketAddrAny, SocketFlags, SocketType, ipproto, sockopt,
};

use crate::{Errno, Result};

/// Socket option of ip(7) that the libc crate does not define on every target.
const IP_BIND_ADDRESS_NO_PORT: libc::c_int = 24;

/// State of a connect after the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connect {
    /// The connection is established.
    Done,
    /// The connect is in progress: a SYN was sent. The socket becomes writable when the result is known (see
    /// [`take_error`]).
    InProgress,
}

/// Creates a TCP socket of the address's family, non-blocking, closed on exec.
#[inline]
pub fn tcp(family_of: SocketAddr) -> Result<OwnedFd> {
    let family = if family_of.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    net::socket_with(family, SocketType::STREAM, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, Some(ipproto::TCP))
}

/// Creates a UDP socket of the address's family, non-blocking, closed on exec.
pub fn udp(family_of: SocketAddr) -> Result<OwnedFd> {
    let family = if family_of.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    net::socket_with(family, SocketType::DGRAM, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, Some(ipproto::UDP))
}

/// Binds to a local address. If the port is 0, the kernel chooses a port.
#[inline]
pub fn bind(fd: impl AsFd, addr: SocketAddr) -> Result<()> {
    net::bind(fd, &addr)
}

/// Lets connect() instead of bind() choose the port. Call this function before [`bind`] to a local address with port 0.
/// With the option set, the kernel may choose a port that is already in use for another destination.
#[inline]
pub fn bind_address_no_port(fd: impl AsFd) -> Result<()> {
    set_int(fd, libc::IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
}

/// Starts to connect a TCP or UDP socket.
#[inline]
pub fn connect(fd: impl AsFd, addr: SocketAddr) -> Result<Connect> {
    match net::connect(fd, &addr) {
        Ok(()) => Ok(Connect::Done),
        Err(Errno::INPROGRESS) => Ok(Connect::InProgress),
        Err(e) => Err(e),
    }
}

/// Puts a socket back into its state before connect(). A local address that was bound explicitly remains bound
/// (connect(2), AF_UNSPEC). In the state SYN_SENT, neither this call nor close() sends a packet.
#[inline]
pub fn disconnect(fd: impl AsFd) -> Result<()> {
    net::connect_unspec(fd)
}

/// Listens; the kernel limits the backlog to net.core.somaxconn.
pub fn listen(fd: impl AsFd, backlog: u32) -> Result<()> {
    net::listen(fd, i32::try_from(backlog).unwrap_or(i32::MAX))
}

/// Takes a connection from the accept queue. The returned socket is non-blocking and closed on exec. Fails with EAGAIN
/// if no connection is waiting.
#[inline]
pub fn accept(fd: impl AsFd) -> Result<OwnedFd> {
    net::accept_with(fd, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)
}

/// Writes without raising SIGPIPE. Fails with EAGAIN if the send buffer is full.
#[inline]
pub fn send(fd: impl AsFd, bytes: &[u8]) -> Result<usize> {
    net::send(fd, bytes, SendFlags::NOSIGNAL)
}

/// Writes, and tells the kernel that more data follows immediately (MSG_MORE).
#[inline]
pub fn send_more(fd: impl AsFd, bytes: &[u8]) -> Result<usize> {
    net::send(fd, bytes, SendFlags::NOSIGNAL | SendFlags::MORE)
}

/// Reads the bytes that are available on a socket. Returns 0 if the peer has closed its sending side. Fails with EAGAIN
/// if no data is available.
#[inline]
pub fn recv(fd: impl AsFd, into: &mut [u8]) -> Result<usize> {
    net::recv(fd, into, RecvFlags::empty()).map(|(n, _)| n)
}

/// Reads and clears the socket's pending error (SO_ERROR). After a connect, the pending error is the result of the
/// connect.
#[inline]
pub fn take_error(fd: impl AsFd) -> Result<()> {
    match sockopt::socket_error(fd) {
        Ok(outcome) => outcome,
        Err(e) => Err(e),
    }
}

/// Returns the number of sent bytes that the peer has not acknowledged (tcp(7), SIOCOUTQ).
pub fn unacknowledged(fd: impl AsFd) -> Result<usize> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the call writes one integer to the pointer, and the descriptor is borrowed for the call.
    let r = unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if r == 0 { Ok(usize::try_from(bytes).unwrap_or(0)) } else { Err(crate::last_errno()) }
}

/// Closes the sending side, so the peer reads an end of file.
pub fn shutdown_write(fd: impl AsFd) -> Result<()> {
    net::shutdown(fd, Shutdown::Write)
}

/// Turns Nagle's algorithm off if `on` is true, and on otherwise. Without Nagle's algorithm, small segments are sent
/// immediately.
#[inline]
pub fn set_nodelay(fd: impl AsFd, on: bool) -> Result<()> {
    sockopt::set_tcp_nodelay(fd, on)
}

/// Allows binding to an address whose old connections are in TIME_WAIT.
pub fn set_reuse_address(fd: impl AsFd, on: bool) -> Result<()> {
    sockopt::set_socket_reuseaddr(fd, on)
}

/// Allows several listeners on one address. The kernel spreads connections over all listeners on the address.
pub fn set_reuse_port(fd: impl AsFd, on: bool) -> Result<()> {
    sockopt::set_socket_reuseport(fd, on)
}

/// Makes close() send a reset instead of a FIN, without TIME_WAIT. Data that the peer has not received is lost. Some
/// systems also discard data that the peer has received but has not read.
pub fn set_reset_on_close(fd: impl AsFd) -> Result<()> {
    sockopt::set_socket_linger(fd, Some(std::time::Duration::ZERO))
}

/// Sets the congestion control by its name in net.ipv4.tcp_available_congestion_control. Connections that a listener
/// accepts inherit its congestion control.
pub fn set_congestion(fd: impl AsFd, name: &str) -> Result<()> {
    sockopt::set_tcp_congestion(fd, name)
}

/// Sets the size of the receive buffer in bytes. The kernel limits the size to net.core.rmem_max and then doubles it.
pub fn set_recv_buffer(fd: impl AsFd, bytes: usize) -> Result<()> {
    sockopt::set_socket_recv_buffer_size(fd, bytes)
}

/// Sets the size of the send buffer in bytes. The kernel limits the size to net.core.wmem_max and then doubles it.
pub fn set_send_buffer(fd: impl AsFd, bytes: usize) -> Result<()> {
    sockopt::set_socket_send_buffer_size(fd, bytes)
}

/// Turns immediate acknowledgements on or off (TCP_QUICKACK). The kernel may later turn immediate acknowledgements on
/// or off by itself.
pub fn set_quick_ack(fd: impl AsFd, on: bool) -> Result<()> {
    sockopt::set_tcp_quickack(fd, on)
}

/// Returns the local address of a socket.
pub fn local_addr(fd: impl AsFd) -> Result<SocketAddr> {
    SocketAddr::try_from(net::getsockname(fd)?).map_err(|_| Errno::AFNOSUPPORT)
}

/// Returns the address of a socket's peer.
pub fn peer_addr(fd: impl AsFd) -> Result<SocketAddr> {
    let addr: SocketAddrAny = net::getpeername(fd)?.ok_or(Errno::NOTCONN)?;
    SocketAddr::try_from(addr).map_err(|_| Errno::AFNOSUPPORT)
}

pub(crate) fn set_int(fd: impl AsFd, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> Result<()> {
    let size = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the pointer is valid for `size` bytes during the call, and the descriptor is borrowed for the call.
    let r = unsafe { libc::setsockopt(fd.as_fd().as_raw_fd(), level, name, (&raw const value).cast(), size) };
    if r == 0 { Ok(()) } else { Err(crate::last_errno()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    fn listener() -> (OwnedFd, SocketAddr) {
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let fd = tcp(any).unwrap();
        set_reuse_address(&fd, true).unwrap();
        bind(&fd, any).unwrap();
        listen(&fd, 16).unwrap();
        let addr = local_addr(&fd).unwrap();
        (fd, addr)
    }

    #[test]
    fn a_connection_from_a_chosen_source_carries_bytes_both_ways() {
        let (server, addr) = listener();
        let client = tcp(addr).unwrap();
        bind_address_no_port(&client).unwrap();
        bind(&client, "127.0.0.77:0".parse().unwrap()).unwrap();
        assert_eq!(local_addr(&client).unwrap().port(), 0, "the port is chosen by connect()");
        connect(&client, addr).unwrap();
        let mut stream = std::net::TcpStream::from(accept(&server).unwrap());
        stream.set_nonblocking(false).unwrap();
        assert_eq!(stream.peer_addr().unwrap().ip(), "127.0.0.77".parse::<std::net::IpAddr>().unwrap());
        assert_eq!(take_error(&client), Ok(()));
        set_nodelay(&client, true).unwrap();
        assert_eq!(send(&client, b"ping").unwrap(), 4);
        let mut got = [0; 4];
        stream.read_exact(&mut got).unwrap();
        stream.write_all(b"pong!").unwrap();
        drop(stream);
        let mut all = Vec::new();
        while all.len() < 5 {
            match recv(&client, &mut got) {
                Ok(n) => all.extend_from_slice(&got[..n]),
                Err(e) => assert_eq!(e, Errno::AGAIN),
            }
        }
        assert_eq!(all, b"pong!");
    }

    /// Without `read_first`, the peer closes its socket before the client sends. With `read_first`, the peer reads the
    /// sent bytes before it closes its socket.
    #[test]
    fn bytes_that_a_closed_peer_never_read_are_unacknowledged() {
        for read_first in [false, true] {
            let (server, addr) = listener();
            let client = tcp(addr).unwrap();
            connect(&client, addr).unwrap();
            let mut stream = std::net::TcpStream::from(accept(&server).unwrap());
            stream.set_nonblocking(false).unwrap();
            if read_first {
                send(&client, b"ping").unwrap();
                stream.read_exact(&mut [0; 4]).unwrap();
            }
            drop(stream);
            while recv(&client, &mut [0; 1]) == Err(Errno::AGAIN) {}
            if !read_first {
                send(&client, b"ping").unwrap();
            }
            assert_eq!(unacknowledged(&client), Ok(if read_first { 0 } else { 4 }));
            assert_eq!(recv(&client, &mut [0; 1]), Ok(0), "the end of the data, even after the reset");
        }
    }

    #[test]
    fn a_socket_can_abandon_a_connect_and_retry_from_the_same_port() {
        let full = tcp("127.0.0.1:0".parse().unwrap()).unwrap();
        bind(&full, "127.0.0.1:0".parse().unwrap()).unwrap();
        listen(&full, 0).unwrap();
        let addr = local_addr(&full).unwrap();
        let _fill: Vec<_> = (0..2)
            .map(|_| {
                tcp(addr)
                    .inspect(|c| {
                        let _ = connect(c, addr);
                    })
                    .unwrap()
            })
            .collect();
        let client = tcp(addr).unwrap();
        bind_address_no_port(&client).unwrap();
        bind(&client, "127.0.0.78:0".parse().unwrap()).unwrap();
        connect(&client, addr).unwrap();
        assert!(peer_addr(&client).is_err(), "the accept queue is full, so this one waits");
        disconnect(&client).unwrap();
        let (_server, open) = listener();
        connect(&client, open).unwrap();
        assert_eq!(local_addr(&client).unwrap().ip().to_string(), "127.0.0.78");
        assert_eq!(take_error(&client), Ok(()));
        assert_eq!(peer_addr(&client).unwrap(), open);
    }

    #[test]
    fn a_refused_connect_becomes_the_pending_error_of_the_socket() {
        let (_bound, addr) = testkit::refusing();
        let client = tcp(addr).unwrap();
        let outcome = connect(&client, addr).and_then(|_| take_error(&client));
        assert_eq!(outcome, Err(Errno::CONNREFUSED));
    }
}
