//! The pool of connections of an open loop.

use super::due::Dues;
use super::need::Need;

/// The pool of an open loop.
pub(super) struct Pool {
    pub(super) dues: Dues,
    pub(super) need: Need,
    pub(super) idle: Vec<u32>,
    pub(super) opening: u64,
}

impl Pool {
    pub(super) fn new(dues: Dues, need: Need, capacity: usize) -> Self {
        Self { dues, need, idle: Vec::with_capacity(capacity), opening: 0 }
    }

    /// Time counts from this moment.
    pub(super) fn begin_at(&mut self, origin_ns: u64) {
        self.dues.begin_at(origin_ns);
        self.need.begin_at(origin_ns);
    }

    pub(super) fn dues(&self) -> &Dues {
        &self.dues
    }
}
