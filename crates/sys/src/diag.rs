//! What the kernel says of TCP sockets: listeners with their accept queues, and `tcp_info` of connections, by
//! sock_diag. Source: sock_diag(7), linux/inet_diag.h, linux/tcp.h (the structures only grow at their end, so fields
//! that an older kernel lacks are `None`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::net::netlink::SOCK_DIAG;

use crate::netlink::{Netlink, Walk, attribute, attributes, u32_at, u64_at};
use crate::{Errno, Result};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const REQ_BYTECODE: u16 = 1;
const INFO: u16 = 2;
const SKMEMINFO: u16 = 7;
const SKV6ONLY: u16 = 11;
/// Indices in the array of `INET_DIAG_SKMEMINFO`: size of the send buffer, what stands in it, and the drop counter.
const SK_MEMINFO_SNDBUF: usize = 3;
const SK_MEMINFO_WMEM_QUEUED: usize = 5;
const SK_MEMINFO_DROPS: usize = 8;
/// What is asked of a connection besides its addresses and queues.
const OF_CONNECTIONS: u8 = 1 << (INFO - 1) | 1 << (SKMEMINFO - 1);
const ESTABLISHED: u32 = 1 << 1;
const CLOSE_WAIT: u32 = 1 << 8;
const LISTEN: u32 = 1 << 10;
/// `AF_INET`, `AF_INET6` and `IPPROTO_TCP` as the structures hold them.
const INET: u8 = 2;
const INET6: u8 = 10;
const TCP: u8 = 6;

/// A listening socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Address that it is bound to.
    pub local: SocketAddr,
    /// Inode of the socket, as in the links of /proc/PID/fd.
    pub inode: u32,
    /// Connections that wait to be accepted.
    pub queue: u32,
    /// Limit of that queue: the smaller of the backlog and somaxconn; the queue holds one more.
    pub limit: u32,
    /// Connection requests that were dropped at this socket; `None` where the kernel does not say.
    pub drops: Option<u32>,
    /// An IPv6 socket that takes no IPv4 connections.
    pub v6_only: bool,
}

/// An established connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Connection {
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// Bytes that arrived and were not read.
    pub receive_queue: u32,
    /// Bytes that were sent and not acknowledged, or not yet sent.
    pub send_queue: u32,
    /// Whether the send buffer is so full that a writer waits; `None` where the kernel does not say.
    pub write_full: Option<bool>,
    /// `tcp_info`; `None` where the kernel left it out.
    pub info: Option<TcpInfo>,
    /// Names the socket to [`Diag::connection`].
    pub name: SocketName,
}

/// How the kernel names a socket: addresses, interface and a cookie that no later socket of the same addresses has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketName {
    family: u8,
    id: [u8; 48],
}

/// The fields of `struct tcp_info` that loadline uses. Times in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TcpInfo {
    /// Smoothed round-trip time.
    pub rtt_us: u32,
    /// Delayed-acknowledgement timer.
    pub ato_us: u32,
    /// Maximum segment size that is sent, bytes.
    pub send_mss: u32,
    /// Segments in flight.
    pub unacked: u32,
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Segments that were sent again since the connection began.
    pub total_retrans: u32,
    /// Smallest round-trip time seen (kernel 4.6).
    pub min_rtt_us: Option<u32>,
    /// Newest measured delivery rate, bytes per second (kernel 4.9).
    pub delivery_rate: Option<u64>,
    /// Time with data to send (kernel 4.10).
    pub busy_us: Option<u64>,
    /// Of that, time stopped by the peer's receive window (kernel 4.10).
    pub rwnd_limited_us: Option<u64>,
    /// Of that, time stopped by the own send buffer (kernel 4.10).
    pub sndbuf_limited_us: Option<u64>,
    /// Bytes that were written and not yet sent (kernel 4.6).
    pub unsent: Option<u32>,
    /// The window that the peer last advertised, bytes (kernel 5.4).
    pub peer_window: Option<u32>,
}

