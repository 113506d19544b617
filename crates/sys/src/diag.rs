//! TCP sockets as the kernel reports them (sock_diag): listeners with their accept queues, and `tcp_info` of
//! connections. Source: sock_diag(7), linux/inet_diag.h, linux/tcp.h. New kernels only append fields to the structures,
//! so fields that an older kernel lacks are `None`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::net::netlink::SOCK_DIAG;

use crate::netlink::{DumpControl, Netlink, attribute, attributes, u32_at, u64_at};
use crate::{Errno, Result};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const REQ_BYTECODE: u16 = 1;
const INFO: u16 = 2;
const SKMEMINFO: u16 = 7;
const SKV6ONLY: u16 = 11;
/// Indices in the array of `INET_DIAG_SKMEMINFO`: size of the send buffer, bytes queued to send, and number of drops.
const SK_MEMINFO_SNDBUF: usize = 3;
const SK_MEMINFO_WMEM_QUEUED: usize = 5;
const SK_MEMINFO_DROPS: usize = 8;
/// Attributes requested for a connection: `tcp_info` and socket memory.
const CONNECTION_EXTENSIONS: u8 = 1 << (INFO - 1) | 1 << (SKMEMINFO - 1);
const ESTABLISHED: u32 = 1 << 1;
const CLOSE_WAIT: u32 = 1 << 8;
const LISTEN: u32 = 1 << 10;
/// `AF_INET`, `AF_INET6` and `IPPROTO_TCP` as bytes of the request.
const INET: u8 = 2;
const INET6: u8 = 10;
const TCP: u8 = 6;

/// A listening socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Address that the listener is bound to.
    pub local: SocketAddr,
    /// Inode of the socket, as shown by the links in /proc/PID/fd.
    pub inode: u32,
    /// Connections waiting to be accepted.
    pub queue: u32,
    /// Limit of the accept queue: the smaller of the backlog and somaxconn. The kernel admits one connection more.
    pub limit: u32,
    /// Connection requests dropped at this socket; `None` if the kernel does not report them.
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
    /// Bytes received and not yet read by the program.
    pub receive_queue: u32,
    /// Bytes written by the program and not yet acknowledged by the peer.
    pub send_queue: u32,
    /// True if the send buffer is so full that a writer waits; `None` if the kernel does not report it.
    pub write_full: Option<bool>,
    /// `tcp_info`; `None` if the kernel left it out.
    pub info: Option<TcpInfo>,
    /// Identity of the socket, for [`Diag::connection`].
    pub name: SocketName,
}

/// The kernel's identity of a socket: addresses, interface and a cookie. No later socket with these addresses has the
/// same cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketName {
    family: u8,
    id: [u8; 48],
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
    /// Segments in flight.
    pub unacked: u32,
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Segments retransmitted since the connection began.
    pub total_retrans: u32,
    /// Smallest round-trip time observed (kernel 4.6).
    pub min_rtt_us: Option<u32>,
    /// Latest measured delivery rate in bytes per second (kernel 4.9).
    pub delivery_rate: Option<u64>,
    /// Time with data to send (kernel 4.10).
    pub busy_us: Option<u64>,
    /// Part of `busy_us` in which the peer's receive window blocked sending (kernel 4.10).
    pub rwnd_limited_us: Option<u64>,
    /// Part of `busy_us` in which the own send buffer blocked sending (kernel 4.10).
    pub sndbuf_limited_us: Option<u64>,
    /// Bytes that were written and not yet sent (kernel 4.6).
    pub unsent: Option<u32>,
    /// Receive window that the peer last advertised, in bytes (kernel 5.4).
    pub peer_window: Option<u32>,
}

