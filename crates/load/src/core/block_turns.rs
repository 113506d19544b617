//! Times at which each connection of a block (a group of connections that send one after another) sends: see
//! [`super::blocks`].

use run::{Blocks, LoadPlan};

/// Parameters of the blocks (groups of connections that send one after another) of a generator thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockTurns {
    pub(super) block: u64,
    /// Interval between two sends of a block of connections, nanoseconds; 0 for no limit.
    pub(super) pause_ns: u64,
    pub(super) connect_ns: u64,
    /// Number of messages per connection; `u32::MAX` for no limit.
    pub(super) messages: u32,
    /// True if the client first ends its own side of a connection. The client closes a connection after the server has
    /// ended the other side (Jones and Deshpande, 2000).
    pub(super) compat: bool,
}

impl BlockTurns {
    /// Returns the parameters of a load plan's blocks of connections, or `None` if the plan has no blocks.
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

    /// Returns the first time after `since_ns` at which a connection may send. The argument and the result are
    /// nanoseconds since the start of the load.
    pub(super) fn next_turn(self, conn: u32, since_ns: u64) -> u64 {
        let (place, period) = (u64::from(conn) % self.block * self.pause_ns, self.block * self.pause_ns);
        match since_ns.checked_sub(place) {
            Some(after) => place + (after / period + 1) * period,
            None => place,
        }
    }
}