/// Which connections a dump gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// Only connections of this local port (a server's).
    pub local_port: Option<u16>,
    /// Only connections to this remote port (a client's).
    pub remote_port: Option<u16>,
}

/// A sock_diag socket.
#[derive(Debug)]
pub struct Diag(Netlink);

impl Diag {
    /// Opens one in the caller's network namespace. Needs no privilege.
    pub fn open() -> Result<Self> {
        Netlink::open(Some(SOCK_DIAG)).map(Self)
    }

    /// Takes over a sock_diag socket that was opened in another network namespace: it describes that one's sockets.
    pub fn over(fd: OwnedFd) -> Result<Self> {
        Netlink::over(fd).map(Self)
    }

    /// Asks for a dump and hands on the payload of each message.
    pub(crate) fn ask(&mut self, kind: u16, request: &[u8], mut each: impl FnMut(&[u8]) -> Walk) -> Result<()> {
        self.0.ask(kind, true, &[request], |_, payload| each(payload)).map(drop)
    }

    /// Gives every listener of IPv4 (`v6` false) or IPv6, of one port or of all.
    pub fn listeners(&mut self, v6: bool, port: Option<u16>, mut each: impl FnMut(&Listener)) -> Result<()> {
        let head = request(v6, 1 << (SKMEMINFO - 1), LISTEN);
        let filter = bytecode(Ends { local_port: port, remote_port: None });
        self.0.ask(SOCK_DIAG_BY_FAMILY, true, &[&head, &filter], |_, payload| {
            if let Some(listener) = listener(payload) {
                each(&listener);
            }
            Walk::On
        })?;
        Ok(())
    }

    /// Gives the other end and the inode of every established connection of a local port; the inode is 0 while it waits to
    /// be accepted. Without `tcp_info`, so that tens of thousands are cheap.
    pub fn peers(&mut self, v6: bool, port: u16, mut each: impl FnMut(SocketAddr, u32)) -> Result<()> {
        let filter = bytecode(Ends { local_port: Some(port), remote_port: None });
        self.0.ask(SOCK_DIAG_BY_FAMILY, true, &[&request(v6, 0, ESTABLISHED), &filter], |_, payload| {
            if let (Some((_, remote)), Some(inode)) = (ends_of(payload), u32_at(payload, 68)) {
                each(remote, inode);
            }
            Walk::On
        })?;
        Ok(())
    }

    /// Gives every established connection but those of a port, as local or as remote one: this end, the other one and the
    /// inode (0 while it waits to be accepted). The filter runs in the kernel.
    pub fn others(&mut self, v6: bool, port: u16, mut each: impl FnMut(SocketAddr, SocketAddr, u32)) -> Result<()> {
        let filter = attribute(REQ_BYTECODE, &not_of_port(port));
        self.0.ask(SOCK_DIAG_BY_FAMILY, true, &[&request(v6, 0, ESTABLISHED), &filter], |_, payload| {
            if let (Some((local, remote)), Some(inode)) = (ends_of(payload), u32_at(payload, 68)) {
                each(local, remote, inode);
            }
            Walk::On
        })?;
        Ok(())
    }

    /// Gives established connections until `each` says [`Walk::Stop`]; after that this socket is spent (the kernel
    /// still has the rest of the dump ready in it): drop it and open another. The filter runs in the kernel.
    pub fn connections(&mut self, v6: bool, ends: Ends, mut each: impl FnMut(&Connection) -> Walk) -> Result<Walk> {
        let head = request(v6, OF_CONNECTIONS, ESTABLISHED | CLOSE_WAIT);
        let filter = bytecode(ends);
        self.0.ask(SOCK_DIAG_BY_FAMILY, true, &[&head, &filter], |_, payload| match connection(payload) {
            Some(connection) => each(&connection),
            None => Walk::On,
        })
    }
}

