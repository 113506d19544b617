//! Redis clusters. Connections are spread over the nodes that hold the keys of the commands.

use std::net::SocketAddr;

use run::{ClusterSlots, LoadPlan, Protocol, ServerQuestion};

use crate::trial::asker::Asker;
use crate::trial::authorized::check_authorized;
use crate::trial::target::Resolved;
use crate::{Lab, LabError};

/// If the target belongs to a Redis cluster, finds the nodes of the cluster. Puts the nodes that hold keys of the
/// commands into the plan. Because the server names the nodes, the function checks that the user may load each node.
pub(super) fn join(
    lab: &mut Lab<'_>,
    found: &mut Resolved,
    load: &mut LoadPlan,
    asker: &Asker<'_>,
) -> Result<(), LabError> {
    let target = lab.run.plan.target.clone();
    let (Protocol::Redis { .. }, Some(asked)) = (&load.protocol, found.addr.inet()) else { return Ok(()) };
    let commands = proto::redis::ClientPlan::new(&load.revealed().protocol);
    let slots: Vec<u16> = commands.map(|plan| plan.slots().into_iter().flatten().collect()).unwrap_or_default();
    if slots.is_empty() {
        return Ok(());
    }
    let ranges = asker.ask(lab, ServerQuestion::ClusterSlots, &found.addr, load).cluster;
    let nodes = nodes(&ranges, &slots, asked);
    let Some((first, others)) = nodes.split_first() else { return Ok(()) };
    nodes.iter().try_for_each(|node| check_authorized(&target.url, &(*node).into(), target.authorized))?;
    if let Protocol::Redis { cluster, .. } = &mut load.protocol {
        *cluster = in_order(&ranges, &nodes);
    }
    found.addr = (*first).into();
    load.addresses = others.to_vec();
    let count = run::number::prose::counted(nodes.len() as f64, "node");
    lab.note(format!("the server belongs to a Redis cluster, of which {count} with keys of the commands are loaded"));
    Ok(())
}

/// Returns the nodes that are responsible for at least one slot in `slots`. The node `asked`, which was asked for the
/// slots, comes first if it owns one of the slots. Returns an empty list if the server belongs to no cluster.
fn nodes(ranges: &[ClusterSlots], slots: &[u16], asked: SocketAddr) -> Vec<SocketAddr> {
    let holds = |range: &&ClusterSlots| slots.iter().any(|slot| (range.first..=range.last).contains(slot));
    let mut nodes: Vec<SocketAddr> = Vec::new();
    for range in ranges.iter().filter(holds) {
        if !nodes.contains(&range.node) && nodes.len() < run::MAX_ADDRESSES {
            nodes.push(range.node);
        }
    }
    nodes.sort_by_key(|node| *node != asked);
    nodes
}

/// Returns the slot ranges of the nodes in `nodes`, in the order of the nodes.
fn in_order(ranges: &[ClusterSlots], nodes: &[SocketAddr]) -> Vec<ClusterSlots> {
    let of_node = |node: &SocketAddr| ranges.iter().filter(|range| range.node == *node).cloned().collect::<Vec<_>>();
    nodes.iter().flat_map(of_node).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_with_keys_are_loaded_the_asked_one_first() {
        let node = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        let range = |first, last, port| ClusterSlots { first, last, node: node(port) };
        let ranges = [range(0, 99, 1), range(100, 199, 2), range(200, 299, 3), range(300, 399, 1)];
        let found = nodes(&ranges, &[5, 250, 251, 310], node(3));
        assert_eq!(found, [node(3), node(1)]);
        let ordered: Vec<u16> = in_order(&ranges, &found).iter().map(|range| range.first).collect();
        assert_eq!(ordered, [200, 0, 300]);
        assert!(nodes(&[], &[5], node(3)).is_empty());
    }
}
