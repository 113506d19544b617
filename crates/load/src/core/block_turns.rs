//! Times at which blocks of connections send on each of their connections.

use run::{Blocks, LoadPlan};

/// Blocks of a shard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockTurns {
    pub(super) block: u64,
    /// Interval between two sends of a block; 0 for no limit.
    pub(super) pause_ns: u64,
    pub(super) connect_ns: u64,
    /// Messages per connection.
    pub(super) messages: u32,
    /// True to half-close first, and close when the server has ended its side (Jones and Deshpande, 2000).
    pub(super) compat: bool,
}

impl BlockTurns {
    /// Returns the blocks of a plan, if it has any.
    pub(crate) fn from_plan(plan: &LoadPlan) -> Option<Self> {
        let blocks: &Blocks = plan.blocks.as_ref()?;
        let bytes = plan.protocol.echoed_bytes().unwrap_or(0);
        Some(Self {
            block: u64::from(blocks.block.max(1)),
            pause_ns: blocks.pause_ns(bytes),
            connect_ns: blocks.connect_ns(bytes),
            messages: match blocks.sends_per_connection {
                0 => u32::MAX,
                x => x.saturating_add(1),
            },
            compat: blocks.compat,
        })
    }

    pub(super) fn connect_at(self, conn: u32) -> u64 {
        u64::from(conn) % self.block * self.connect_ns
    }

    /// Returns the first time of a connection's turn after `since_ns` of load.
    pub(super) fn next_turn(self, conn: u32, since_ns: u64) -> u64 {
        let (place, period) = (u64::from(conn) % self.block * self.pause_ns, self.block * self.pause_ns);
        match since_ns.checked_sub(place) {
            Some(after) => place + (after / period + 1) * period,
            None => place,
        }
    }
}
