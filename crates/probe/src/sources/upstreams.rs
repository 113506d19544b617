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

mod limits;
mod same_port;
mod short;
mod short_addresses;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use run::{Address, Upstream};
use sys::diag::{Diag, Listener, OtherConnection, SocketName, Traffic};

use crate::Scope;
use crate::bound_address::serves;
use crate::family::Family;
use crate::find::{sockets_of, who_answers};
use crate::source::{CAPTURED_TREE, Round, Source, none};
use crate::tree::Tree;

use super::cgroup::Throttle;
use super::cgroup_paths::{Mount, mounts};
use super::upstream_traffic::{Open, TrafficCounts};
use limits::{MAX_ENDS, MAX_UPSTREAMS};
use same_port::SamePort;
use short_addresses::ShortConnections;

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
    /// Owner of each socket, by inode: 0 for the server, n for the upstream at index n - 1 of `stops`, `None` for other
    /// processes.
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

/// The connecting end of a connection.
struct ConnectionEnd {
    /// Inode of the socket.
    inode: u32,
    /// Address of the connection's other end.
    to: Address,
    traffic: Option<Traffic>,
    /// True if a request waits at the other end, because the upstream has not read it or not accepted the connection.
    is_unread: bool,
    /// Identity of a TCP socket, by which the kernel finds the socket again; `None` for a unix socket.
    name: Option<SocketName>,
}

/// The sockets of a network namespace, without those of the server's own clients.
#[derive(Default)]
struct Sockets {
    ends: Vec<ConnectionEnd>,
    listeners: Vec<Listener>,
    /// Unread bytes on accepted connections, by local address.
    unread: HashMap<SocketAddr, f64>,
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

    fn nothing(&self, round: &mut Round<'_>, why: &str) {
        [&self.family, &self.queues, &self.traffic, &self.quotas]
            .into_iter()
            .for_each(|family| none(round, family, why));
    }

    /// At the first sample of a load test, adds the upstreams that earlier load tests found to the process set. An
    /// upstream whose processes have all ended may have been started again, so its processes are searched again.
    fn begin(&mut self, round: &mut Round<'_>) {
        let edition = round.process_set.edition();
        if self.edition.replace(edition) == Some(edition) {
            return;
        }
        self.holders.clear();
        for at in 0..self.stops.len() {
            if !self.stops[at].pids.iter().any(|pid| round.tree.process(*pid, "stat").exists()) {
                let pids = who_answers(&self.stops[at].to, round.tree.netns_pid());
                let throttles = self.throttles(&pids, round.tree);
                (self.stops[at].pids, self.stops[at].throttles) = (pids, throttles);
            }
            let stop = &self.stops[at];
            round.process_set.met(stop.behind.clone(), stop.pids.clone());
        }
    }

    /// Returns the sockets of the server's network namespace, without those of the server's own clients.
    fn sockets(&mut self, listen: &Address, tree: &Tree) -> io::Result<Sockets> {
        let diag = match &mut self.diag {
            Some(diag) => diag,
            none => none.insert(tree.diag()?),
        };
        let mut found = Sockets::default();
        let mut tcp: Vec<OtherConnection> = Vec::new();
        let describe = self.holders.len() <= MAX_DESCRIBED;
        if !describe {
            self.counts = TrafficCounts::default();
        }
        for v6 in [false, true] {
            diag.listeners(v6, None, |l| found.listeners.push(*l))?;
            diag.others(v6, listen.inet().map_or(0, |a| a.port()), describe, |connection| {
                if tcp.len() < MAX_ENDS {
                    tcp.push(*connection);
                }
            })?;
        }
        if let Some(server) = listen.inet() {
            self.same_port.add((diag, tree), server, describe, &mut tcp)?;
        }
        let listening: HashSet<u16> = found.listeners.iter().map(|l| l.local.port()).collect();
        let has_unread = |end: &&OtherConnection| listening.contains(&end.local.port()) && end.receive_queue > 0;
        let unread: HashSet<[SocketAddr; 2]> =
            tcp.iter().filter(has_unread).map(|end| [end.local, end.remote]).collect();
        for OtherConnection { local, remote, inode, receive_queue, is_connecting, traffic, name } in tcp {
            if listening.contains(&local.port()) {
                *found.unread.entry(local).or_default() += f64::from(receive_queue);
            } else if inode != 0 {
                let (to, name) = (Address::Inet(remote), Some(name));
                let is_unread = is_connecting || unread.contains(&[remote, local]);
                found.ends.push(ConnectionEnd { inode, to, traffic, is_unread, name });
            }
        }
        found.ends.extend(unix_ends(diag, listen)?);
        Ok(found)
    }

    /// Writes, for each upstream that listens in this network namespace, the number of waiting connections and (for TCP
    /// only) of unread bytes.
    fn put_queues(&mut self, sockets: &Sockets, round: &mut Round<'_>) {
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
    fn put_traffic(&mut self, ends: &[ConnectionEnd], round: &mut Round<'_>) {
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
    /// processes. Adds the addresses to which they lead as upstreams.
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

    /// Writes the number of connecting ends per address.
    fn put_connections(&mut self, ends: &[ConnectionEnd], round: &mut Round<'_>) {
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

    /// Writes the CPU quota of each upstream, the number of quota periods, and the number of throttled periods.
    fn throttled(&mut self, round: &mut Round<'_>) {
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

/// Returns the connecting ends of unix connections. Only the accepting end of a connection has a path: the path of the
/// listener that accepted the connection.
fn unix_ends(diag: &mut Diag, listen: &Address) -> io::Result<Vec<ConnectionEnd>> {
    let mut accepted: Vec<(u32, PathBuf)> = Vec::new();
    diag.unix_pairs(|_, peer, name| {
        let own = matches!(listen, Address::Unix(path) if path == name);
        if name != Path::new("") && !own && accepted.len() < MAX_ENDS {
            accepted.push((peer, name.to_owned()));
        }
    })?;
    let end =
        |(inode, path)| ConnectionEnd { inode, to: Address::Unix(path), traffic: None, is_unread: false, name: None };
    Ok(accepted.into_iter().map(end).collect())
}

#[cfg(test)]
mod tests;
