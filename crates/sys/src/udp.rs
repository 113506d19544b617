//! Datagrams of UDP sockets. One call sends or receives several datagrams of equal size. The kernel cuts a group that
//! is sent (GSO), and joins datagrams that have arrived (GRO). Source: udp(7), linux/udp.h.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd};

use crate::peer::Peer;
use crate::socket::set_int;
use crate::uring::Address;
use crate::{Result, last_errno};

/// Socket option, and type of a control message: size of the datagrams into which a group is cut (linux/udp.h).
const UDP_SEGMENT: libc::c_int = 103;
/// Socket option, and type of a control message: datagrams that have arrived are joined (linux/udp.h).
const UDP_GRO: libc::c_int = 104;
/// Level of the UDP socket options and control messages.
const SOL_UDP: libc::c_int = 17;
/// Size of the buffer for control messages, in words of 8 bytes. One control message with an int needs three words.
const CONTROL_WORDS: usize = 8;

/// Makes each later send cut its bytes into datagrams of `bytes` bytes; the last one may be shorter. A send of at most
/// `bytes` bytes is one datagram. Fails on kernels before 4.18.
pub fn set_segment(fd: impl AsFd, bytes: u16) -> Result<()> {
    set_int(fd, SOL_UDP, UDP_SEGMENT, libc::c_int::from(bytes))
}

/// Lets the kernel join datagrams of one sender. Call [`receive`] to receive joined datagrams. Fails on kernels before
/// 5.0.
pub fn join_received(fd: impl AsFd) -> Result<()> {
    set_int(fd, SOL_UDP, UDP_GRO, 1)
}

/// Datagrams that one call has received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Number of bytes of all datagrams together.
    pub bytes: usize,
    /// Size of each datagram, bytes; the last one may be shorter.
    pub datagram_bytes: usize,
    /// Sender of the datagrams; `None` for an address of an unknown family.
    pub from: Option<SocketAddr>,
}

/// Receives a datagram, or several that the kernel has joined. Fails with EAGAIN if no datagram has arrived. Bytes
/// beyond the size of `into` are lost; 64 KiB are always enough.
pub fn receive(fd: impl AsFd, into: &mut [u8]) -> Result<Group> {
    // SAFETY: all-zero bytes are a valid sockaddr_storage.
    let mut from: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let mut control = [0_u64; CONTROL_WORDS];
    let mut part = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    // SAFETY: all-zero bytes are a valid msghdr.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_name = (&raw mut from).cast();
    message.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: the message points to three buffers of the stated sizes, which live until the call returns. The
    // descriptor is borrowed for the call.
    let n = unsafe { libc::recvmsg(fd.as_fd().as_raw_fd(), &raw mut message, 0) };
    let bytes = usize::try_from(n).map_err(|_| last_errno())?;
    let datagram_bytes = joined_bytes(&message).unwrap_or(bytes);
    Ok(Group { bytes, datagram_bytes, from: address(&from) })
}

/// Returns the size of joined datagrams from the control messages of a received message.
fn joined_bytes(message: &libc::msghdr) -> Option<usize> {
    // SAFETY: the kernel has written the control messages, and their length, into the buffer to which `message` points.
    let mut head = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !head.is_null() {
        // SAFETY: CMSG_FIRSTHDR and CMSG_NXTHDR return only headers inside the buffer.
        let (level, kind) = unsafe { ((*head).cmsg_level, (*head).cmsg_type) };
        if (level, kind) == (SOL_UDP, UDP_GRO) {
            // SAFETY: the content of this control message is one int, which may be unaligned.
            let bytes = unsafe { libc::CMSG_DATA(head).cast::<libc::c_int>().read_unaligned() };
            return usize::try_from(bytes).ok().filter(|bytes| *bytes > 0);
        }
        // SAFETY: CMSG_NXTHDR returns only headers inside the buffer, and `head` is a header of this message.
        head = unsafe { libc::CMSG_NXTHDR(message, head) };
    }
    None
}

