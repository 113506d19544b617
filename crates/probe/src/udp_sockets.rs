//! UDP sockets: unconnected sockets, on which servers receive datagrams, and sockets connected to a peer. Source:
//! proc_net(5) (`/proc/net/udp` and `/proc/net/udp6`).

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use crate::bound_address::{is_same_ip, serves};

/// Returns the inodes of the sockets that receive datagrams for `addr`, and the address of one of them. Searches the
/// network namespace of the process `netns_pid`, or the caller's namespace if `netns_pid` is `None`. Returns `None` if
/// there is no such socket.
pub(crate) fn receivers(addr: SocketAddr, netns_pid: Option<u32>) -> Option<(Vec<u32>, SocketAddr)> {
    let all = unconnected(netns_pid).map(|socket| (socket.local, socket.inode));
    // The list of sockets does not show whether a socket at a wildcard address of IPv6 serves IPv4, too.
    let mut found: Vec<(SocketAddr, u32)> = all.filter(|(local, _)| serves(*local, false, addr)).collect();
    // An exact address identifies the server better than a wildcard.
    found.sort_by_key(|(local, _)| !is_same_ip(*local, addr));
    let bound = found.first()?.0;
    Some((found.into_iter().map(|(_, inode)| inode).collect(), bound))
}

/// Returns the inodes of the sockets that receive datagrams at one of the ports. The sockets are in the network
/// namespace of the process `netns_pid`, or of this process if `netns_pid` is `None`.
pub(crate) fn receivers_at(ports: &HashSet<u16>, netns_pid: Option<u32>) -> HashSet<u32> {
    unconnected(netns_pid).filter(|socket| ports.contains(&socket.local.port())).map(|socket| socket.inode).collect()
}

fn unconnected(netns_pid: Option<u32>) -> impl Iterator<Item = UdpSocket> {
    let process = netns_pid.map_or_else(|| "thread-self".to_owned(), |pid| pid.to_string());
    sockets(&process).into_iter().filter(|socket| socket.remote.port() == 0)
}

/// Returns the peer to which a UDP socket is connected. The socket has the inode `inode`, and is in the network
/// namespace of the process `pid`.
pub(crate) fn connected_to(pid: u32, inode: u32) -> Option<SocketAddr> {
    let socket = sockets(&pid.to_string()).into_iter().find(|socket| socket.inode == inode)?;
    (socket.remote.port() != 0).then_some(socket.remote)
}

/// UDP socket.
struct UdpSocket {
    local: SocketAddr,
    /// Address of the peer; the port is 0 for an unconnected socket.
    remote: SocketAddr,
    inode: u32,
}

/// Returns the UDP sockets in the network namespace of `process`, a folder of /proc.
fn sockets(process: &str) -> Vec<UdpSocket> {
    let read = |name: &str| std::fs::read_to_string(PathBuf::from(format!("/proc/{process}/net/{name}")));
    let files = ["udp", "udp6"].map(|name| read(name).unwrap_or_default());
    files.iter().flat_map(|file| file.lines().skip(1)).filter_map(line).collect()
}

/// Reads one line of the list of sockets.
fn line(line: &str) -> Option<UdpSocket> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (local, remote) = (address(fields.get(1)?)?, address(fields.get(2)?)?);
    Some(UdpSocket { local, remote, inode: fields.get(9)?.parse().ok()? })
}

/// Reads an address in hexadecimal. Each group of 4 bytes is a number in the byte order of the machine.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| u32::from_str_radix(ip.get(at..at + 8)?, 16).ok().map(u32::to_ne_bytes);
    let ip = match ip.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let mut bytes = [0; 16];
            for (at, group) in bytes.chunks_exact_mut(4).enumerate() {
                group.copy_from_slice(&word(at * 8)?);
            }
            IpAddr::V6(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::os::fd::AsRawFd as _;

    use super::*;

    #[test]
    fn lines_of_the_kernel_are_read() {
        let v4 =
            "  301: 0100007F:2382 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 4711 2 x 0";
        let read = |text: &str| line(text).map(|socket| (socket.local, socket.remote.port(), socket.inode));
        assert_eq!(read(v4), Some(("127.0.0.1:9090".parse().unwrap(), 0, 4711)));
        let v6 = v4
            .replace("0100007F:", "00000000000000000000000001000000:")
            .replace("00000000:0000 07", "00000000000000000000000000000000:0000 07");
        assert_eq!(read(&v6), Some(("[::1]:9090".parse().unwrap(), 0, 4711)));
        let connected = v4.replace("00000000:0000 07", "0100007F:0035 01");
        assert_eq!(read(&connected).map(|socket| socket.1), Some(53));
        for broken in ["", "1: x", "1: 0100007F:2382 00000000:0000 07", "1: 01:2 0:0 07 0 0 0 0 0 1"] {
            assert_eq!(read(broken), None);
        }
    }

    #[test]
    fn the_peer_of_a_connected_socket_is_found_by_its_inode() {
        let (server, client) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        let inode_of = |socket: &UdpSocket| {
            let link = std::fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())).unwrap();
            let link = link.to_str().unwrap();
            link.trim_start_matches("socket:[").trim_end_matches(']').parse().unwrap()
        };
        client.connect(server.local_addr().unwrap()).unwrap();
        let pid = std::process::id();
        assert_eq!(connected_to(pid, inode_of(&client)), Some(server.local_addr().unwrap()));
        assert_eq!(connected_to(pid, inode_of(&server)), None);
    }

    #[test]
    fn a_socket_is_found_by_any_of_its_addresses() {
        for (bound, asked) in [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.9"), ("[::]", "127.0.0.1")] {
            let socket = UdpSocket::bind(format!("{bound}:0")).unwrap();
            let at = socket.local_addr().unwrap();
            let (inodes, local) = receivers(format!("{asked}:{}", at.port()).parse().unwrap(), None).unwrap();
            assert_eq!((inodes.len(), local), (1, at));
        }
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mapped = format!("[::ffff:127.0.0.1]:{}", socket.local_addr().unwrap().port());
        assert!(receivers(mapped.parse().unwrap(), None).is_some());
        let other = format!("127.0.0.2:{}", socket.local_addr().unwrap().port());
        assert_eq!(receivers(other.parse().unwrap(), None), None);
        let wildcard = UdpSocket::bind("0.0.0.0:0").unwrap();
        let v6 = format!("[::1]:{}", wildcard.local_addr().unwrap().port());
        assert_eq!(receivers(v6.parse().unwrap(), None), None, "a socket of IPv4 gets no datagrams of IPv6");
    }
}
