//! The sources of counters: one file each, and one row each in [`SOURCES`]. To add a source, write a file in this
//! folder and a row in the table. Also write a row per counter in `COUNTERS` of the crate `run`.

mod accepted;
mod cgroup;
mod cgroup_paths;
mod cgroup_quota;
mod connection;
mod conntrack;
mod cpu;
mod disk;
mod ended_children;
mod ended_processes;
mod exported;
mod interface;
mod interrupts;
mod listener;
mod memory;
mod netstat;
mod observer;
mod open_files;
mod ports;
mod pressure;
mod process;
mod process_columns;
mod process_io;
mod process_member;
mod qdisc;
mod slab;
mod sockstat;
mod softnet;
mod thread;
mod thread_status;
mod threads;
mod upstream_traffic;
mod upstreams;

pub use cgroup_quota::{CpuQuota, MIN_QUOTA_US};
pub(crate) use exported::Exported;
pub use exported::Exporter;
pub use open_files::descriptor_limits;
pub(crate) use ports::range as port_range;

use crate::Scope;
use crate::source::{Source, SourceSpec};
use crate::tree::Tree;

/// All sources in the order of reading. The source `process` comes first, because other sources use the processes that
/// it finds.
#[rustfmt::skip]
pub const SOURCES: &[SourceSpec] = &[
    row("process", "processes of this side and their threads: /proc/PID", &["process.*", "thread.*"], 600, process::open),
    row("cpu", "CPUs and the whole host: /proc/stat", &["cpu.*", "system.*"], 200, cpu::open),
    row("interrupts", "hardware interrupts: /proc/interrupts", &["interrupt.*"], 150, interrupts::open),
    row("softirqs", "soft interrupts: /proc/softirqs", &["softirq.*"], 100, interrupts::open_soft),
    row("netstat", "IP, TCP and UDP: /proc/net/snmp, snmp6 and netstat", &["ip.*", "ip6.*", "tcp.*", "udp.*", "udp6.*"], 200, netstat::open),
    row("interface", "network interfaces: /proc/net/dev", &["interface.*"], 100, interface::open),
    row("sockstat", "sockets: /proc/net/sockstat", &["socket.*"], 50, sockstat::open),
    row("listener", "the accept queue of the watched listener: sock_diag", &["listen.queue", "listen.limit", "listen.drops"], 100, listener::open),
    row("accepted", "connections of the listeners that an experiment names, accepted or not: sock_diag", &["listen.accepted", "listen.waiting"], 10_000, accepted::open),
    row("connection", "tcp_info of up to 64 connections of this side: sock_diag", &["connection.*"], 150, connection::open),
    SourceSpec { edge_gap_ms: 200, ..row("behind", "whom this side's processes are connected to, and who answers there: sock_diag, /proc/PID/fd", &["behind.*"], 150, upstreams::open) },
    row("softnet", "packets through the backlog of each CPU: /proc/net/softnet_stat", &["softnet.*"], 50, softnet::open),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_except_exported_ones_has_exactly_one_source() {
        for spec in run::COUNTERS.iter().filter(|c| !run::EXPORTED.contains(&c.object)) {
            let fills = SOURCES.iter().filter(|s| s.fills(spec.id)).count();
            assert_eq!(fills, 1, "{}", spec.id);
        }
    }
}
