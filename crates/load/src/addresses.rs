//! Counts for each address of the server, if the connections use several addresses in turn.

use proto::Done;
use run::AddressPart;

use crate::classes::Classes;

/// Counts for all addresses. Empty if there is only one address.
#[derive(Debug)]
pub(crate) struct Addresses {
    requests: Classes,
    connections: Box<[u64]>,
}

impl Addresses {
    /// Creates empty counts for `addresses` addresses.
    pub(crate) fn new(addresses: usize) -> Self {
        let requests = Classes::new(addresses);
        let connections = if requests.is_empty() { 0 } else { addresses };
        Self { requests, connections: vec![0; connections].into() }
    }

    /// Returns true if nothing is counted, because there is only one address.
    pub(crate) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Begins the measured window.
    pub(crate) fn open(&mut self) {
        self.requests.open();
    }

    /// Ends the measured window.
    pub(crate) fn close(&mut self) {
        self.requests.close();
    }

    /// Counts an established connection to an address.
    pub(crate) fn connected(&mut self, address: u16) {
        self.connections.get_mut(usize::from(address)).into_iter().for_each(|n| *n += 1);
    }

    /// Counts a request that was started on a connection to an address.
    #[inline]
    pub(crate) fn begun(&mut self, address: u16) {
        self.requests.begun(address);
    }

    /// Counts a request that failed because its connection failed.
    pub(crate) fn failed(&mut self, address: u16) {
        self.requests.failed(address);
    }

    /// Counts a request that ended. `response_ns` is the request's response time if this time was measured.
    #[inline]
    pub(crate) fn ended(&mut self, address: u16, done: &Done, response_ns: Option<u64>) {
        self.requests.ended(address, done, response_ns);
    }

    /// Returns the counts in the order of the addresses.
    pub(crate) fn parts(self) -> Vec<AddressPart> {
        let parts = self.requests.parts().into_iter().zip(self.connections);
        parts.map(|(requests, connections)| AddressPart { connections, requests }).collect()
    }
}

/// Order in which connections use the addresses of a server.
#[derive(Clone, Debug, Default)]
pub(crate) struct AddressTurns {
    count: u16,
    /// Number of connections of other threads that get an address before the first connection of this thread.
    first: usize,
    next: u16,
    weighted: Option<WeightedTurns>,
    /// Distance, in turns, between two connections of this thread; the turns in between belong to other threads.
    step: usize,
}

impl AddressTurns {
    /// Returns the order for one of `threads` threads. The order begins with address number `first` (modulo `count`),
    /// so that threads and agents with different `first` begin with different addresses.
    pub(crate) fn new(count: usize, first: usize, threads: usize) -> Self {
        let count = u16::try_from(count).unwrap_or(u16::MAX);
        Self { count, first, next: (first % usize::from(count.max(1))) as u16, weighted: None, step: threads.max(1) }
    }

    /// Gives each address a share of the connections in proportion to its weight. Does nothing unless each address has
    /// a positive weight.
    #[must_use]
    pub(crate) fn weighted(mut self, weights: &[f64]) -> Self {
        if self.count() > 1 && weights.len() == self.count() && weights.iter().all(|weight| *weight > 0.0) {
            let mut turns =
                WeightedTurns { weights: weights.into(), credits: vec![0.0; weights.len()].into(), taken: 0 };
            turns.skip(self.first);
            self.weighted = Some(turns);
        }
        self
    }

    /// Returns the number of addresses.
    pub(crate) fn count(&self) -> usize {
        usize::from(self.count)
    }

    /// Returns the number of the address that the next connection uses, or `None` if there is only one address.
    pub(crate) fn next(&mut self) -> Option<u16> {
        if self.count < 2 {
            return None;
        }
        if let Some(turns) = &mut self.weighted {
            let address = turns.next();
            turns.skip(self.step - 1);
            return Some(address);
        }
        let address = self.next;
        self.next = (address + 1) % self.count;
        Some(address)
    }
}

/// Turns in proportion to weights. Each address gets its first turn before any address gets a second turn, so even a
/// small number of connections uses all addresses. Source: the smooth weighted round robin of nginx
/// (`ngx_http_upstream_get_peer`).
#[derive(Clone, Debug)]
struct WeightedTurns {
    weights: Box<[f64]>,
    /// For each address: the number of turns by which the address is behind its share, multiplied by the sum of the
    /// weights.
    credits: Box<[f64]>,
    taken: usize,
}

impl WeightedTurns {
    fn skip(&mut self, turns: usize) {
        for _ in 0..turns {
            self.next();
        }
    }

    fn next(&mut self) -> u16 {
        self.credits.iter_mut().zip(&self.weights).for_each(|(credit, weight)| *credit += weight);
        let most_owed = self.credits.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(&a.0)));
        let address = if self.taken < self.weights.len() { self.taken } else { most_owed.map_or(0, |(at, _)| at) };
        self.taken += 1;
        self.credits[address] -= self.weights.iter().sum::<f64>();
        address as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_take_turns_and_one_address_needs_none() {
        let mut turns = AddressTurns::new(3, 7, 2);
        assert_eq!((0..4).map(|_| turns.next()).collect::<Vec<_>>(), [1, 2, 0, 1].map(Some));
        assert_eq!((AddressTurns::new(1, 5, 1).next(), AddressTurns::new(0, 5, 1).next()), (None, None));
        let mut one = AddressTurns::new(1, 0, 1).weighted(&[3.0]);
        assert_eq!(one.next(), None);
    }

    #[test]
    fn connections_follow_the_weights_of_the_addresses() {
        let counts = |threads: usize, connections: usize| {
            let mut counts = [0; 3];
            for thread in 0..threads {
                let mut turns = AddressTurns::new(3, thread, threads).weighted(&[7.0, 2.0, 1.0]);
                for _ in 0..connections / threads {
                    counts[usize::from(turns.next().unwrap())] += 1;
                }
            }
            counts
        };
        assert_eq!((counts(1, 100), counts(1, 10)), ([70, 20, 10], [7, 2, 1]));
        assert_eq!(counts(1, 3), [1, 1, 1], "each address gets a connection");
        assert_eq!(counts(3, 30), [21, 6, 3], "threads share the order");
        let mut wrong = AddressTurns::new(2, 0, 1).weighted(&[1.0, 0.0]);
        assert_eq!([wrong.next(), wrong.next()], [Some(0), Some(1)]);
    }
}
