//! Upstreams of the server: services that the server's processes use. sock_diag lists the sockets, and /proc/PID/fd
//! shows who has them open. Each new socket is compared with the server's descriptors only once. The descriptors of a
//! server that keeps its upstream connections open are therefore searched only once. The number of client connections
//! does not matter.
//!
//! A server may also open a connection for each request. The file `short.rs` finds the upstreams that such a server
//! uses.
//!
//! A CPU quota may limit an upstream, so this source also reads the quotas of the control groups of its processes.
//!
//! The source lists sockets in the server's network namespace. The processes of an upstream may be in any namespace of
//! this machine.

mod columns;
mod limits;
mod same_port;
mod short;
mod short_addresses;
mod sockets;

use std::collections::{HashMap, HashSet};
use std::io;

use run::{Address, Upstream};
use sys::diag::Diag;

use crate::Scope;
use crate::family::Family;
use crate::find::who_answers;
use crate::socket_holders::sockets_of;
use crate::source::{CAPTURED_TREE, Round, Source};
use crate::tree::Tree;

use super::cgroup_paths::{Mount, mounts};
use super::cgroup_quota::Throttle;
use super::upstream_traffic::TrafficCounts;
use limits::MAX_UPSTREAMS;
use same_port::SamePort;
use short_addresses::ShortConnections;
use sockets::{ConnectionEnd, Sockets};

const IDS: &[&str] = &["behind.connections"];
const QUEUE_IDS: &[&str] = &["behind.queue", "behind.unread"];
const TRAFFIC_IDS: &[&str] = &["behind.busy", "behind.data_out", "behind.data_in"];
const QUOTA_IDS: &[&str] = &["behind.cpu_quota", "behind.cpu_periods", "behind.cpu_throttled_periods"];
/// Maximum number of processes per address for which the CPU quota is read. The workers of a service usually share one
/// quota.
const MAX_QUOTA_PROCESSES: usize = 16;
/// Maximum length of a chain of upstreams: the server's upstream, the upstream of that upstream, and so on.
const MAX_DEPTH: u32 = 3;
/// Maximum number of known connections for which traffic is read. If more connections are known, no traffic is read,
/// because the kernel takes a lock to report the traffic on each connection.
const MAX_DESCRIBED: usize = 1024;

/// One upstream: its address, and the processes that listen there. The field `behind` also says who connects to the
/// upstream: the server, or another upstream.
struct Step {
    to: Address,
    behind: Upstream,
    pids: Vec<u32>,
    /// CPU quotas of the upstream's processes, without duplicates.
    throttles: Vec<Throttle>,
}

struct UpstreamChain {
    /// The server's own address; `None` on a client's side, where upstreams are not searched.
    listen: Option<Address>,
    edition: Option<u64>,
    diag: Option<Diag>,
    family: Family,
    queues: Family,
    traffic: Family,
    quotas: Family,
    counts: TrafficCounts,
    same_port: SamePort,
    short: ShortConnections,
    mounts: Option<Vec<Mount>>,
    stops: Vec<Step>,
    /// Addresses at which the server connects to itself.
    own: HashSet<String>,
    /// Owner of each socket, by the socket's inode. The value 0 is the server, n is upstream number n (the first of
    /// `stops` is 1), and `None` is any other process.
    holders: HashMap<u32, Option<usize>>,
}

pub(super) fn open(scope: &Scope, _: &Tree) -> Box<dyn Source> {
    Box::new(UpstreamChain::new(scope))
}

impl Source for UpstreamChain {
    fn sample(&mut self, round: &mut Round<'_>) {
        let Some(listen) = self.listen.clone() else {
            return self.nothing(round, "only a server whose listener is known has anything behind it");
        };
        if !round.tree.is_live() {
            return self.nothing(round, CAPTURED_TREE);
        }
        self.begin(round);
        match self.sockets(&listen, round.tree) {
            Ok(sockets) => {
                self.look(&sockets, round);
                self.put_queues(&sockets, round);
                self.put_traffic(&sockets.ends, round);
            }
            Err(e) => {
                self.diag = None;
                self.nothing(round, &format!("sock_diag does not answer: {e}"));
            }
        }
    }
}

impl UpstreamChain {
    fn new(scope: &Scope) -> Self {
        Self {
            listen: scope.listen.clone(),
            edition: None,
            diag: None,
            family: Family::new(IDS).at_most(MAX_UPSTREAMS),
            queues: Family::new(QUEUE_IDS).at_most(MAX_UPSTREAMS),
            traffic: Family::new(TRAFFIC_IDS).at_most(MAX_UPSTREAMS),
            quotas: Family::new(QUOTA_IDS).at_most(MAX_UPSTREAMS),
            counts: TrafficCounts::default(),
            same_port: SamePort::default(),
            short: ShortConnections::default(),
            mounts: None,
            stops: Vec::new(),
            own: HashSet::new(),
            holders: HashMap::new(),
        }
    }

    fn sockets(&mut self, listen: &Address, tree: &Tree) -> io::Result<Sockets> {
        let diag = match &mut self.diag {
            Some(diag) => diag,
            none => none.insert(tree.diag()?),
        };
        let describe = self.holders.len() <= MAX_DESCRIBED;
        if !describe {
            self.counts = TrafficCounts::default();
        }
        sockets::read(diag, tree, listen, describe, &mut self.same_port)
    }

