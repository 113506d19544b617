//! Divides the connections among pairs of processes. Each server process has its own generator process, and each
//! generator process has its own source addresses.

use std::net::{IpAddr, Ipv4Addr};

/// Maximum number of connections from one source address to one server. For a new connection, the kernel first looks
/// for a free port in one half of the ephemeral range (14,000 of 28,000 ports by default). If all ports of one half of
/// the ephemeral range are used, each connect searches all used ports, which takes long.
const CONNECTIONS_PER_SOURCE: u32 = 10_000;
/// First loopback address of the servers.
const SERVERS: u32 = 0x7f4e_0001;
/// First source address of the generators.
const SOURCES: u32 = 0x7f50_0001;

/// A generator process and the server process to which it connects.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pair {
    pub(super) connections: u32,
    /// Address of the server.
    pub(super) server: Ipv4Addr,
    /// Source addresses of the generator.
    pub(super) sources: Vec<IpAddr>,
}

/// Divides `connections` among `processes` pairs, or among fewer pairs if there are fewer connections.
pub(super) fn pairs(connections: u32, processes: u32) -> Vec<Pair> {
    let processes = processes.clamp(1, connections.max(1));
    let mut next = SOURCES;
    let mut pair = |i: u32| {
        let own = connections / processes + u32::from(i < connections % processes);
        let sources = own.div_ceil(CONNECTIONS_PER_SOURCE).max(1);
        let first = next;
        next += sources;
        Pair {
            connections: own,
            server: Ipv4Addr::from(SERVERS + i),
            sources: (first..next).map(|addr| IpAddr::V4(addr.into())).collect(),
        }
    };
    (0..processes).map(&mut pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_connections_are_assigned_and_no_address_is_used_twice() {
        let pairs = pairs(1_000_000, 51);
        assert_eq!(pairs.iter().map(|p| p.connections).sum::<u32>(), 1_000_000);
        assert!(pairs.iter().all(|p| p.sources.len() == 2 && p.connections.div_ceil(2) <= CONNECTIONS_PER_SOURCE));
        let mut all: Vec<IpAddr> = pairs.iter().flat_map(|p| p.sources.clone()).collect();
        all.extend(pairs.iter().map(|p| IpAddr::V4(p.server)));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 51 * 3);
        assert!(all.iter().all(IpAddr::is_loopback));
    }
}