/// Sends bytes to an address, cut into datagrams of `datagram_bytes` bytes. Fails with EAGAIN if the send buffer is
/// full; then nothing was sent.
pub fn send_to(fd: impl AsFd, bytes: &[u8], datagram_bytes: usize, to: SocketAddr) -> Result<()> {
    let mut to = Address::new(&Peer::Inet(to));
    let mut control = [0_u64; CONTROL_WORDS];
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: all-zero bytes are a valid msghdr.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_name = (&raw mut to.storage).cast();
    message.msg_namelen = to.len;
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    if datagram_bytes < bytes.len() {
        message.msg_control = control.as_mut_ptr().cast();
        // SAFETY: CMSG_SPACE and CMSG_LEN only compute sizes.
        let (space, len) = unsafe { (libc::CMSG_SPACE(2), libc::CMSG_LEN(2)) };
        message.msg_controllen = space as _;
        // SAFETY: the control buffer is aligned, and has room for one header with a content of 2 bytes, so the header
        // is not null and its content lies in the buffer.
        unsafe {
            let head = libc::CMSG_FIRSTHDR(&raw const message);
            (*head).cmsg_level = SOL_UDP;
            (*head).cmsg_type = UDP_SEGMENT;
            (*head).cmsg_len = len as _;
            libc::CMSG_DATA(head).cast::<u16>().write_unaligned(datagram_bytes as u16);
        }
    }
    // SAFETY: the message points to buffers of the stated sizes, which the kernel only reads, and which live until the
    // call returns. The descriptor is borrowed for the call.
    let sent = unsafe { libc::sendmsg(fd.as_fd().as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) };
    if sent < 0 { Err(last_errno()) } else { Ok(()) }
}

/// Converts an address from the kernel's format.
fn address(from: &libc::sockaddr_storage) -> Option<SocketAddr> {
    let at = (&raw const *from).cast::<u8>();
    match i32::from(from.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says that the storage, which is large and aligned enough, holds a sockaddr_in.
            let v4 = unsafe { &*at.cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from(v4.sin_addr.s_addr.to_ne_bytes());
            Some(SocketAddrV4::new(ip, u16::from_be(v4.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: the family says that the storage, which is large and aligned enough, holds a sockaddr_in6.
            let v6 = unsafe { &*at.cast::<libc::sockaddr_in6>() };
            let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
            Some(SocketAddrV6::new(ip, u16::from_be(v6.sin6_port), v6.sin6_flowinfo, v6.sin6_scope_id).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;

    use super::*;
    use crate::{Errno, socket};

    fn bound(ip: &str) -> (OwnedFd, SocketAddr) {
        let any: SocketAddr = format!("{ip}:0").parse().unwrap();
        let fd = socket::udp(any).unwrap();
        socket::bind(&fd, any).unwrap();
        let addr = socket::local_addr(&fd).unwrap();
        (fd, addr)
    }

    /// Receives until `bytes` bytes have arrived, and returns the sizes of all datagrams.
    fn sizes(fd: &OwnedFd, bytes: usize) -> Vec<usize> {
        let (mut buffer, mut sizes) = (vec![0; 65_536], Vec::new());
        while sizes.iter().sum::<usize>() < bytes {
            match receive(fd, &mut buffer) {
                Ok(group) => sizes.extend(buffer[..group.bytes].chunks(group.datagram_bytes).map(<[u8]>::len)),
                Err(e) => assert_eq!(e, Errno::AGAIN),
            }
        }
        sizes
    }

    #[test]
    fn a_group_arrives_as_the_datagrams_into_which_it_was_cut() {
        for (ip, joins) in [("127.0.0.1", false), ("127.0.0.1", true), ("[::1]", true)] {
            let ((server, at), (client, client_at)) = (bound(ip), bound(ip));
            if joins {
                join_received(&server).unwrap();
            }
            send_to(&client, &[7; 3000], 1200, at).unwrap();
            assert_eq!(sizes(&server, 3000), [1200, 1200, 600], "{ip} {joins}");
            send_to(&client, &[7; 100], 100, at).unwrap();
            let mut buffer = [0; 200];
            let group = std::iter::repeat_with(|| receive(&server, &mut buffer)).find_map(Result::ok).unwrap();
            assert_eq!(group, Group { bytes: 100, datagram_bytes: 100, from: Some(client_at) });
        }
    }

    #[test]
    fn a_connected_socket_cuts_what_send_gets() {
        let (server, at) = bound("127.0.0.1");
        let client = socket::udp(at).unwrap();
        set_segment(&client, 1200).unwrap();
        socket::connect(&client, at).unwrap();
        socket::send(&client, &[1; 2500]).unwrap();
        socket::send(&client, &[1; 30]).unwrap();
        assert_eq!(sizes(&server, 2530), [1200, 1200, 100, 30]);
    }

    #[test]
    fn a_port_where_nothing_listens_is_reported() {
        let (server, at) = bound("127.0.0.1");
        drop(server);
        let client = socket::udp(at).unwrap();
        socket::connect(&client, at).unwrap();
        socket::send(&client, b"x").unwrap();
        let failed = std::iter::repeat_with(|| receive(&client, &mut [0; 10])).find(|got| *got != Err(Errno::AGAIN));
        assert_eq!(failed, Some(Err(Errno::CONNREFUSED)));
    }
}
