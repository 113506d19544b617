//! Traffic on the connections to each upstream (a service that the server uses), summed by address. The last counts of
//! a connection that has ended stay in the sums, so the sums of segments only grow.

use std::collections::{BTreeMap, HashMap};

use sys::diag::Traffic;

use crate::awaits_reply::awaits_reply;

/// Sums over the connections to one address.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct AddressTraffic {
    /// Number of connections that await a reply, because their last data was a request.
    pub(super) busy: f64,
    /// Number of segments with data that were sent to the address.
    pub(super) data_out: f64,
    /// Number of segments with data that were received from the address.
    pub(super) data_in: f64,
}

/// An open connection in one sample.
#[derive(Debug)]
pub(super) struct Open {
    /// Address of the upstream.
    pub(super) to: String,
    pub(super) traffic: Traffic,
    /// True if data waits at the upstream's end of the connection, because the upstream has not read it yet.
    pub(super) is_unread: bool,
}

impl Open {
    /// Returns true if the connection awaits a reply. A kernel also acknowledges requests that its program has not read
    /// yet, so times and acknowledgements may look like an answered request.
    fn awaits_reply(&self) -> bool {
        self.is_unread || awaits_reply(&self.traffic) == Some(true)
    }
}

/// Counts of the traffic on all connections so far.
#[derive(Debug, Default)]
pub(super) struct TrafficCounts {
    /// Each open connection in the last sample, by inode.
    open: HashMap<u32, Open>,
    /// Total traffic of the connections that have ended, by the upstream's address.
    ended: BTreeMap<String, AddressTraffic>,
}

impl TrafficCounts {
    /// Replaces the open connections by those of a new sample, each with its inode.
    pub(super) fn update(&mut self, now: impl Iterator<Item = (u32, Open)>) {
        let now: HashMap<u32, Open> = now.collect();
        for (inode, Open { to, traffic: last, .. }) in self.open.drain() {
            // The inode may already belong to another connection.
            let goes_on = now.get(&inode).is_some_and(|next| next.to == to && next.traffic.data_out >= last.data_out);
            let sums = self.ended.entry(to).or_default();
            if !goes_on {
                sums.data_out += f64::from(last.data_out);
                sums.data_in += f64::from(last.data_in);
            }
        }
        self.open = now;
    }

    /// Returns the sums of the connections to each upstream address.
    pub(super) fn by_address(&self) -> impl Iterator<Item = (String, AddressTraffic)> {
        let mut all = self.ended.clone();
        for open in self.open.values() {
            let sums = all.entry(open.to.clone()).or_default();
            sums.busy += f64::from(u8::from(open.awaits_reply()));
            sums.data_out += f64::from(open.traffic.data_out);
            sums.data_in += f64::from(open.traffic.data_in);
        }
        all.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traffic(data_out: u32, sent_ms_ago: u32) -> Traffic {
        let (received_ms_ago, acknowledged_ms_ago) = (10, 10);
        let base = Traffic { received_ms_ago, acknowledged_ms_ago, ..Traffic::default() };
        Traffic { data_out, data_in: data_out, sent_ms_ago, ..base }
    }

    fn connection(traffic: Traffic, is_unread: bool) -> Open {
        Open { to: "db".into(), traffic, is_unread }
    }

    /// A full upstream left requests unread that its kernel had acknowledged. An earlier version of loadline treated
    /// these acknowledged but unread requests as answered.
    #[test]
    fn a_request_that_the_upstream_has_not_read_awaits_a_reply() {
        let busy = |is_unread: bool| {
            let mut counts = TrafficCounts::default();
            let acknowledged = [(1, traffic(5, 10)), (2, traffic(7, 10))];
            counts
                .update(acknowledged.into_iter().map(|(inode, own)| (inode, connection(own, is_unread && inode == 2))));
            counts.by_address().map(|(_, sums)| sums.busy).sum::<f64>()
        };
        assert_eq!((busy(false), busy(true)), (0.0, 1.0));
    }

    #[test]
    fn sums_include_ended_connections() {
        let mut counts = TrafficCounts::default();
        let mut after = |open: &[(u32, Traffic)]| {
            counts.update(open.iter().map(|(inode, traffic)| (*inode, connection(*traffic, false))));
            counts.by_address().map(|(_, sums)| (sums.busy, sums.data_out)).collect::<Vec<_>>()
        };
        assert_eq!(after(&[(1, traffic(5, 2)), (2, traffic(7, 10))]), [(1.0, 12.0)]);
        assert_eq!(after(&[(1, traffic(9, 10))]), [(0.0, 16.0)]);
        assert_eq!(after(&[(1, traffic(2, 10))]), [(0.0, 18.0)], "a new connection with an old inode");
        assert_eq!(after(&[]), [(0.0, 18.0)]);
    }
}
