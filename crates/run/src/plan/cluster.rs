//! Slots of a Redis cluster and the nodes that hold them.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// Number of slots of a cluster.
pub const CLUSTER_SLOTS: u16 = 16_384;

/// Maximum number of ranges of slots in a plan.
pub const MAX_CLUSTER_RANGES: usize = CLUSTER_SLOTS as usize;

/// A range of slots of a Redis cluster, and the node that holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ClusterSlots {
    /// First slot.
    pub first: u16,
    /// Last slot.
    pub last: u16,
    /// Address of the node that accepts writes to these slots.
    pub node: SocketAddr,
}
