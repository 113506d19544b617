//! From a plan to the shares of its threads, with the limits that the system sets.

use std::net::{IpAddr, SocketAddr};

use run::{Intensity, LoadPlan, Protocol};

use crate::LoadError;
use crate::arrivals::Arrivals;
use crate::core::{Shape, Task, Think};

/// Descriptors that the process needs for itself.
const OWN_DESCRIPTORS: u64 = 64;

/// Puts `total` into `parts` nearly equal shares; share `i`.
fn share(total: u32, parts: u32, i: u32) -> u32 {
    total / parts + u32::from(i < total % parts)
}

/// The task of thread `shard`; `limit` is how many descriptors the process may have.
pub(crate) fn task(plan: &LoadPlan, shard: u32, origin_ns: u64, limit: u64) -> Task {
    let shards = plan.threads.max(1);
    let ns = |s: f64| (s.max(0.0) * 1e9) as u64;
    let seed = plan.seed.wrapping_add(u64::from(shard).wrapping_mul(0xd134_2543_de82_ef95));
    let intensity = match &plan.intensity {
        Intensity::Closed { connections, pipeline, think } => Shape::Closed {
            connections: share(*connections, shards, shard),
            pipeline: *pipeline,
            think: Think::from(think),
        },
        Intensity::Open { rate, arrival, max_connections } => Shape::Open {
            arrivals: Arrivals::new(arrival, *rate, shard, shards, plan.seed),
            rate: *rate / f64::from(shards),
            max_connections: share(*max_connections, shards, shard).max(1),
        },
        Intensity::SClients { descriptors, connect_timeout_ms, think } => {
            let descriptors = share(*descriptors, shards, shard);
            let room = (limit.saturating_sub(OWN_DESCRIPTORS) / u64::from(shards)) as u32;
            Shape::SClients {
                descriptors,
                timeout_ns: (connect_timeout_ms * 1e6) as u64,
                think: Think::from(think),
                established: room.saturating_sub(descriptors).clamp(1, descriptors.max(1024)),
                shard,
                shards,
            }
        }
    };
    Task {
        intensity,
        new_connections: plan.new_connections,
        timeout_ns: ns(plan.timeout_s),
        connect_timeout_ns: ns(plan.connect_timeout_s),
        drain_ns: ns(plan.drain_s),
        seed,
        origin_ns,
    }
}

/// The plan with what simple clients and S-Clients of HTTP need: they ask the server to close, so that it does so first.
pub(crate) fn prepared(plan: &LoadPlan) -> LoadPlan {
    let mut plan = plan.clone();
    let one_request = plan.new_connections || matches!(plan.intensity, Intensity::SClients { .. });
    if let Protocol::Http1 { headers, .. } = &mut plan.protocol
        && one_request
        && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("connection"))
    {
        headers.push(("Connection".into(), "close".into()));
    }
    plan
}

/// What the descriptor limit does to a plan, in sentences.
pub(crate) fn descriptor_notes(plan: &LoadPlan, limit: u64) -> Vec<String> {
    let wanted = u64::from(match &plan.intensity {
        Intensity::Closed { connections, .. } => *connections,
        Intensity::Open { .. } => 0,
        Intensity::SClients { descriptors, .. } => *descriptors,
    });
    if wanted + OWN_DESCRIPTORS <= limit {
        return Vec::new();
    }
    vec![format!(
        "{wanted} connections were asked for but this process may have {limit} descriptors: raise the hard limit \
         (ulimit -Hn, LimitNOFILE=) or spread the load over more agents"
    )]
}

/// Source addresses must be of the server's family.
pub(crate) fn check_sources(sources: &[IpAddr], target: SocketAddr) -> Result<(), LoadError> {
    match sources.iter().find(|s| s.is_ipv4() != target.is_ipv4()) {
        Some(&source_addr) => {
            Err(LoadError::Source { source_addr, target, why: "give addresses of the server's family (IPv4 or IPv6)" })
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        for (total, parts) in [(10, 3), (3, 10), (0, 4), (64, 1)] {
            assert_eq!((0..parts).map(|i| share(total, parts, i)).sum::<u32>(), total);
        }
    }

    #[test]
    fn simple_clients_ask_the_server_to_close() {
        let plan = prepared(&LoadPlan { new_connections: true, ..LoadPlan::default() });
        let Protocol::Http1 { headers, .. } = &plan.protocol else { unreachable!() };
        assert_eq!(headers, &[("Connection".to_owned(), "close".to_owned())]);
        let Protocol::Http1 { headers, .. } = prepared(&LoadPlan::default()).protocol else { unreachable!() };
        assert!(headers.is_empty());
    }
}