impl Diag {
    /// Describes one connection that was met before; `None` when it has ended. Far cheaper than a dump, for which the
    /// kernel walks its whole table.
    pub fn connection(&mut self, name: &SocketName) -> Result<Option<Connection>> {
        let mut head = request(name.family == INET6, OF_CONNECTIONS, u32::MAX);
        head[8..56].copy_from_slice(&name.id);
        let mut found = None;
        let asked = self.0.ask(SOCK_DIAG_BY_FAMILY, false, &[&head], |_, payload| {
            let open = payload.get(1).is_some_and(|state| (ESTABLISHED | CLOSE_WAIT) >> state & 1 == 1);
            found = connection(payload).filter(|_| open);
            Walk::On
        });
        match asked {
            Ok(_) => Ok(found),
            Err(Errno::NOENT | Errno::STALE) => Ok(None),
            Err(e) => Err(e),
        }
    }
}

/// `struct inet_diag_req_v2`.
fn request(v6: bool, extensions: u8, states: u32) -> [u8; 56] {
    let mut out = [0_u8; 56];
    out[0] = if v6 { INET6 } else { INET };
    out[1] = TCP;
    out[2] = extensions;
    out[4..8].copy_from_slice(&states.to_ne_bytes());
    out
}

/// The filter program of inet_diag: ports as two comparisons each, since the equality codes came later (4.16).
/// An instruction that fails jumps 4 bytes past the end, which means "no".
fn bytecode(ends: Ends) -> Vec<u8> {
    const S_GE: u8 = 2;
    const S_LE: u8 = 3;
    const D_GE: u8 = 4;
    const D_LE: u8 = 5;
    let local = ends.local_port.map(|port| [(S_GE, port), (S_LE, port)]);
    let remote = ends.remote_port.map(|port| [(D_GE, port), (D_LE, port)]);
    let tests: Vec<(u8, u16)> = local.into_iter().chain(remote).flatten().collect();
    if tests.is_empty() {
        return Vec::new();
    }
    let length = tests.len() * 8;
    let mut program = Vec::with_capacity(length);
    for (at, (code, port)) in tests.into_iter().enumerate() {
        let fail = (length - at * 8 + 4) as u16;
        program.extend_from_slice(&[code, 8]);
        program.extend_from_slice(&fail.to_ne_bytes());
        program.extend_from_slice(&[0, 0]);
        program.extend_from_slice(&port.to_ne_bytes());
    }
    attribute(REQ_BYTECODE, &program)
}

/// The filter program that leaves out what has this port at either end. "Not equal" is "greater, or less": a test that
/// holds goes on to a jump over the other one; the kernel takes no jump to where a test that holds could not lead.
fn not_of_port(port: u16) -> Vec<u8> {
    const JUMP: u8 = 1;
    const S_GE: u8 = 2;
    const S_LE: u8 = 3;
    const D_GE: u8 = 4;
    const D_LE: u8 = 5;
    /// Two tests of 8 bytes and the jump of 4 between them.
    const LENGTH: usize = 20;
    let (above, below) = (port.saturating_add(1), port.saturating_sub(1));
    let mut program = Vec::with_capacity(2 * LENGTH);
    for (at, (ge, le)) in [(S_GE, S_LE), (D_GE, D_LE)].into_iter().enumerate() {
        // From the second test, at 12 of its block, to 4 past the end of all.
        let reject = (2 * LENGTH - at * LENGTH - 12 + 4) as u16;
        let mut push = |code: u8, yes: u8, no: u16| {
            program.extend_from_slice(&[code, yes]);
            program.extend_from_slice(&no.to_ne_bytes());
        };
        push(ge, 8, 12);
        push(0, 0, above);
        push(JUMP, 4, 12);
        push(le, 8, reject);
        push(0, 0, below);
    }
    program
}

/// `struct inet_diag_msg`: addresses at 4, queues at 56, inode at 68, attributes from 72.
fn ends_of(payload: &[u8]) -> Option<(SocketAddr, SocketAddr)> {
    let v6 = *payload.first()? == INET6;
    let port = |at: usize| payload.get(at..)?.first_chunk().map(|b| u16::from_be_bytes(*b));
    Some((SocketAddr::new(address(payload, 8, v6)?, port(4)?), SocketAddr::new(address(payload, 24, v6)?, port(6)?)))
}

