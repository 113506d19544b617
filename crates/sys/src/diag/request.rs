//! Requests to sock_diag, and filter programs that the kernel runs. Source: linux/inet_diag.h.

use std::net::IpAddr;

use super::ConnectionFilter;
use crate::netlink::attribute;

/// Bit of the state SYN-SENT in a request for sockets (TCP_SYN_SENT in net/tcp_states.h).
pub(super) const SYN_SENT: u32 = 1 << 2;
const REQ_BYTECODE: u16 = 1;
/// Netlink attribute that contains the structure `tcp_info`.
pub(super) const INFO: u16 = 2;
/// Netlink attribute that contains the sizes and fill levels of the socket's buffers.
pub(super) const SKMEMINFO: u16 = 7;
/// `AF_INET` as a byte of the request.
const INET: u8 = 2;
/// `AF_INET6` as a byte of the request.
pub(super) const INET6: u8 = 10;
/// `IPPROTO_TCP` as a byte of the request.
const TCP: u8 = 6;
/// Opcode (in a filter program) that tests whether the local port is at least a given value.
const LOCAL_AT_LEAST: u8 = 2;
/// Opcode (in a filter program) that tests whether the local port is at most a given value.
const LOCAL_AT_MOST: u8 = 3;
/// Opcode (in a filter program) that tests whether the remote port is at least a given value.
const REMOTE_AT_LEAST: u8 = 4;
/// Opcode (in a filter program) that tests whether the remote port is at most a given value.
const REMOTE_AT_MOST: u8 = 5;
/// Opcode (in a filter program) that jumps in any case.
const JUMP: u8 = 1;
/// Opcode (in a filter program) that compares the remote address and port with a `struct inet_diag_hostcond`.
const REMOTE_IS: u8 = 8;

/// Builds a `struct inet_diag_req_v2`.
pub(super) fn request(v6: bool, extensions: u8, states: u32) -> [u8; 56] {
    let mut out = [0_u8; 56];
    out[0] = if v6 { INET6 } else { INET };
    out[1] = TCP;
    out[2] = extensions;
    out[4..8].copy_from_slice(&states.to_ne_bytes());
    out
}

/// Builds the attribute with the filter program of a request. The result is empty if the filter selects all
/// connections. Each port needs two comparisons (at least, at most), because a comparison for equality exists only
/// since kernel 4.16. A failed comparison jumps to 4 bytes past the end of the program, which rejects the connection.
pub(super) fn bytecode(filter: ConnectionFilter) -> Vec<u8> {
    let local = filter.local_port.map(|port| [(LOCAL_AT_LEAST, port), (LOCAL_AT_MOST, port)]);
    let remote = filter.remote_port.map(|port| [(REMOTE_AT_LEAST, port), (REMOTE_AT_MOST, port)]);
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

/// Builds the attribute with a filter program that rejects all connections with the port `port` at either end. The
/// filter program accepts a port that is greater or less than `port`. If the first comparison succeeds, a jump skips
/// the second comparison. The kernel accepts a jump only if the program also reaches the jump's target when all
/// comparisons succeed.
pub(super) fn excluding_port(port: u16) -> Vec<u8> {
    /// Size of two comparisons of 8 bytes each and the jump of 4 bytes between them.
    const TEST_BYTES: usize = 20;
    let below = port.saturating_sub(1);
    let mut program = Vec::with_capacity(2 * TEST_BYTES);
    let ends = [(LOCAL_AT_LEAST, LOCAL_AT_MOST), (REMOTE_AT_LEAST, REMOTE_AT_MOST)];
    for (at, (at_least, at_most)) in ends.into_iter().enumerate() {
        // Distance from the second comparison (offset 12 of its block) to 4 bytes past the end of the program.
        let reject = (2 * TEST_BYTES - at * TEST_BYTES - 12 + 4) as u16;
        let mut push = |code: u8, yes: u8, no: u16| {
            program.extend_from_slice(&[code, yes]);
            program.extend_from_slice(&no.to_ne_bytes());
        };
        // No port is above 65535.
        let (first, value) = port.checked_add(1).map_or((at_most, below), |above| (at_least, above));
        push(first, 8, 12);
        push(0, 0, value);
        push(JUMP, 4, 12);
        push(at_most, 8, reject);
        push(0, 0, below);
    }
    attribute(REQ_BYTECODE, &program)
}

/// Builds the attribute with a filter program that selects the connections to a remote port, except the connections to
/// the IP addresses `except`. Two comparisons select the port. A comparison and a jump follow for each address: if the
/// address differs, the program skips the jump. The jump rejects the connection as in [`excluding_port`].
pub(super) fn to_port(port: u16, except: &[IpAddr]) -> Vec<u8> {
    let hosts: Vec<Vec<u8>> = except.iter().map(host_condition).collect();
    let length = 2 * 8 + hosts.iter().map(|host| 4 + host.len() + 4).sum::<usize>();
    let mut program = Vec::with_capacity(length);
    let reject = |program: &Vec<u8>| (length - program.len() + 4) as u16;
    let push = |program: &mut Vec<u8>, code: u8, yes: usize, no: u16| {
        program.extend_from_slice(&[code, yes as u8]);
        program.extend_from_slice(&no.to_ne_bytes());
    };
    for code in [REMOTE_AT_LEAST, REMOTE_AT_MOST] {
        let no = reject(&program);
        push(&mut program, code, 8, no);
        push(&mut program, 0, 0, port);
    }
    for host in hosts {
        let size = 4 + host.len();
        push(&mut program, REMOTE_IS, size, (size + 4) as u16);
        program.extend(host);
        let no = reject(&program);
        push(&mut program, JUMP, 4, no);
    }
    attribute(REQ_BYTECODE, &program)
}

/// Encodes `struct inet_diag_hostcond` for one IP address and any port.
fn host_condition(ip: &IpAddr) -> Vec<u8> {
    let (family, address) = match ip {
        IpAddr::V4(ip) => (INET, ip.octets().to_vec()),
        IpAddr::V6(ip) => (INET6, ip.octets().to_vec()),
    };
    let prefix_bits = (8 * address.len()) as u8;
    [&[family, prefix_bits, 0, 0][..], &(-1_i32).to_ne_bytes(), &address].concat()
}
