//! The sources: one file each, one row each in [`SOURCES`]. To add one, write a file here and a line there, and a row
//! a counter in run's `COUNTERS`.

mod cgroup;
mod cgroup_paths;
mod connection;
mod conntrack;
mod cpu;
mod disk;
mod interface;
mod interrupts;
mod listener;
mod memory;
mod netstat;
mod observer;
mod ports;
mod pressure;
mod process;
mod qdisc;
mod slab;
mod sockstat;
mod softnet;
mod thread;

pub(crate) use listener::serves;
pub(crate) use ports::range as port_range;

use crate::book::Book;
use crate::family::Family;
use crate::roster::Roster;
use crate::tree::Tree;
use crate::{Observed, Scope};

/// One place where the kernel keeps counters.
#[derive(Clone, Copy, Debug)]
pub struct SourceSpec {
    /// Its name.
    pub name: &'static str,
    /// What it reads, in one sentence.
    pub help: &'static str,
    /// The counters it fills: ids, or all of an object (`cpu.*`).
    pub counters: &'static [&'static str],
    /// What it may cost on the mean of the periodic samples, microseconds of processor time. A source that costs
    /// more is read at phase edges, and between them as often as it fits.
    pub budget_us: u32,
    /// At edges it is read whatever it costs, but not again within this many milliseconds: 0 but for what is so dear
    /// that it would disturb short trials.
    pub edge_gap_ms: u32,
    /// Makes a reader.
    pub open: fn(&Scope, &Tree) -> Box<dyn Source>,
}

impl SourceSpec {
    /// Whether it fills a counter.
    pub fn fills(&self, id: &str) -> bool {
        self.counters.iter().any(|c| c.strip_suffix('*').map_or(*c == id, |object| id.starts_with(object)))
    }
}

/// A reader of one source.
pub trait Source: Send {
    /// Writes what the source says now into the book; what it does not say becomes an absence. Never fails.
    fn sample(&mut self, round: &mut Round<'_>);
}

/// What a source is handed for one sample.
pub struct Round<'a> {
    /// Where values go.
    pub book: &'a mut Book,
    /// Where files are.
    pub tree: &'a Tree,
    /// A phase edge: everything is to be read, also what is dear.
    pub full: bool,
    /// This side's processes.
    pub roster: &'a mut Roster,
    /// What observing did and cost so far.
    pub observed: Observed,
}

/// A row a source. The order is the order of reading: processes first, since others ask for them.
#[rustfmt::skip]
pub const SOURCES: &[SourceSpec] = &[
    row("process", "processes of this side and their threads: /proc/PID", &["process.*", "thread.*"], 600, process::open),
    row("cpu", "processors and the whole host: /proc/stat", &["cpu.*", "system.*"], 200, cpu::open),
    row("interrupts", "hardware interrupts: /proc/interrupts", &["interrupt.*"], 150, interrupts::open),
    row("softirqs", "soft interrupts: /proc/softirqs", &["softirq.*"], 100, interrupts::open_soft),
    row("netstat", "IP, TCP and UDP: /proc/net/snmp, snmp6 and netstat", &["ip.*", "ip6.*", "tcp.*", "udp.*"], 200, netstat::open),
    row("interface", "network interfaces: /proc/net/dev", &["interface.*"], 100, interface::open),
    row("sockstat", "sockets: /proc/net/sockstat", &["socket.*"], 50, sockstat::open),
    row("listener", "the accept queue of the watched listener: sock_diag", &["listen.*"], 100, listener::open),
    row("connection", "tcp_info of up to 64 connections of this side: sock_diag", &["connection.*"], 150, connection::open),
    row("softnet", "packets through the backlog of each processor: /proc/net/softnet_stat", &["softnet.*"], 50, softnet::open),
    SourceSpec { edge_gap_ms: 1000, ..row("slab", "kernel memory of sockets: /proc/slabinfo", &["slab.*"], 50, slab::open) },
    row("disk", "disks: /proc/diskstats", &["disk.*"], 50, disk::open),
    row("pressure", "stall times of the host: /proc/pressure", &["pressure.*"], 50, pressure::open),
    row("cgroup", "quotas and limits of control groups, v1 and v2", &["cgroup.*"], 100, cgroup::open),
    row("conntrack", "connection tracking: net/netfilter", &["conntrack.*"], 20, conntrack::open),
    row("qdisc", "queueing disciplines: rtnetlink", &["qdisc.*"], 50, qdisc::open),
    row("memory", "memory of the host: /proc/meminfo and vmstat", &["memory.*"], 100, memory::open),
    row("ports", "local ports: net/ipv4/ip_local_port_range", &["ports.*"], 20, ports::open),
    row("observer", "the probe itself", &["probe.*"], 20, observer::open),
];

const fn row(
    name: &'static str,
    help: &'static str,
    counters: &'static [&'static str],
    budget_us: u32,
    open: fn(&Scope, &Tree) -> Box<dyn Source>,
) -> SourceSpec {
    SourceSpec { name, help, counters, budget_us, edge_gap_ms: 0, open }
}

/// Writes the same reason for every counter of a family.
fn none(round: &mut Round<'_>, family: &Family, reason: &str) {
    round.book.absent_all(family.ids(), "", format_args!("{reason}"));
}

/// Why netlink and clocks are not asked when the files are a captured tree.
const CAPTURED: &str = "the files are a captured tree; only the running kernel can be asked this";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_but_those_that_are_told_has_exactly_one_source() {
        for spec in run::COUNTERS.iter().filter(|c| !run::TOLD.contains(&c.object)) {
            let fills = SOURCES.iter().filter(|s| s.fills(spec.id)).count();
            assert_eq!(fills, 1, "{}", spec.id);
        }
    }
}