/// An established connection between other programs, as [`Diag::others`] describes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OtherConnection {
    /// Local address of the connection.
    pub local: SocketAddr,
    /// Remote address of the connection.
    pub remote: SocketAddr,
    /// Inode of the socket; 0 while the connection waits to be accepted.
    pub inode: u32,
    /// Bytes that arrived and were not read.
    pub receive_queue: u32,
    /// Data in both directions; `None` if not requested, or on kernels before 4.6.
    pub traffic: Option<Traffic>,
    /// Identity of the socket, for [`Diag::other`].
    pub name: SocketName,
}

/// Data of a connection in both directions, from `struct tcp_info`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Segments with data sent since the connection began.
    pub data_out: u32,
    /// Segments with data received since the connection began.
    pub data_in: u32,
    /// Milliseconds since data was last sent.
    pub sent_ms_ago: u32,
    /// Milliseconds since data last arrived.
    pub received_ms_ago: u32,
    /// Segments that the peer has not acknowledged.
    pub unacknowledged: u32,
    /// Milliseconds since the peer last acknowledged new data.
    pub acknowledged_ms_ago: u32,
}

/// Selects connections of a dump by port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionFilter {
    /// Selects connections with this local port, as a server has them.
    pub local_port: Option<u16>,
    /// Selects connections to this remote port, as a client has them.
    pub remote_port: Option<u16>,
}

/// A netlink socket of the sock_diag family.
#[derive(Debug)]
pub struct Diag(Netlink);

impl Diag {
    /// Opens a socket in the caller's network namespace. No privilege is required.
    pub fn open() -> Result<Self> {
        Netlink::open(Some(SOCK_DIAG)).map(Self)
    }

    /// Wraps a sock_diag socket that was opened in another network namespace. The socket reports the sockets of that
    /// namespace.
    pub fn over(fd: OwnedFd) -> Result<Self> {
        Netlink::over(fd).map(Self)
    }

    /// Requests a dump and calls `each` with the payload of each message.
    pub(crate) fn ask(&mut self, kind: u16, request: &[u8], mut each: impl FnMut(&[u8]) -> DumpControl) -> Result<()> {
        self.0.ask(kind, true, &[request], |_, payload| each(payload)).map(drop)
    }

    /// Calls `each` with every listener of IPv4 (`v6` false) or IPv6, on one port or on all ports.
    pub fn listeners(&mut self, v6: bool, port: Option<u16>, mut each: impl FnMut(&Listener)) -> Result<()> {
        let head = request(v6, 1 << (SKMEMINFO - 1), LISTEN);
        let filter = bytecode(ConnectionFilter { local_port: port, remote_port: None });
        self.0.ask(SOCK_DIAG_BY_FAMILY, true, &[&head, &filter], |_, payload| {
            if let Some(listener) = listener(payload) {
                each(&listener);
            }
            DumpControl::Continue
        })?;
        Ok(())
    }

    /// Calls `each` with the remote address and the inode of every established connection of a local port. The inode is
    /// 0 while the connection waits to be accepted. The dump leaves out `tcp_info`, so tens of thousands of connections
    /// take little time.
    pub fn peers(&mut self, v6: bool, port: u16, mut each: impl FnMut(SocketAddr, u32)) -> Result<()> {
        let filter = bytecode(ConnectionFilter { local_port: Some(port), remote_port: None });
        self.0.ask(SOCK_DIAG_BY_FAMILY, true, &[&request(v6, 0, ESTABLISHED), &filter], |_, payload| {
            if let (Some((_, remote)), Some(inode)) = (ends_of(payload), u32_at(payload, 68)) {
                each(remote, inode);
            }
            DumpControl::Continue
        })?;
        Ok(())
    }

    /// Calls `each` with every established connection that has `port` at neither end. The filter runs in the kernel.
    /// With `traffic`, the kernel adds `tcp_info`, which costs a lock per connection.
    pub fn others(&mut self, v6: bool, port: u16, traffic: bool, mut each: impl FnMut(&OtherConnection)) -> Result<()> {
        let filter = attribute(REQ_BYTECODE, &excluding_port(port));
        let extensions = if traffic { 1 << (INFO - 1) } else { 0 };
        self.0.ask(SOCK_DIAG_BY_FAMILY, true, &[&request(v6, extensions, ESTABLISHED), &filter], |_, payload| {
            if let Some(connection) = other(payload) {
                each(&connection);
            }
            DumpControl::Continue
        })?;
        Ok(())
    }

