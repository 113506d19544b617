//! One timer a connection, in an indexed 4-ary heap: exact to the nanosecond (the S-Client rules are checked to the
//! arrival), no memory taken after the start, a few dozen nanoseconds an operation. Not a wheel, whose ticks would bunch
//! the connects of thousands of descriptors.

/// Says that a connection is not in the heap.
const NONE: u32 = u32::MAX;
const WAYS: usize = 4;

/// The timers of a shard.
#[derive(Debug)]
pub(crate) struct Timers {
    heap: Vec<(u64, u32)>,
    place: Vec<u32>,
}

impl Timers {
    /// Room for connections 0 to `capacity - 1`.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { heap: Vec::with_capacity(capacity), place: vec![NONE; capacity] }
    }

    /// Sets the timer of a connection, replacing what was set.
    pub(crate) fn set(&mut self, conn: u32, at_ns: u64) {
        match self.place[conn as usize] {
            NONE => {
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

    /// When the timer of a connection fires, if it is set.
    #[inline]
    pub(crate) fn at(&self, conn: u32) -> Option<u64> {
        match self.place[conn as usize] {
            NONE => None,
            place => Some(self.heap[place as usize].0),
        }
    }

    /// The earliest timer; `u64::MAX` when none is set.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.heap.first().map_or(u64::MAX, |t| t.0)
    }

    /// Takes the earliest timer off if it is due.
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
        self.place[conn as usize] = NONE;
        if place < self.heap.len() {
            self.up(place);
            self.down(self.place[self.heap[place].1 as usize] as usize);
        }
    }

    fn up(&mut self, mut at: usize) {
        while at > 0 {
            let parent = (at - 1) / WAYS;
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
            let first = at * WAYS + 1;
            let children = first..(first + WAYS).min(self.heap.len());
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
                prop_assert_eq!(timers.at(conn), model.get(&conn).copied());
            }
        }
    }
}
