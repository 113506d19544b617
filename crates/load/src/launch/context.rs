//! Data of a running load that all of its shards (generator threads) share.

use run::LoadPlan;
use sys::peer::Peer;

use crate::drivers::DriverSpec;
use crate::shard::{LiveCounts, Orders};
use crate::start_moment::StartMoment;

/// Data that all shards (generator threads) share. Shards only read the load's context, except that each shard writes
/// its own counts.
pub(super) struct LoadContext {
    pub(super) plan: LoadPlan,
    pub(super) addr: Peer,
    pub(super) driver: &'static DriverSpec,
    pub(super) begin: StartMoment,
    pub(super) limit: u64,
    pub(super) orders: Orders,
    pub(super) shows: Vec<LiveCounts>,
}
