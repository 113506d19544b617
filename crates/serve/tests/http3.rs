//! The service `h3` and datagrams that no client of HTTP/3 would send.

#![allow(clippy::unwrap_used)] // also for the helper functions of tests

use std::net::{SocketAddr, SocketAddrV4, UdpSocket};
use std::time::Duration;

use loadline_serve as serve;
use run::ServePlan;
use rustix::net::{AddressFamily, SendFlags, SocketType, ipproto, sendto, socket};

/// Returns the first datagram of a QUIC connection with a version that does not exist. The server answers it with the
/// versions that it supports (RFC 9000, section 6).
fn unknown_version() -> Vec<u8> {
    let mut datagram = b"\xc0\x0a\x0b\x0c\x0d\x08dddddddd\x08ssssssss".to_vec();
    datagram.resize(1200, 0);
    datagram
}

/// Sends a datagram from port 0, which only a raw socket can do.
fn send_from_port_0(to: SocketAddrV4, datagram: &[u8]) {
    let raw = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::UDP)).unwrap();
    let length = 8 + datagram.len() as u16;
    // Source port, destination port, length, and no checksum (RFC 768).
    let mut packet: Vec<u8> = [0, to.port(), length, 0].into_iter().flat_map(u16::to_be_bytes).collect();
    packet.extend_from_slice(datagram);
    assert_eq!(sendto(&raw, &packet, SendFlags::empty(), &to).unwrap(), packet.len());
}

#[test]
fn a_datagram_from_port_0_does_not_end_the_server() {
    if !testkit::is_root() {
        return testkit::skip("a_datagram_from_port_0_does_not_end_the_server", "a raw socket needs root");
    }
    let server = serve::start(&ServePlan { service: "h3".into(), ..ServePlan::default() }).unwrap();
    let SocketAddr::V4(to) = server.local_addr() else { unreachable!("the default address is an IPv4 address") };
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    // One try is not enough, because a server that gets both datagrams at once may answer the second before the first
    // ends the connection.
    for _ in 0..2 {
        send_from_port_0(to, &unknown_version());
        client.send_to(&unknown_version(), to).unwrap();
        let answered = client.recv(&mut [0; 2000]);
        assert!(answered.is_ok_and(|bytes| bytes > 0), "the server does not answer: {:?}", server.failures());
    }
}
