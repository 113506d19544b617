//! Counts any number of connections, but keeps the descriptions of a limited number of them.

use sys::diag::OtherConnection;

use super::exchanges;

/// Maximum number of connections that are kept. The kernel lists connections in the order of a hash, so the first
/// connections are a random sample of all.
pub(super) const MAX_CONNECTIONS: usize = 16_384;

/// Items of one kind: the number of all items, and the first items, at most [`MAX_CONNECTIONS`].
#[derive(Debug)]
pub(super) struct Counted<T> {
    all: usize,
    pub(super) kept: Vec<T>,
}

impl<T> Default for Counted<T> {
    fn default() -> Self {
        Self { all: 0, kept: Vec::new() }
    }
}

impl<T> Counted<T> {
    /// Counts one more item. Calls `describe` only if its result is kept.
    pub(super) fn add(&mut self, describe: impl FnOnce() -> T) {
        self.all += 1;
        if self.kept.len() < MAX_CONNECTIONS {
            self.kept.push(describe());
        }
    }

    /// Returns true if items were counted whose descriptions are not kept.
    pub(super) fn is_cut(&self) -> bool {
        self.all > self.kept.len()
    }

    /// Scales `part`, a number of kept items, to all counted items.
    pub(super) fn scaled(&self, part: f64) -> f64 {
        part * self.all as f64 / self.kept.len().max(1) as f64
    }
}

impl Counted<OtherConnection> {
    /// Returns the numbers of connections in the states of [`exchanges::count`], for all connections.
    pub(super) fn states(&self, queued: f64) -> [f64; 5] {
        let [open, in_progress, uncertain, unread, queued] = exchanges::count(&self.kept, queued);
        let [open, in_progress, uncertain, unread] = [open, in_progress, uncertain, unread].map(|n| self.scaled(n));
        [open, in_progress, uncertain, unread, queued]
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use sys::diag::SocketName;

    use super::*;

    #[test]
    fn connections_beyond_those_that_are_kept_are_counted() {
        let address = SocketAddr::from(([127, 0, 0, 1], 80));
        let traffic = Some(sys::diag::Traffic::default());
        let connection = |receive_queue: u32| OtherConnection {
            local: address,
            remote: address,
            inode: 1,
            receive_queue,
            is_connecting: false,
            traffic,
            name: SocketName::default(),
        };
        let mut connections = Counted::default();
        let all = 3 * MAX_CONNECTIONS + 2;
        (0..all).for_each(|at| connections.add(|| connection(at as u32 % 2)));
        assert!(connections.is_cut() && connections.kept.len() == MAX_CONNECTIONS);
        let [open, _, _, unread, queued] = connections.states(7.0);
        assert_eq!((open, unread, queued), (all as f64, all as f64 / 2.0, 7.0));
    }
}
