//! Parses answers of sock_diag. Source: linux/inet_diag.h, linux/tcp.h.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::request::{INET6, INFO, SKMEMINFO, SYN_SENT};
use super::{Connection, Listener, OtherConnection, SocketName, TcpInfo, Traffic};
use crate::netlink::{attributes, u32_at, u64_at};

const SKV6ONLY: u16 = 11;
/// Index of the size of the send buffer in the array of `INET_DIAG_SKMEMINFO`.
const SK_MEMINFO_SNDBUF: usize = 3;
/// Index of the number of bytes queued to send in the array of `INET_DIAG_SKMEMINFO`.
const SK_MEMINFO_WMEM_QUEUED: usize = 5;
/// Index of the number of drops in the array of `INET_DIAG_SKMEMINFO`.
const SK_MEMINFO_DROPS: usize = 8;

/// Parses the local and the remote address of `struct inet_diag_msg`. In `inet_diag_msg`, addresses begin at offset 4,
/// queues at 56, the inode at 68, and attributes at 72.
pub(super) fn ends_of(payload: &[u8]) -> Option<(SocketAddr, SocketAddr)> {
    let v6 = *payload.first()? == INET6;
    let port = |at: usize| payload.get(at..)?.first_chunk().map(|b| u16::from_be_bytes(*b));
    Some((SocketAddr::new(address(payload, 8, v6)?, port(4)?), SocketAddr::new(address(payload, 24, v6)?, port(6)?)))
}

/// Parses the state of a socket, as one bit of a request's set of states.
pub(super) fn state_of(payload: &[u8]) -> Option<u32> {
    1_u32.checked_shl(u32::from(*payload.get(1)?))
}

fn address(payload: &[u8], at: usize, v6: bool) -> Option<IpAddr> {
    let bytes = payload.get(at..)?;
    if v6 {
        bytes.first_chunk::<16>().map(|b| Ipv6Addr::from(*b).to_canonical())
    } else {
        bytes.first_chunk::<4>().map(|b| IpAddr::V4(Ipv4Addr::from(*b)))
    }
}

/// Parses a listening socket.
pub(super) fn listener(payload: &[u8]) -> Option<Listener> {
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

/// Parses an established connection of a client or a server.
pub(super) fn connection(payload: &[u8]) -> Option<Connection> {
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

/// Parses a connection in the form of [`Diag::others`](super::Diag::others).
pub(super) fn other(payload: &[u8]) -> Option<OtherConnection> {
    let (local, remote) = ends_of(payload)?;
    let info = payload.get(72..).and_then(|rest| attributes(rest).find(|(kind, _)| *kind == INFO));
    Some(OtherConnection {
        local,
        remote,
        inode: u32_at(payload, 68)?,
        receive_queue: u32_at(payload, 56)?,
        is_connecting: state_of(payload)? == SYN_SENT,
        traffic: info.and_then(|(_, info)| traffic(info)),
        name: socket_name(payload)?,
    })
}

/// Parses the fields about traffic in `struct tcp_info`.
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

/// Returns true if the send buffer is so full that a writer must wait. The kernel lets a writer continue once a third
/// of the send buffer is free (`sk_stream_is_writeable`).
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