fn address(payload: &[u8], at: usize, v6: bool) -> Option<IpAddr> {
    let bytes = payload.get(at..)?;
    if v6 {
        bytes.first_chunk::<16>().map(|b| Ipv6Addr::from(*b).to_canonical())
    } else {
        bytes.first_chunk::<4>().map(|b| IpAddr::V4(Ipv4Addr::from(*b)))
    }
}

fn listener(payload: &[u8]) -> Option<Listener> {
    let rest = payload.get(72..)?;
    let find = |kind| attributes(rest).find(|(k, _)| *k == kind).map(|(_, value)| value);
    Some(Listener {
        local: ends_of(payload)?.0,
        inode: u32_at(payload, 68)?,
        queue: u32_at(payload, 56)?,
        limit: u32_at(payload, 60)?,
        drops: find(SKMEMINFO).and_then(|value| u32_at(value, 4 * SK_MEMINFO_DROPS)),
        v6_only: find(SKV6ONLY).and_then(|value| value.first()).is_some_and(|flag| *flag != 0),
    })
}

fn connection(payload: &[u8]) -> Option<Connection> {
    let (local, remote) = ends_of(payload)?;
    let rest = payload.get(72..)?;
    let find = |kind| attributes(rest).find(|(k, _)| *k == kind).map(|(_, value)| value);
    Some(Connection {
        local,
        remote,
        receive_queue: u32_at(payload, 56)?,
        send_queue: u32_at(payload, 60)?,
        write_full: find(SKMEMINFO).and_then(write_full),
        info: find(INFO).and_then(tcp_info),
        name: SocketName { family: *payload.first()?, id: *payload.get(4..)?.first_chunk()? },
    })
}

/// The kernel lets a writer go on once a third of the send buffer is free (`sk_stream_is_writeable`).
fn write_full(memory: &[u8]) -> Option<bool> {
    let (size, queued) = (u32_at(memory, 4 * SK_MEMINFO_SNDBUF)?, u32_at(memory, 4 * SK_MEMINFO_WMEM_QUEUED)?);
    Some(3 * u64::from(queued) > 2 * u64::from(size))
}

