//! Writes the counters of the upstreams: connections, queues, traffic and CPU quotas.

use std::collections::BTreeMap;

use run::Address;

use super::super::cgroup_quota::Throttle;
use super::super::upstream_traffic::Open;
use super::UpstreamChain;
use super::sockets::{ConnectionEnd, Sockets};
use crate::bound_address::serves;
use crate::source::{Round, none};

impl UpstreamChain {
    pub(super) fn nothing(&self, round: &mut Round<'_>, why: &str) {
        [&self.family, &self.queues, &self.traffic, &self.quotas]
            .into_iter()
            .for_each(|family| none(round, family, why));
    }

    /// Writes the number of connecting ends per address.
    pub(super) fn put_connections(&mut self, ends: &[ConnectionEnd], round: &mut Round<'_>) {
        let mut counts: BTreeMap<String, f64> =
            self.stops.iter().map(|stop| (stop.behind.address.clone(), 0.0)).collect();
        for end in ends.iter().filter(|end| matches!(self.holders.get(&end.inode), Some(Some(_)))) {
            *counts.entry(end.to.to_string()).or_default() += 1.0;
        }
        for (address, count) in counts {
            if let Some(slots) = self.family.slots(round.writer, address.as_bytes()) {
                round.writer.put(slots, 0, count);
            }
        }
    }

    /// Writes, for each upstream that listens in this network namespace, the number of waiting connections and (for TCP
    /// only) of unread bytes.
    pub(super) fn put_queues(&mut self, sockets: &Sockets, round: &mut Round<'_>) {
        let own_port = self.listen.as_ref().and_then(Address::inet).map(|own| own.port());
        for step in &self.stops {
            let (waiting, unread) = match &step.to {
                Address::Inet(addr) => {
                    let all = sockets.listeners.iter().filter(|l| serves(l.local, l.v6_only, *addr));
                    let waiting = all.map(|l| f64::from(l.queue)).reduce(|a, b| a + b);
                    // The kernel leaves out accepted connections at the server's port number.
                    let read = waiting.filter(|_| own_port != Some(addr.port()));
                    (waiting, read.map(|_| sockets.unread.get(addr).copied().unwrap_or(0.0)))
                }
                Address::Unix(path) => {
                    let mut waiting = None;
                    let each = |l: &sys::diag_unix::UnixListener| {
                        waiting = Some(waiting.unwrap_or(0.0) + f64::from(l.queue));
                    };
                    let asked = self.diag.as_mut().map(|diag| diag.unix_listeners(path, each));
                    (asked.and_then(Result::ok).and(waiting), None)
                }
            };
            if waiting.is_none() {
                continue;
            }
            let Some(slots) = self.queues.slots(round.writer, step.behind.address.as_bytes()) else { continue };
            round.writer.put_some(slots, 0, waiting);
            round.writer.put_some(slots, 1, unread);
        }
        if self.stops.is_empty() {
            none(round, &self.queues, "nothing behind the server was seen");
        }
    }

    /// Writes the traffic on the connections to each upstream.
    pub(super) fn put_traffic(&mut self, ends: &[ConnectionEnd], round: &mut Round<'_>) {
        let held = ends.iter().filter(|end| matches!(self.holders.get(&end.inode), Some(Some(_))));
        let described = |end: &ConnectionEnd| {
            let open = Open { to: end.to.to_string(), traffic: end.traffic?, is_unread: end.is_unread };
            Some((end.inode, open))
        };
        self.counts.update(held.filter_map(described));
        for (address, counts) in self.counts.by_address() {
            let Some(slots) = self.traffic.slots(round.writer, address.as_bytes()) else { continue };
            for (at, value) in [counts.busy, counts.data_out, counts.data_in].into_iter().enumerate() {
                round.writer.put(slots, at, value);
            }
        }
        if self.counts.by_address().next().is_none() {
            none(round, &self.traffic, "no TCP connection to anything behind the server was described");
        }
    }

    /// Writes the CPU quota of each upstream, the number of quota periods, and the number of throttled periods.
    pub(super) fn throttled(&mut self, round: &mut Round<'_>) {
        if self.stops.iter().all(|stop| stop.throttles.is_empty()) {
            return none(round, &self.quotas, "nothing behind the server has a CPU quota");
        }
        for stop in self.stops.iter_mut().filter(|stop| !stop.throttles.is_empty()) {
            let Some(slots) = self.quotas.slots(round.writer, stop.behind.address.as_bytes()) else { continue };
            let periods: Option<Vec<(f64, f64)>> = stop.throttles.iter_mut().map(Throttle::periods).collect();
            let sum = |field: fn(&(f64, f64)) -> f64| periods.as_ref().map(|all| all.iter().map(field).sum());
            round.writer.put(slots, 0, stop.throttles.iter().map(|throttle| throttle.cpus).sum());
            round.writer.put_some(slots, 1, sum(|(all, _)| *all));
            round.writer.put_some(slots, 2, sum(|(_, out)| *out));
        }
    }
}
