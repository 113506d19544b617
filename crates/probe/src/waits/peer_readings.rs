//! Means over the readings of the connections to peers. A dump reads all connections of a network namespace. Between
//! two dumps, only the connections that the last dump found are read again.

use std::collections::BTreeMap;
use std::sync::Arc;

use run::PeerConnections;

use super::round::{PeerId, PeerSample};

/// Maximum number of peers whose readings are added up.
const MAX_PEERS: usize = 4096;

/// Sums over the readings of the connections to a peer.
#[derive(Debug, Default)]
struct PeerSums {
    counted: Sums,
    /// Sums over the readings since the last dump. If the next dump finds more connections, these readings have missed
    /// some, and are not used.
    since_dump: Sums,
    max_open: f64,
    answers: Answers,
    to: Option<Arc<str>>,
}

/// Counts the connections to a peer that got an answer between two readings.
#[derive(Debug, Default)]
struct Answers {
    /// Number of answers: connections with new data from the peer, and connections that ended.
    answers: f64,
    /// Number of comparisons of two readings.
    compared: u64,
    /// Sum of the numbers of connections in all comparisons.
    connections: f64,
    /// Received segments of each connection at the last reading, by inode.
    last: BTreeMap<u32, u32>,
}

impl Answers {
    fn add(&mut self, received: &BTreeMap<u32, u32>) {
        if !self.last.is_empty() && !received.is_empty() {
            let is_answered = |(inode, before): &(&u32, &u32)| received.get(inode) != Some(before);
            self.answers += self.last.iter().filter(is_answered).count() as f64;
            self.compared += 1;
            self.connections += self.last.len() as f64;
        }
        self.last.clone_from(received);
    }

    /// Returns the mean number of answers per connection; `None` if no two readings were compared.
    fn per_connection(&self) -> Option<f64> {
        (self.compared > 0).then(|| self.answers * self.compared as f64 / self.connections)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    readings: u64,
    open: f64,
    busy: f64,
}

impl Sums {
    fn add(&mut self, open: f64, busy: f64) {
        (self.readings, self.open, self.busy) = (self.readings + 1, self.open + open, self.busy + busy);
    }

    fn and(self, other: Self) -> Self {
        Self { readings: self.readings + other.readings, open: self.open + other.open, busy: self.busy + other.busy }
    }

    /// Returns the mean: the sum divided by the number of readings.
    fn mean(&self, sum: f64) -> f64 {
        sum / self.readings.max(1) as f64
    }
}

impl PeerSums {
    fn add(&mut self, peer: &PeerSample, is_dump: bool) {
        self.max_open = self.max_open.max(peer.open);
        self.to = peer.to.clone().or(self.to.take());
        self.answers.add(&peer.received);
        match is_dump {
            true => self.add_dump(peer.open, peer.busy),
            false => self.since_dump.add(peer.open, peer.busy),
        }
    }

    fn add_dump(&mut self, open: f64, busy: f64) {
        let since = std::mem::take(&mut self.since_dump);
        if open <= since.mean(since.open) {
            self.counted = self.counted.and(since);
        }
        self.counted.add(open, busy);
    }
}

/// Readings of the connections to all peers.
#[derive(Debug, Default)]
pub(super) struct PeerReadings {
    sums: BTreeMap<PeerId, PeerSums>,
}

impl PeerReadings {
    /// Adds a reading of all peers (`is_dump` is true) or of some peers. If a peer is missing in a reading of all
    /// peers, it has no open connection any more. Readings before a peer was first seen do not count for that peer.
    /// Before a peer was first seen, the process that connects to it may have been unknown.
    pub(super) fn add(&mut self, peers: &[PeerSample], is_dump: bool) {
        let mut closed: Vec<PeerId> = if is_dump { self.sums.keys().cloned().collect() } else { Vec::new() };
        for peer in peers {
            let id = (peer.process.clone(), peer.address.clone());
            closed.retain(|other| *other != id);
            if self.sums.len() < MAX_PEERS || self.sums.contains_key(&id) {
                self.sums.entry(id).or_default().add(peer, is_dump);
            }
        }
        for id in closed {
            self.sums.entry(id).or_default().add_dump(0.0, 0.0);
        }
    }

    /// Returns the number of peers.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.sums.len()
    }

    /// Returns the means for each peer. `instance` names a process.
    pub(super) fn rows(&self, instance: impl Fn(&Arc<str>) -> String) -> impl Iterator<Item = PeerConnections> {
        self.sums.iter().map(move |((process, address), sums)| {
            let all = sums.counted.and(sums.since_dump);
            PeerConnections {
                process: instance(process),
                address: address.to_string(),
                to: sums.to.as_ref().map(&instance).unwrap_or_default(),
                open: all.mean(all.open),
                busy: all.mean(all.busy),
                max_open: sums.max_open,
                answers: sums.answers.per_connection(),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// HAProxy opened most of its connections to a server after the first dump. The readings before the second dump saw
    /// only one of the connections.
    #[test]
    fn readings_that_missed_new_connections_do_not_count() {
        let mut readings = PeerReadings::default();
        let mut read = |open: f64, busy: f64, is_dump: bool| {
            let (process, address) = ("haproxy".into(), "127.0.0.1:80".into());
            let peer = PeerSample { process, address, open, busy, ..PeerSample::default() };
            readings.add(&[peer], is_dump);
            let row = readings.rows(|process| process.to_string()).next().unwrap();
            (row.open, row.busy, row.max_open)
        };
        read(1.0, 0.0, true);
        assert_eq!(read(1.0, 1.0, false), (1.0, 0.5, 1.0));
        assert_eq!(read(7.0, 6.0, true), (4.0, 3.0, 7.0), "without the second reading");
        read(7.0, 3.0, false);
        assert_eq!(read(7.0, 6.0, true), (5.5, 3.75, 7.0), "all but the second reading");
    }

    #[test]
    fn answers_are_new_data_of_the_peer_and_connections_that_ended() {
        let answers = |readings: &[&[(u32, u32)]]| {
            let mut sums = Answers::default();
            readings.iter().for_each(|reading| sums.add(&reading.iter().copied().collect()));
            sums.per_connection()
        };
        let log: &[(u32, u32)] = &[(7, 0), (8, 3)];
        assert_eq!(answers(&[log, log, log]), Some(0.0));
        assert_eq!(answers(&[log, &[(7, 1), (8, 3)], &[(7, 2), (8, 4)]]), Some(1.5));
        assert_eq!(answers(&[log, &[(7, 0), (9, 0)]]), Some(0.5), "a new connection for each request");
        assert_eq!(answers(&[log]), None, "one reading");
        assert_eq!(answers(&[log, &[], log]), None, "unix sockets, or a peer without connections");
    }
}
