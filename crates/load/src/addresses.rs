//! Counts requests and connections for each address of the server, if the server has several addresses.

use proto::Done;
use run::AddressPart;

use crate::classes::Classes;

/// Counts of requests and connections for each address of the server. Empty if the server has only one address.
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

    /// Returns true if nothing is counted, because the server has only one address.
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

/// Order in which successive connections use the addresses of a server.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AddressTurns {
    next: u16,
    count: u16,
}

impl AddressTurns {
    /// Returns the order for one thread. The order begins with address number `first` (modulo `count`), so that threads
    /// and agents with different `first` begin with different addresses.
    pub(crate) fn new(count: usize, first: usize) -> Self {
        let count = u16::try_from(count).unwrap_or(u16::MAX);
        Self { next: (first % usize::from(count.max(1))) as u16, count }
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
        let address = self.next;
        self.next = (address + 1) % self.count;
        Some(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_take_turns_and_one_address_needs_none() {
        let mut turns = AddressTurns::new(3, 7);
        assert_eq!((0..4).map(|_| turns.next()).collect::<Vec<_>>(), [1, 2, 0, 1].map(Some));
        assert_eq!((AddressTurns::new(1, 5).next(), AddressTurns::new(0, 5).next()), (None, None));
    }
}
