//! Unconnected UDP sockets, on which servers receive datagrams: their addresses and inodes. Source: proc_net(5)
//! (`/proc/net/udp` and `/proc/net/udp6`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

/// Returns the inodes of the sockets that receive datagrams for `addr`, and the address of one of them. Searches the
/// network namespace of the process `netns_pid`, or the caller's namespace if `netns_pid` is `None`. Returns `None` if
/// there is no such socket.
pub(crate) fn receivers(addr: SocketAddr, netns_pid: Option<u32>) -> Option<(Vec<u32>, SocketAddr)> {
    let process = netns_pid.map_or_else(|| "thread-self".to_owned(), |pid| pid.to_string());
    let read = |name: &str| std::fs::read_to_string(PathBuf::from(format!("/proc/{process}/net/{name}")));
    let files = ["udp", "udp6"].map(|name| read(name).unwrap_or_default());
    let found: Vec<(SocketAddr, u32)> = files.iter().flat_map(|file| file.lines().skip(1)).filter_map(line).collect();
    let fits = |local: &SocketAddr| {
        local.port() == addr.port() && (local.ip() == addr.ip() || local.ip().is_unspecified() || is_any(addr))
    };
    let mut found: Vec<_> = found.into_iter().filter(|(local, _)| fits(local)).collect();
    // An exact address identifies the server better than a wildcard.
    found.sort_by_key(|(local, _)| local.ip() != addr.ip());
    let bound = found.first()?.0;
    Some((found.into_iter().map(|(_, inode)| inode).collect(), bound))
}

fn is_any(addr: SocketAddr) -> bool {
    addr.ip().is_unspecified()
}

/// Reads the local address and the inode of one line. Returns `None` for a connected socket.
fn line(line: &str) -> Option<(SocketAddr, u32)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (local, remote) = (address(fields.get(1)?)?, address(fields.get(2)?)?);
    let inode = fields.get(9)?.parse().ok()?;
    (remote.port() == 0).then_some((local, inode))
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

    use super::*;

    #[test]
    fn lines_of_the_kernel_are_read() {
        let v4 =
            "  301: 0100007F:2382 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 4711 2 x 0";
        assert_eq!(line(v4), Some(("127.0.0.1:9090".parse().unwrap(), 4711)));
        let v6 = v4
            .replace("0100007F:", "00000000000000000000000001000000:")
            .replace("00000000:0000 07", "00000000000000000000000000000000:0000 07");
        assert_eq!(line(&v6), Some(("[::1]:9090".parse().unwrap(), 4711)));
        assert_eq!(line(&v4.replace("00000000:0000 07", "0100007F:0035 01")), None, "a connected socket");
        for broken in ["", "1: x", "1: 0100007F:2382 00000000:0000 07", "1: 01:2 0:0 07 0 0 0 0 0 1"] {
            assert_eq!(line(broken), None);
        }
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
        let other = format!("127.0.0.2:{}", socket.local_addr().unwrap().port());
        assert_eq!(receivers(other.parse().unwrap(), None), None);
    }
}
