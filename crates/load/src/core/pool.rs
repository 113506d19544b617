//! The connection pool of an open loop.

use std::collections::VecDeque;

use super::due_clock::DueClock;
use super::pool_demand::PoolDemand;

/// The connection pool of an open loop.
pub(super) struct Pool {
    pub(super) dues: DueClock,
    pub(super) demand: PoolDemand,
    pub(super) idle: Vec<u32>,
    /// Busy connections whose pipeline was not full when they were added to this list. Each connection is listed at
    /// most once.
    pub(super) with_room: VecDeque<u32>,
    pub(super) opening: u64,
}

impl Pool {
    pub(super) fn new(dues: DueClock, demand: PoolDemand, capacity: usize) -> Self {
        Self {
            dues,
            demand,
            idle: Vec::with_capacity(capacity),
            with_room: VecDeque::with_capacity(capacity),
            opening: 0,
        }
    }

    /// Sets the start of the load to `origin_ns`.
    pub(super) fn begin_at(&mut self, origin_ns: u64) {
        self.dues.begin_at(origin_ns);
        self.demand.begin_at(origin_ns);
    }

    pub(super) fn dues(&self) -> &DueClock {
        &self.dues
    }
}