    /// Calls `each` with established connections until `each` returns [`DumpControl::Stop`]. After a stop, drop this
    /// socket and open another one, because the kernel still holds the rest of the dump. The filter runs in the kernel.
    pub fn connections(
        &mut self,
        v6: bool,
        filter: ConnectionFilter,
        mut each: impl FnMut(&Connection) -> DumpControl,
    ) -> Result<DumpControl> {
        let head = request(v6, CONNECTION_EXTENSIONS, ESTABLISHED | CLOSE_WAIT);
        let filter = bytecode(filter);
        self.0.ask(SOCK_DIAG_BY_FAMILY, true, &[&head, &filter], |_, payload| match connection(payload) {
            Some(connection) => each(&connection),
            None => DumpControl::Continue,
        })
    }
}

impl Diag {
    /// Returns the current state of one known connection, or `None` if the connection has ended. This query is much
    /// cheaper than a dump, which makes the kernel search its whole table.
    pub fn connection(&mut self, name: &SocketName) -> Result<Option<Connection>> {
        self.known(name, CONNECTION_EXTENSIONS, connection)
    }

    /// Returns one known connection as [`Diag::others`] describes it with its traffic.
    pub fn other(&mut self, name: &SocketName) -> Result<Option<OtherConnection>> {
        self.known(name, 1 << (INFO - 1), other)
    }

    fn known<T>(&mut self, name: &SocketName, extensions: u8, parse: fn(&[u8]) -> Option<T>) -> Result<Option<T>> {
        let mut head = request(name.family == INET6, extensions, u32::MAX);
        head[8..56].copy_from_slice(&name.id);
        let mut found = None;
        let asked = self.0.ask(SOCK_DIAG_BY_FAMILY, false, &[&head], |_, payload| {
            let open = payload.get(1).is_some_and(|state| (ESTABLISHED | CLOSE_WAIT) >> state & 1 == 1);
            found = parse(payload).filter(|_| open);
            DumpControl::Continue
        });
        match asked {
            Ok(_) => Ok(found),
            Err(Errno::NOENT | Errno::STALE) => Ok(None),
            Err(e) => Err(e),
        }
    }
}

/// Builds a `struct inet_diag_req_v2`.
fn request(v6: bool, extensions: u8, states: u32) -> [u8; 56] {
    let mut out = [0_u8; 56];
    out[0] = if v6 { INET6 } else { INET };
    out[1] = TCP;
    out[2] = extensions;
    out[4..8].copy_from_slice(&states.to_ne_bytes());
    out
}

/// Builds the filter program for inet_diag. Each port takes two comparisons, because "equal" exists only since kernel
/// 4.16. A failed comparison jumps 4 bytes past the end, which rejects the connection.
fn bytecode(filter: ConnectionFilter) -> Vec<u8> {
    const S_GE: u8 = 2;
    const S_LE: u8 = 3;
    const D_GE: u8 = 4;
    const D_LE: u8 = 5;
    let local = filter.local_port.map(|port| [(S_GE, port), (S_LE, port)]);
    let remote = filter.remote_port.map(|port| [(D_GE, port), (D_LE, port)]);
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

/// Builds the filter program that rejects connections if either end has this port. The program expresses "not equal" as
/// "greater or less": a successful comparison continues at a jump over the other comparison. The kernel accepts a jump
/// only to an instruction that a successful comparison can reach.
fn excluding_port(port: u16) -> Vec<u8> {
    const JUMP: u8 = 1;
    const S_GE: u8 = 2;
    const S_LE: u8 = 3;
    const D_GE: u8 = 4;
    const D_LE: u8 = 5;
    /// Size of two comparisons of 8 bytes each and the jump of 4 bytes between them.
    const TEST_BYTES: usize = 20;
    let (above, below) = (port.saturating_add(1), port.saturating_sub(1));
    let mut program = Vec::with_capacity(2 * TEST_BYTES);
    for (at, (ge, le)) in [(S_GE, S_LE), (D_GE, D_LE)].into_iter().enumerate() {
        // Distance from the second comparison (offset 12 of its block) to 4 bytes past the end of the program.
        let reject = (2 * TEST_BYTES - at * TEST_BYTES - 12 + 4) as u16;
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

/// Parses `struct inet_diag_msg`: addresses at offset 4, queues at 56, inode at 68, attributes from 72.
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
        name: socket_name(payload)?,
    })
}

