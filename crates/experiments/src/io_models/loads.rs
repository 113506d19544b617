//! Loads of the entries in the table of Jones and Deshpande (source 4). As in the paper, the connections of a load form
//! several blocks.

use run::{Blocks, Intensity, LoadPlan, Protocol, ThinkTime, Trial};

use crate::Parameters;
use crate::values::BYTES_PER_S;

/// Size of each block after the first [`FIRST_BLOCKS`] blocks, as a multiple of the usual block size. The paper's last
/// client machine had blocks of 4,000 connections.
const LATER_BLOCKS: u32 = 4;

const FIRST_BLOCKS: u32 = 12;

/// Returns the loads of an entry. Entry 1 has one load per client host, and the other entries have one load per block.
pub(super) fn loads(parameters: &Parameters, entry: u32, clients: u32, cpus: &[u32]) -> Vec<LoadPlan> {
    let block = parameters.count("block", 1000).max(1);
    let rate = parameters.number("block_rate", 200_000.0);
    let (sizes, rate) = match entry {
        1 => (shares(parameters.count("first", 7000), clients), 0.0),
        2 => (split_blocks(parameters.count("second", 12_000), block), rate),
        _ => (split_blocks(parameters.count("third", 24_000), block), rate),
    };
    let compat = parameters.flag("compat", false);
    let blocks = |n: u32| Blocks {
        block: if entry == 1 { block } else { n },
        block_rate_bytes_per_s: rate,
        sends_per_connection: parameters.count("sends", 0),
        compat,
    };
    sizes.into_iter().map(|n| plan(parameters, n, blocks(n), cpus)).collect()
}

/// Divides the connections evenly among the client hosts.
fn shares(connections: u32, clients: u32) -> Vec<u32> {
    (0..clients).map(|i| connections / clients + u32::from(i < connections % clients)).collect()
}

fn split_blocks(mut connections: u32, block: u32) -> Vec<u32> {
    let mut blocks = Vec::new();
    while connections > 0 {
        let size = if blocks.len() < FIRST_BLOCKS as usize { block } else { block * LATER_BLOCKS };
        let n = size.min(connections);
        connections -= n;
        blocks.push(n);
    }
    blocks
}

pub(super) fn plan(parameters: &Parameters, connections: u32, blocks: Blocks, cpus: &[u32]) -> LoadPlan {
    let message_bytes = u64::from(parameters.count("message_bytes", 4096));
    let think = ThinkTime::default();
    LoadPlan {
        protocol: Protocol::Echo { message_bytes },
        intensity: Intensity::Closed { connections, pipeline: parameters.count("posted", 1).max(1), think },
        duration_s: parameters.number("seconds", 4.0),
        warmup_s: parameters.number("warmup_s", 6.0) + blocks.connects_s(connections, message_bytes),
        blocks: Some(blocks),
        drain_s: 0.3,
        timeout_s: 120.0,
        connect_timeout_s: 30.0,
        cpus: cpus.to_vec(),
        ..LoadPlan::default()
    }
}

pub(super) fn connections(plan: &LoadPlan) -> u32 {
    match plan.intensity {
        Intensity::Closed { connections, .. } => connections,
        _ => 0,
    }
}

/// Returns the maximum load of all plans together, bytes per second. Returns `None` if a plan's connections send again
/// as soon as they get a response.
pub(super) fn offered_bytes_per_s(plans: &[LoadPlan]) -> Option<f64> {
    let of = |plan: &LoadPlan| {
        let bytes = plan.protocol.echoed_bytes()?;
        let pause_ns = plan.blocks.as_ref()?.pause_ns(bytes);
        (pause_ns > 0).then(|| bytes as f64 / pause_ns as f64 * 1e9)
    };
    plans.iter().map(of).sum()
}

/// Stores the rate at which the clients received bytes.
pub(super) fn put_bytes(trial: &mut Trial) {
    let length_s = trial.measured.length_s.max(1e-9);
    trial.results.put(BYTES_PER_S, trial.measured.tally.bytes_received as f64 / length_s);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_hosts_share_all_connections() {
        assert_eq!((shares(7000, 1), shares(7000, 3)), (vec![7000], vec![2334, 2333, 2333]));
    }

    #[test]
    fn blocks_have_the_published_sizes() {
        let sizes = |n| split_blocks(n, 1000);
        assert_eq!(sizes(12_000), vec![1000; 12]);
        assert_eq!(sizes(24_000)[12..], [4000, 4000, 4000]);
        assert_eq!(sizes(1500), [1000, 500]);
    }

    #[test]
    fn blocks_without_a_limit_have_no_maximum_load() {
        let block = |rate| Blocks { block_rate_bytes_per_s: rate, ..Blocks::default() };
        let offer = |rates: &[f64]| {
            let plans: Vec<LoadPlan> =
                rates.iter().map(|rate| plan(&Parameters::default(), 1000, block(*rate), &[])).collect();
            offered_bytes_per_s(&plans)
        };
        assert_eq!(offer(&[200_000.0, 0.0]), None);
        assert!(offer(&[200_000.0; 2]).is_some_and(|v| (v - 400_000.0).abs() < 2.0));
    }
}
