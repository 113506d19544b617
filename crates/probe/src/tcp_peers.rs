//! Who is at the other end of a port's TCP connections, in the network namespace of a process. Only IPv4.
//! Source: proc_pid_net(5), sock_diag(7).

use std::net::{Ipv4Addr, SocketAddr};

use sys::diag::Diag;

use crate::text::{hex, lines, number, words};

/// States of /proc/net/tcp: TCP_ESTABLISHED and TCP_SYN_RECV of linux/net/tcp_states.h.
const ESTABLISHED: u64 = 1;
const SYN_RECV: u64 = 3;

/// The other end and the inode of every established connection of a local port; the inode is 0 while it waits to be accepted.
/// sock_diag filters in the kernel; /proc/PID/net/tcp writes a line for every socket of the machine, but reaches into other
/// namespaces, and a table that changes while it is read can show a socket twice.
pub fn peers_of(pid: u32, port: u16) -> Vec<(SocketAddr, u32)> {
    asked(pid, port).unwrap_or_else(|| listed(&table(pid), port))
}

/// Connections of which the last acknowledgement is missing, of all ports.
pub fn half_open(pid: u32) -> usize {
    lines(&table(pid)).filter_map(row).filter(|row| row.state == SYN_RECV).count()
}

/// `None` where the process is in another namespace, or the kernel is not to be asked.
fn asked(pid: u32, port: u16) -> Option<Vec<(SocketAddr, u32)>> {
    let elsewhere = sys::netns::elsewhere(pid)?;
    let mut peers = Vec::new();
    let mut ask = || Diag::open()?.peers(false, port, |peer, inode| peers.push((peer, inode)));
    (!elsewhere && ask().is_ok()).then_some(peers)
}

fn table(pid: u32) -> Vec<u8> {
    std::fs::read(format!("/proc/{pid}/net/tcp")).unwrap_or_default()
}

/// The same in the text of /proc/net/tcp.
fn listed(table: &[u8], port: u16) -> Vec<(SocketAddr, u32)> {
    let rows = lines(table).filter_map(row).filter(|row| row.state == ESTABLISHED && row.local.port() == port);
    rows.map(|row| (row.remote, row.inode)).collect()
}

/// A line of the table.
struct Row {
    local: SocketAddr,
    remote: SocketAddr,
    state: u64,
    inode: u32,
}

fn row(line: &[u8]) -> Option<Row> {
    let mut fields = words(line).skip(1);
    let (local, remote) = (address(fields.next()?)?, address(fields.next()?)?);
    let state = hex(fields.next()?)?;
    let inode = fields.nth(5).and_then(number).and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
    Some(Row { local, remote, state, inode })
}

/// `0100007F:1F90`: an address in the machine's byte order and a port.
fn address(word: &[u8]) -> Option<SocketAddr> {
    let colon = word.iter().position(|b| *b == b':')?;
    let ip = u32::try_from(hex(&word[..colon])?).ok()?;
    let port = u16::try_from(hex(&word[colon + 1..])?).ok()?;
    Some(SocketAddr::from((Ipv4Addr::from(ip.to_ne_bytes()), port)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[u8] = b"\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 100 1 0 100 0 0 10 0
   1: 0100007F:1F90 0100007F:C001 01 00000000:00000000 00:00000000 00000000     0        0 101 1 0 20 4 30 10 -1
   2: 0100007F:1F90 0100007F:C002 01 00000000:00000000 00:00000000 00000000     0        0 0 1 0 20 4 30 10 -1
   3: 0100007F:C001 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 102 1 0 20 4 30 10 -1
   4: 0100007F:1F90 0100007F:C003 03 00000000:00000000 00:00000000 00000000     0        0 0 1 0 20 4 30 10 -1
   5: 0100007F:1F90 odd 01
";

    #[test]
    fn only_established_sockets_of_the_port_are_told() {
        let at = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        assert_eq!(listed(TABLE, 0x1F90), [(at(0xC001), 101), (at(0xC002), 0)]);
        let states: Vec<u64> = lines(TABLE).filter_map(row).map(|row| row.state).collect();
        assert_eq!(states, [10, ESTABLISHED, ESTABLISHED, ESTABLISHED, SYN_RECV]);
    }

    #[test]
    fn the_kernel_and_its_table_tell_the_same() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let ends: Vec<_> = (0..3).map(|_| std::net::TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
        let _taken = listener.accept().unwrap();
        let sorted = |mut peers: Vec<(SocketAddr, u32)>| {
            peers.sort();
            peers.dedup();
            peers
        };
        let pid = std::process::id();
        let told = sorted(asked(pid, port).unwrap());
        assert_eq!((told.len(), told.iter().filter(|(_, inode)| *inode == 0).count()), (ends.len(), ends.len() - 1));
        assert_eq!(sorted(listed(&table(pid), port)), told);
    }
}