    /// At the first sample of a load test, adds the upstreams that earlier load tests found to the process set, unless
    /// the set still has running processes of the upstream. An upstream whose processes have all ended may have been
    /// started again, so its processes are searched again.
    fn begin(&mut self, round: &mut Round<'_>) {
        let edition = round.process_set.edition();
        if self.edition.replace(edition) == Some(edition) {
            return;
        }
        self.holders.clear();
        for at in 0..self.stops.len() {
            let running = round.process_set.pids_behind(&self.stops[at].behind.address);
            if self.stops[at].pids.iter().any(|pid| running.contains(pid)) {
                continue;
            }
            let pids = who_answers(&self.stops[at].to, round.tree.netns_pid());
            let throttles = self.throttles(&pids, round.tree);
            let stop = &mut self.stops[at];
            (stop.pids, stop.throttles) = (pids, throttles);
            round.process_set.met(stop.behind.clone(), stop.pids.clone());
        }
    }

    /// Finds out which connecting ends belong to the server's processes, and which belong to each upstream's processes.
    /// Writes the number of connecting ends per address.
    fn look(&mut self, sockets: &Sockets, round: &mut Round<'_>) {
        let ends = &sockets.ends;
        self.forget(ends);
        self.follow(ends, round);
        self.follow_short(sockets, round);
        // The source does not look up a socket again that is open in no process of the server or of an upstream.
        // Sockets usually stay with the process that created them.
        for end in ends {
            self.holders.entry(end.inode).or_insert(None);
        }
        self.put_connections(ends, round);
        self.throttled(round);
    }

    /// Finds out which connecting ends are open in the server's processes, and then which are open in each upstream's
    /// processes. Adds the addresses to which these connecting ends lead as upstreams.
    fn follow(&mut self, ends: &[ConnectionEnd], round: &mut Round<'_>) {
        let mut at = 0;
        while at <= self.stops.len() {
            self.claim(at, ends, round);
            for end in ends {
                if self.holders.get(&end.inode) == Some(&Some(at)) {
                    self.meet(at, &end.to, round);
                }
            }
            at += 1;
        }
    }

    /// Returns the CPU quotas of the given processes, without duplicates.
    fn throttles(&mut self, pids: &[u32], tree: &Tree) -> Vec<Throttle> {
        let mounts = self.mounts.get_or_insert_with(|| mounts(tree));
        let mut found: Vec<Throttle> = Vec::new();
        for throttle in pids.iter().take(MAX_QUOTA_PROCESSES).filter_map(|pid| Throttle::of_process(*pid, tree, mounts))
        {
            if found.iter().all(|known| known.folder != throttle.folder) {
                found.push(throttle);
            }
        }
        found
    }

    /// Forgets closed sockets, because their inodes may be reused.
    fn forget(&mut self, ends: &[ConnectionEnd]) {
        let open: HashSet<u32> = ends.iter().map(|end| end.inode).collect();
        self.holders.retain(|inode, _| open.contains(inode));
    }

    /// Finds the connecting ends that are open in processes of the server (`at` is 0) or of an upstream, and notes them
    /// in `holders`. Skips connecting ends whose sockets were looked up before.
    fn claim(&mut self, at: usize, ends: &[ConnectionEnd], round: &mut Round<'_>) {
        let new: HashSet<u32> = ends.iter().map(|end| end.inode).filter(|i| !self.holders.contains_key(i)).collect();
        if new.is_empty() {
            return;
        }
        let pids = match at.checked_sub(1) {
            None => round.process_set.pids().collect(),
            Some(stop) if self.stops[stop].behind.depth < MAX_DEPTH => {
                round.process_set.pids_behind(&self.stops[stop].behind.address)
            }
            Some(_) => Vec::new(),
        };
        for inode in pids.into_iter().flat_map(sockets_of).filter(|inode| new.contains(inode)) {
            self.holders.entry(inode).or_insert(Some(at));
        }
    }

    /// Returns true for the address of a known upstream, and for an address at which the server connects to itself.
    fn is_known(&self, address: &str) -> bool {
        self.own.contains(address) || self.stops.iter().any(|stop| stop.behind.address == address)
    }

    /// Adds the address `to`, to which the server (`at` is 0) or an upstream is connected, as a new upstream. Skips
    /// known upstreams, and addresses at which the server connects to itself.
    fn meet(&mut self, at: usize, to: &Address, round: &mut Round<'_>) {
        let address = to.to_string();
        if self.is_known(&address) || self.stops.len() >= MAX_UPSTREAMS {
            return;
        }
        let mut pids = who_answers(to, round.tree.netns_pid());
        let all = pids.len();
        pids.retain(|pid| !round.process_set.pids().any(|own| own == *pid));
        if pids.is_empty() && all > 0 {
            self.own.insert(address);
            return;
        }
        let (from, depth) = match at.checked_sub(1).and_then(|stop| self.stops.get(stop)) {
            Some(stop) => (stop.behind.address.clone(), stop.behind.depth + 1),
            None => (String::new(), 1),
        };
        let behind = Upstream { address, depth, from, ..Upstream::default() };
        round.process_set.met(behind.clone(), pids.clone());
        let throttles = self.throttles(&pids, round.tree);
        self.stops.push(Step { to: to.clone(), behind, pids, throttles });
    }
}

#[cfg(test)]
mod tests;
