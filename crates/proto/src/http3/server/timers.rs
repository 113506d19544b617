//! Timers of the connections of a shard.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Timers of connections, by number. The heap may have outdated entries. A timer that was moved to a later time keeps
/// its earlier entry, and [`Timers::pop_due`] then returns the connection too early. If a connection was returned too
/// early, the caller sets the timer of this connection again.
#[derive(Debug, Default)]
pub(super) struct Timers {
    heap: BinaryHeap<Reverse<(u64, usize)>>,
    /// Time of each connection's earliest entry; `u64::MAX` if it has none.
    entries: Vec<u64>,
}

impl Timers {
    /// Sets the timer of a connection, nanoseconds. Does nothing if an earlier entry exists.
    pub(super) fn set(&mut self, connection: usize, at_ns: u64) {
        if self.entries.len() <= connection {
            self.entries.resize(connection + 1, u64::MAX);
        }
        if at_ns < self.entries[connection] {
            self.entries[connection] = at_ns;
            self.heap.push(Reverse((at_ns, connection)));
        }
    }

    /// Returns the time of the earliest entry, nanoseconds; `None` if there is no entry.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((at_ns, _))| *at_ns)
    }

    /// Removes the earliest entry if its time has come, and returns its connection.
    pub(super) fn pop_due(&mut self, now_ns: u64) -> Option<usize> {
        let &Reverse((at_ns, connection)) = self.heap.peek()?;
        if at_ns > now_ns {
            return None;
        }
        self.heap.pop();
        // An outdated entry must not clear the time of a newer entry of the same connection.
        if self.entries[connection] == at_ns {
            self.entries[connection] = u64::MAX;
        }
        Some(connection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_comes_at_its_earliest_time() {
        let mut timers = Timers::default();
        timers.set(3, 50);
        timers.set(3, 20);
        timers.set(3, 90);
        timers.set(1, 30);
        assert_eq!((timers.next_ns(), timers.pop_due(10)), (Some(20), None));
        assert_eq!(timers.pop_due(25), Some(3));
        timers.set(3, 90);
        assert_eq!(timers.pop_due(100), Some(1));
        assert_eq!((timers.pop_due(60), timers.pop_due(60)), (Some(3), None));
        assert_eq!(timers.pop_due(100), Some(3));
        assert_eq!(timers.next_ns(), None);
    }
}