/// Offsets of `struct tcp_info` (linux/tcp.h).
fn tcp_info(b: &[u8]) -> Option<TcpInfo> {
    Some(TcpInfo {
        ato_us: u32_at(b, 12)?,
        send_mss: u32_at(b, 16)?,
        unacked: u32_at(b, 24)?,
        rtt_us: u32_at(b, 68)?,
        cwnd: u32_at(b, 80)?,
        total_retrans: u32_at(b, 100)?,
        unsent: u32_at(b, 144),
        min_rtt_us: u32_at(b, 148),
        delivery_rate: u64_at(b, 160),
        busy_us: u64_at(b, 168),
        rwnd_limited_us: u64_at(b, 176),
        sndbuf_limited_us: u64_at(b, 184),
        peer_window: u32_at(b, 228),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};
    use std::thread;
    use std::time::{Duration, Instant};

    fn listeners(port: u16, v6: bool) -> Vec<Listener> {
        let mut found = Vec::new();
        Diag::open().unwrap().listeners(v6, Some(port), |l| found.push(*l)).unwrap();
        found
    }

    #[test]
    fn a_listener_is_described_with_its_queue() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = server.local_addr().unwrap();
        let _waiting = [TcpStream::connect(addr).unwrap(), TcpStream::connect(addr).unwrap()];
        let found = listeners(addr.port(), false);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].local, found[0].queue, found[0].drops), (addr, 2, Some(0)));
        assert!(found[0].limit >= 1 && found[0].inode > 0);
        assert!(listeners(addr.port(), true).is_empty());
    }

    #[test]
    fn connections_of_a_port_are_left_out_at_either_end() {
        let pair = || {
            let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let client = std::net::TcpStream::connect(server.local_addr().unwrap()).unwrap();
            (client, server.accept().unwrap().0)
        };
        let (a, b) = (pair(), pair());
        let port = |stream: &std::net::TcpStream| stream.local_addr().unwrap().port();
        let mut ends = Vec::new();
        Diag::open().unwrap().others(false, port(&a.1), |l, r, _| ends.push((l.port(), r.port()))).unwrap();
        assert!(ends.contains(&(port(&b.0), port(&b.1))) && ends.contains(&(port(&b.1), port(&b.0))), "{ends:?}");
        assert!(!ends.contains(&(port(&a.0), port(&a.1))) && !ends.contains(&(port(&a.1), port(&a.0))), "{ends:?}");
    }

    #[test]
    fn a_sender_whose_peer_does_not_read_has_unsent_bytes_and_a_full_buffer() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = server.local_addr().unwrap();
        let (_deaf, (mut sender, _)) = (TcpStream::connect(addr).unwrap(), server.accept().unwrap());
        let look = || {
            let (mut found, ends) = (None, Ends { local_port: Some(addr.port()), remote_port: None });
            let end = Diag::open().unwrap().connections(false, ends, |c| {
                found = Some(*c);
                Walk::Stop
            });
            assert!(end.is_ok(), "{end:?}");
            found.unwrap()
        };
        let idle = look();
        assert_eq!((idle.write_full, idle.info.unwrap().unsent), (Some(false), Some(0)));
        sender.set_nonblocking(true).unwrap();
        while sender.write(&[0; 65536]).is_ok() {}
        let full = look();
        assert_eq!(full.write_full, Some(true));
        assert!(full.info.unwrap().unsent.unwrap() > 0, "{full:?}");
    }

    #[test]
    fn connections_are_filtered_by_port_in_the_kernel_and_have_tcp_info() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = server.local_addr().unwrap();
        let mut clients: Vec<_> = (0..5).map(|_| TcpStream::connect(addr).unwrap()).collect();
        let mut accepted: Vec<_> = (0..5).map(|_| server.accept().unwrap()).collect();
        clients[0].write_all(b"12345").unwrap();
        let mut ours = Vec::new();
        let ends = Ends { local_port: Some(addr.port()), remote_port: None };
        let mut diag = Diag::open().unwrap();
        let end = diag.connections(false, ends, |c| {
            ours.push(*c);
            Walk::On
        });
        assert_eq!(end, Ok(Walk::On));
        assert_eq!(ours.len(), 5);
        assert!(ours.iter().all(|c| c.local == addr && c.info.is_some_and(|i| i.cwnd > 0 && i.rtt_us < 1_000_000)));
        assert_eq!(ours.iter().map(|c| c.receive_queue).sum::<u32>(), 5);
        for c in &ours {
            let again = diag.connection(&c.name).unwrap().unwrap();
            assert_eq!((again.local, again.remote, again.receive_queue), (c.local, c.remote, c.receive_queue));
        }
        let gone = ours.iter().find(|c| c.remote == clients[4].local_addr().unwrap()).unwrap();
        drop((clients.pop(), accepted.pop()));
        // The end of a connection is the kernel's own work, and a child that another test forks holds copies until it
        // executes: the connection is gone soon, not at once.
        let end = Instant::now() + Duration::from_secs(5);
        while diag.connection(&gone.name).unwrap().is_some() {
            assert!(Instant::now() < end, "a closed connection is still told after 5 s");
            thread::sleep(Duration::from_millis(1));
        }
        let mut theirs = 0;
        let ends = Ends { local_port: None, remote_port: Some(addr.port()) };
        let end = diag.connections(false, ends, |_| {
            theirs += 1;
            if theirs == 2 { Walk::Stop } else { Walk::On }
        });
        assert_eq!((end, theirs), (Ok(Walk::Stop), 2));
    }
}