fn socket_name(payload: &[u8]) -> Option<SocketName> {
    Some(SocketName { family: *payload.first()?, id: *payload.get(4..)?.first_chunk()? })
}

fn other(payload: &[u8]) -> Option<OtherConnection> {
    let (local, remote) = ends_of(payload)?;
    let info = payload.get(72..).and_then(|rest| attributes(rest).find(|(kind, _)| *kind == INFO));
    Some(OtherConnection {
        local,
        remote,
        inode: u32_at(payload, 68)?,
        receive_queue: u32_at(payload, 56)?,
        traffic: info.and_then(|(_, info)| traffic(info)),
        name: socket_name(payload)?,
    })
}

/// Parses the traffic in `struct tcp_info`.
fn traffic(info: &[u8]) -> Option<Traffic> {
    Some(Traffic {
        sent_ms_ago: u32_at(info, 44)?,
        received_ms_ago: u32_at(info, 52)?,
        data_in: u32_at(info, 152)?,
        data_out: u32_at(info, 156)?,
        unacknowledged: u32_at(info, 24)?,
        acknowledged_ms_ago: u32_at(info, 56)?,
    })
}

/// Returns true if a writer must wait. The kernel lets a writer continue once a third of the send buffer is free
/// (`sk_stream_is_writeable`).
fn write_full(memory: &[u8]) -> Option<bool> {
    let (size, queued) = (u32_at(memory, 4 * SK_MEMINFO_SNDBUF)?, u32_at(memory, 4 * SK_MEMINFO_WMEM_QUEUED)?);
    Some(3 * u64::from(queued) > 2 * u64::from(size))
}

