//! Flags for echo targets whose clients open their connections in blocks.

use clap::Args;
use run::{Blocks, Plan};

use super::units;

/// Flags for clients that open blocks of connections, like the clients in the experiment `lab io-models`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct BlockArgs {
    /// Open all connections once, in blocks of N
    #[arg(long, value_name = "N", help_heading = "Blocks (echo)", requires = "connections")]
    block: Option<u32>,
    /// Maximum bytes per second of one block
    #[arg(long, value_name = "BYTES", value_parser = units::bytes, help_heading = "Blocks (echo)", requires = "connections")]
    block_rate: Option<u64>,
    /// Messages that a connection sends after its first message; then the client closes it
    #[arg(long, value_name = "N", help_heading = "Blocks (echo)", requires = "connections")]
    sends_per_connection: Option<u32>,
    /// Compute pauses between sends in integer arithmetic, and space connects, as the client of the published source
    /// does
    #[arg(long, help_heading = "Blocks (echo)", requires = "connections")]
    compat: bool,
}

impl BlockArgs {
    /// Applies the given flags to the plan. Fails if a flag is given for a target that does not use the echo protocol.
    pub(crate) fn apply(&self, plan: &mut Plan) -> anyhow::Result<()> {
        let asked =
            self.block.is_some() || self.block_rate.is_some() || self.sends_per_connection.is_some() || self.compat;
        if asked {
            anyhow::ensure!(
                plan.load.protocol.echoed_bytes().is_some(),
                "--block, --block-rate, --sends-per-connection and --compat need an echo target: write echo://HOST:PORT, not {:?}",
                plan.target.url
            );
            let blocks = plan.load.blocks.get_or_insert_with(Blocks::default);
            blocks.block = self.block.unwrap_or(blocks.block);
            blocks.block_rate_bytes_per_s = self.block_rate.map_or(blocks.block_rate_bytes_per_s, |r| r as f64);
            blocks.sends_per_connection = self.sends_per_connection.unwrap_or(blocks.sends_per_connection);
            blocks.compat |= self.compat;
        }
        Ok(())
    }
}
