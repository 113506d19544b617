//! Timers, one per connection, in a 4-ary heap with an index. The timers are accurate to the nanosecond, because tests
//! check the arrivals of S-Clients (sockets that connect again and again) exactly. The heap allocates all of its memory
//! at the start. Setting or removing a timer takes a few dozen nanoseconds. A timer wheel would round times to its
//! ticks, so the connects of thousands of descriptors would come in groups.

/// Value in place of a heap position, for a connection without a timer.
const NOT_SET: u32 = u32::MAX;
/// Maximum number of children of an entry in the heap.
const CHILDREN: usize = 4;

/// Timers of one shard (generator thread).
#[derive(Debug)]
pub(crate) struct Timers {
    heap: Vec<(u64, u32)>,
    place: Vec<u32>,
}

impl Timers {
    /// Creates the timers for the connections 0 to `capacity - 1`. At first, no timer is set.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { heap: Vec::with_capacity(capacity), place: vec![NOT_SET; capacity] }
    }

    /// Sets the timer of a connection to the time `at_ns`. If the timer was already set, the new time replaces the old
    /// one.
    pub(crate) fn set(&mut self, conn: u32, at_ns: u64) {
        match self.place[conn as usize] {
            NOT_SET => {
                self.heap.push((at_ns, conn));
                self.up(self.heap.len() - 1);
            }
            place => {
                let place = place as usize;
                let old = std::mem::replace(&mut self.heap[place].0, at_ns);
                if at_ns < old { self.up(place) } else { self.down(place) }
            }
        }
    }

    /// Returns the time of a connection's timer, or `None` if the timer is not set.
    #[inline]
    pub(crate) fn deadline_ns(&self, conn: u32) -> Option<u64> {
        match self.place[conn as usize] {
            NOT_SET => None,
            place => Some(self.heap[place as usize].0),
        }
    }

    /// Returns the earliest time of all timers, or `u64::MAX` if no timer is set.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.heap.first().map_or(u64::MAX, |t| t.0)
    }

    /// Removes the earliest timer if it is due, and returns its connection.
    pub(crate) fn pop_due(&mut self, now_ns: u64) -> Option<u32> {
        let &(at, conn) = self.heap.first()?;
        if at > now_ns {
            return None;
        }
        self.remove_at(0);
        Some(conn)
    }

    fn remove_at(&mut self, place: usize) {
        let (_, conn) = self.heap.swap_remove(place);
        self.place[conn as usize] = NOT_SET;
        if place < self.heap.len() {
            self.up(place);
            self.down(self.place[self.heap[place].1 as usize] as usize);
        }
    }

    fn up(&mut self, mut at: usize) {
        while at > 0 {
            let parent = (at - 1) / CHILDREN;
            if self.heap[parent] <= self.heap[at] {
                break;
            }
            self.heap.swap(at, parent);
            self.place[self.heap[at].1 as usize] = at as u32;
            at = parent;
        }
        self.place[self.heap[at].1 as usize] = at as u32;
    }

    fn down(&mut self, mut at: usize) {
        loop {
            let first = at * CHILDREN + 1;
            let children = first..(first + CHILDREN).min(self.heap.len());
            let Some(least) = children.min_by_key(|&c| self.heap[c]) else { break };
            if self.heap[at] <= self.heap[least] {
                break;
            }
            self.heap.swap(at, least);
            self.place[self.heap[at].1 as usize] = at as u32;
            at = least;
        }
        if let Some(&(_, conn)) = self.heap.get(at) {
            self.place[conn as usize] = at as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn agrees_with_a_sorted_map(steps in proptest::collection::vec((0u32..20, 0u64..50, 0u8..3), 1..300)) {
            let (mut timers, mut model) = (Timers::new(20), BTreeMap::<u32, u64>::new());
            for (conn, at, what) in steps {
                match what {
                    0 | 1 => { timers.set(conn, at); model.insert(conn, at); }
                    _ => {
                        let due = model.iter().map(|(&c, &t)| (t, c)).min().filter(|&(t, _)| t <= at);
                        prop_assert_eq!(timers.pop_due(at), due.map(|d| d.1));
                        if let Some((_, c)) = due { model.remove(&c); }
                    }
                }
                prop_assert_eq!(timers.next(), model.values().min().copied().unwrap_or(u64::MAX));
                prop_assert_eq!(timers.deadline_ns(conn), model.get(&conn).copied());
            }
        }
    }
}
