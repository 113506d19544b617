//! Asks a Redis server for the slots of its cluster. A cluster divides its keys among slots, and each slot belongs to a
//! node.

use std::net::{IpAddr, SocketAddr};

use proto::redis::{Value, values};
use run::{ClusterSlots, LoadPlan, MAX_CLUSTER_RANGES, Protocol};

/// Returns the plan of a request for the slots of a cluster; `None` if the protocol is not Redis.
pub(super) fn question(plan: &LoadPlan) -> Option<LoadPlan> {
    let Protocol::Redis { auth_file, .. } = &plan.protocol else { return None };
    let protocol = Protocol::Redis {
        command: "CLUSTER SLOTS".into(),
        commands_file: None,
        auth_file: auth_file.clone(),
        database: 0,
        resp3: false,
        cluster: Vec::new(),
    };
    Some(LoadPlan { protocol, ..plan.clone() })
}

/// Reads the slots from an answer to `CLUSTER SLOTS`; empty if the server does not belong to a cluster.
pub(super) fn slots(bytes: &[u8], server: IpAddr) -> Vec<ClusterSlots> {
    let replies = values(bytes).unwrap_or_default();
    let ranges = replies.last().map_or(&[][..], Value::list);
    ranges.iter().take(MAX_CLUSTER_RANGES).filter_map(|entry| range(entry, server)).collect()
}

/// Reads one range of slots from its entry in the answer: the first and the last slot, and the node that takes writes.
/// This node comes first in the entry's list of nodes. If the answer contains no address for this node, the node is the
/// server that sent the answer.
fn range(entry: &Value, server: IpAddr) -> Option<ClusterSlots> {
    let [first, last, node, ..] = entry.list() else { return None };
    let slot = |value: &Value| value.number().and_then(|n| u16::try_from(n).ok()).filter(|n| *n < run::CLUSTER_SLOTS);
    let [ip, port, ..] = node.list() else { return None };
    let ip = ip.text().parse().unwrap_or(server);
    let port = port.number().and_then(|n| u16::try_from(n).ok()).filter(|port| *port > 0)?;
    Some(ClusterSlots { first: slot(first)?, last: slot(last)?, node: SocketAddr::new(ip, port) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_and_odd_ones_are_left_out() {
        let reply = b"+OK\r\n*4\r\n*3\r\n:0\r\n:5460\r\n*2\r\n$9\r\n127.0.0.9\r\n:7000\r\n\
            *4\r\n:5461\r\n:16383\r\n*3\r\n$0\r\n\r\n:7001\r\n$1\r\nx\r\n*2\r\n$9\r\n127.0.0.8\r\n:7002\r\n\
            *3\r\n:0\r\n:99999\r\n*2\r\n$1\r\nx\r\n:1\r\n*1\r\n:0\r\n";
        let found = slots(reply, "10.0.0.1".parse().unwrap());
        let all = found.iter().map(|range| format!("{}-{} {}", range.first, range.last, range.node));
        assert_eq!(all.collect::<Vec<_>>(), ["0-5460 127.0.0.9:7000", "5461-16383 10.0.0.1:7001"]);
    }
}
