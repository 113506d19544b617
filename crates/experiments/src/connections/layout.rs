//! Who holds which connections: a generator process for each server process, from addresses that no other one has.

use std::net::{IpAddr, Ipv4Addr};

/// Connections from one source address to one server. The kernel looks for a free port among one half of the ephemeral ones
/// first (14,000 of the 28,000 by default); beyond these each connect searches through all that are taken.
const A_SOURCE: u32 = 10_000;
/// First addresses of loopback that servers listen at, and that generators connect from.
const SERVERS: u32 = 0x7f4e_0001;
const SOURCES: u32 = 0x7f50_0001;

/// A generator and its server.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pair {
    pub(super) connections: u32,
    /// Where the server listens.
    pub(super) server: Ipv4Addr,
    /// Where the generator connects from.
    pub(super) sources: Vec<IpAddr>,
}

/// So many connections over so many pairs.
pub(super) fn pairs(connections: u32, processes: u32) -> Vec<Pair> {
    let processes = processes.clamp(1, connections.max(1));
    let mut next = SOURCES;
    let mut pair = |i: u32| {
        let own = connections / processes + u32::from(i < connections % processes);
        let sources = own.div_ceil(A_SOURCE).max(1);
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
    fn all_are_dealt_out_and_no_address_is_used_twice() {
        let pairs = pairs(1_000_000, 51);
        assert_eq!(pairs.iter().map(|p| p.connections).sum::<u32>(), 1_000_000);
        assert!(pairs.iter().all(|p| p.sources.len() == 2 && p.connections.div_ceil(2) <= A_SOURCE));
        let mut all: Vec<IpAddr> = pairs.iter().flat_map(|p| p.sources.clone()).collect();
        all.extend(pairs.iter().map(|p| IpAddr::V4(p.server)));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 51 * 3);
        assert!(all.iter().all(IpAddr::is_loopback));
    }
}