/// Parses `struct tcp_info` (offsets from linux/tcp.h).
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
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::thread;
    use std::time::{Duration, Instant};

    fn listeners(port: u16, v6: bool) -> Vec<Listener> {
        let mut found = Vec::new();
        Diag::open().unwrap().listeners(v6, Some(port), |l| found.push(*l)).unwrap();
        found
    }

    #[test]
    fn a_listener_reports_its_accept_queue() {
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
    fn the_filter_excludes_a_port_at_either_end() {
        let pair = || {
            let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let client = std::net::TcpStream::connect(server.local_addr().unwrap()).unwrap();
            (client, server.accept().unwrap().0)
        };
        let (a, b) = (pair(), pair());
        let port = |stream: &std::net::TcpStream| stream.local_addr().unwrap().port();
        let mut filter = Vec::new();
        Diag::open()
            .unwrap()
            .others(false, port(&a.1), true, |c| filter.push((c.local.port(), c.remote.port())))
            .unwrap();
        assert!(filter.contains(&(port(&b.0), port(&b.1))) && filter.contains(&(port(&b.1), port(&b.0))), "{filter:?}");
        assert!(
            !filter.contains(&(port(&a.0), port(&a.1))) && !filter.contains(&(port(&a.1), port(&a.0))),
            "{filter:?}"
        );
    }

    #[test]
    fn requests_and_answers_of_a_connection_are_counted() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(server.local_addr().unwrap()).unwrap();
        let mut accepted = server.accept().unwrap().0;
        let local = client.local_addr().unwrap();
        let look = || {
            let mut found = None;
            Diag::open()
                .unwrap()
                .others(false, 0, true, |c| found = found.or((c.local == local).then_some(*c)))
                .unwrap();
            found.unwrap().traffic.unwrap()
        };
        for _ in 0..3 {
            client.write_all(b"question").unwrap();
            accepted.read_exact(&mut [0; 8]).unwrap();
            accepted.write_all(b"answer").unwrap();
            client.read_exact(&mut [0; 6]).unwrap();
        }
        let told = look();
        assert_eq!((told.data_out, told.data_in), (3, 3));
        // Times are in ticks of up to 10 ms.
        thread::sleep(Duration::from_millis(30));
        client.write_all(b"question").unwrap();
        let told = look();
        assert!(told.data_out == 4 && told.sent_ms_ago < told.received_ms_ago, "{told:?}");
        let mut name = None;
        let mut diag = Diag::open().unwrap();
        diag.others(false, 0, false, |c| name = name.or((c.local == local).then_some(c.name))).unwrap();
        assert_eq!(diag.other(&name.unwrap()).unwrap().unwrap().traffic.unwrap().data_out, 4);
    }

    #[test]
    fn a_sender_has_unsent_bytes_and_a_full_buffer_if_the_peer_does_not_read() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = server.local_addr().unwrap();
        let (_deaf, (mut sender, _)) = (TcpStream::connect(addr).unwrap(), server.accept().unwrap());
        let look = || {
            let (mut found, filter) = (None, ConnectionFilter { local_port: Some(addr.port()), remote_port: None });
            let end = Diag::open().unwrap().connections(false, filter, |c| {
                found = Some(*c);
                DumpControl::Stop
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
    fn a_dump_of_one_port_returns_its_connections_with_tcp_info() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = server.local_addr().unwrap();
        let mut clients: Vec<_> = (0..5).map(|_| TcpStream::connect(addr).unwrap()).collect();
        let mut accepted: Vec<_> = (0..5).map(|_| server.accept().unwrap()).collect();
        clients[0].write_all(b"12345").unwrap();
        let mut ours = Vec::new();
        let filter = ConnectionFilter { local_port: Some(addr.port()), remote_port: None };
        let mut diag = Diag::open().unwrap();
        let end = diag.connections(false, filter, |c| {
            ours.push(*c);
            DumpControl::Continue
        });
        assert_eq!(end, Ok(DumpControl::Continue));
        assert_eq!(ours.len(), 5);
        assert!(ours.iter().all(|c| c.local == addr && c.info.is_some_and(|i| i.cwnd > 0 && i.rtt_us < 1_000_000)));
        assert_eq!(ours.iter().map(|c| c.receive_queue).sum::<u32>(), 5);
        for c in &ours {
            let again = diag.connection(&c.name).unwrap().unwrap();
            assert_eq!((again.local, again.remote, again.receive_queue), (c.local, c.remote, c.receive_queue));
        }
        let gone = ours.iter().find(|c| c.remote == clients[4].local_addr().unwrap()).unwrap();
        drop((clients.pop(), accepted.pop()));
        // A concurrent test may have forked a child that holds copies of the descriptors until it executes. The
        // connection therefore may end a little later than its close.
        let end = Instant::now() + Duration::from_secs(5);
        while diag.connection(&gone.name).unwrap().is_some() {
            assert!(Instant::now() < end, "a closed connection is still told after 5 s");
            thread::sleep(Duration::from_millis(1));
        }
        let mut theirs = 0;
        let filter = ConnectionFilter { local_port: None, remote_port: Some(addr.port()) };
        let end = diag.connections(false, filter, |_| {
            theirs += 1;
            if theirs == 2 { DumpControl::Stop } else { DumpControl::Continue }
        });
        assert_eq!((end, theirs), (Ok(DumpControl::Stop), 2));
    }
}
