//! Counters of queues, disks, pressure, control groups, memory, testbeds and experiments.

use super::row::c;
use crate::recording::counter_spec::CounterSpec;
use crate::recording::counter_spec::Kind::{Cumulative, Gauge};
use crate::recording::counter_spec::Unit::{Bytes, BytesPerSecond, Count, Cpus, Microseconds, Pages};

pub(super) const ROWS: &[CounterSpec] = &[
    // Softnet counters. The instances are CPUs.
    c(
        "softnet.processed",
        "Softnet",
        Count,
        Cumulative,
        "/proc/net/softnet_stat column 1: packets processed by the backlog and NAPI",
    ),
    c(
        "softnet.dropped",
        "Softnet",
        Count,
        Cumulative,
        "/proc/net/softnet_stat column 2: packets dropped because the backlog was full",
    ),
    c(
        "softnet.time_squeeze",
        "Softnet",
        Count,
        Cumulative,
        "/proc/net/softnet_stat column 3: times that packet processing used up its budget",
    ),
    // Counters of slab caches. The instance is the name of the cache. A cache that the kernel merged with another cache
    // of equal size has no instance.
    c("slab.objects", "Slab", Count, Gauge, "/proc/slabinfo: active objects of socket caches"),
    c("slab.bytes", "Slab", Bytes, Gauge, "/proc/slabinfo: memory of socket caches"),
    // Counters of disks.
    c("disk.reads", "Disk", Count, Cumulative, "/proc/diskstats: reads completed"),
    c("disk.read_bytes", "Disk", Bytes, Cumulative, "/proc/diskstats: bytes read"),
    c("disk.writes", "Disk", Count, Cumulative, "/proc/diskstats: writes completed"),
    c("disk.write_bytes", "Disk", Bytes, Cumulative, "/proc/diskstats: bytes written"),
    c("disk.busy", "Disk", Microseconds, Cumulative, "/proc/diskstats: time with a request in flight"),
    c("disk.in_flight", "Disk", Count, Gauge, "/proc/diskstats: requests in flight now"),
    c("disk.flushes", "Disk", Count, Cumulative, "/proc/diskstats: flush requests completed"),
    c(
        "disk.flushing",
        "Disk",
        Microseconds,
        Cumulative,
        "/proc/diskstats: time of flush requests, which is not in disk.busy",
    ),
    // Counters of pressure stall information (PSI).
    c("pressure.cpu_some", "Pressure", Microseconds, Cumulative, "/proc/pressure/cpu some: a thread waited for a CPU"),
    c("pressure.memory_some", "Pressure", Microseconds, Cumulative, "/proc/pressure/memory some: a thread waited"),
    c(
        "pressure.memory_full",
        "Pressure",
        Microseconds,
        Cumulative,
        "/proc/pressure/memory full: all threads waited for memory",
    ),
    c("pressure.io_some", "Pressure", Microseconds, Cumulative, "/proc/pressure/io some: a thread waited for I/O"),
    c("pressure.io_full", "Pressure", Microseconds, Cumulative, "/proc/pressure/io full: all threads waited for I/O"),
    // Control groups: the instance is the path of a group with a process of this side. The counters of quota, periods,
    // limits and limit events come from the ancestor group with the smallest quota or limit.
    c("cgroup.cpu_time", "Cgroup", Microseconds, Cumulative, "cpu.stat usage_usec (v1: cpuacct.usage): CPU time"),
    c("cgroup.cpu_periods", "Cgroup", Count, Cumulative, "cpu.stat nr_periods: periods with an enforced quota"),
    c(
        "cgroup.cpu_throttled_periods",
        "Cgroup",
        Count,
        Cumulative,
        "cpu.stat nr_throttled: periods in which the quota ran out",
    ),
    c(
        "cgroup.cpu_throttled_time",
        "Cgroup",
        Microseconds,
        Cumulative,
        "cpu.stat throttled_usec: time in which threads were throttled",
    ),
    c(
        "cgroup.cpu_quota",
        "Cgroup",
        Cpus,
        Gauge,
        "cpu.max (v1: cfs_quota_us): quota over period, the tightest up the tree",
    )
    .largest(),
    c("cgroup.memory", "Cgroup", Bytes, Gauge, "memory.current (v1: memory.usage_in_bytes): memory in use").largest(),
    c(
        "cgroup.memory_limit",
        "Cgroup",
        Bytes,
        Gauge,
        "memory.max (v1: memory.limit_in_bytes): memory limit, the tightest up the tree",
    )
    .largest(),
    c(
        "cgroup.limited_memory",
        "Cgroup",
        Bytes,
        Gauge,
        "memory.current (v1: memory.usage_in_bytes) of the group that has the tightest memory limit: memory in use by all \
         groups below this group",
    )
    .largest(),
    c(
        "cgroup.memory_max_events",
        "Cgroup",
        Count,
        Cumulative,
        "memory.events max (v1: memory.failcnt): times that the memory limit was hit",
    ),
    c("cgroup.oom_kills", "Cgroup", Count, Cumulative, "memory.events oom_kill: processes killed for lack of memory"),
    c(
        "cgroup.refaults",
        "Cgroup",
        Pages,
        Cumulative,
        "memory.stat workingset_refault_file (v1: total_...): pages of files read again after the kernel evicted them",
    ),
    c("cgroup.pids", "Cgroup", Count, Gauge, "pids.current: processes and threads").largest(),
    c("cgroup.pids_limit", "Cgroup", Count, Gauge, "pids.max: most processes and threads").largest(),
    // Counters of connection tracking.
    c("conntrack.entries", "Conntrack", Count, Gauge, "net/netfilter/nf_conntrack_count: tracked connections"),
    c("conntrack.limit", "Conntrack", Count, Gauge, "net/netfilter/nf_conntrack_max: most tracked connections"),
    // Queueing disciplines: the instance is `device kind handle` for the root of a device, such as `eth0 tbf 8001:`.
    // For a discipline that is not the root, the instance is `device kind handle in parent`. The counters of a device's
    // root discipline include the packets of the device's other disciplines.
    c("qdisc.bytes", "Qdisc", Bytes, Cumulative, "rtnetlink TCA_STATS2: bytes sent"),
    c("qdisc.packets", "Qdisc", Count, Cumulative, "rtnetlink TCA_STATS2: packets sent"),
    c("qdisc.backlog", "Qdisc", Bytes, Gauge, "rtnetlink TCA_STATS2: bytes that wait in the queue"),
    c("qdisc.drops", "Qdisc", Count, Cumulative, "rtnetlink TCA_STATS2: packets dropped"),
    c("qdisc.overlimits", "Qdisc", Count, Cumulative, "rtnetlink TCA_STATS2: times that the limit held a packet"),
    c("qdisc.requeues", "Qdisc", Count, Cumulative, "rtnetlink TCA_STATS2: packets put back into the queue"),
    // Counters of the host's memory.
    c("memory.total", "Memory", Bytes, Gauge, "/proc/meminfo MemTotal: memory of the host"),
    c("memory.available", "Memory", Bytes, Gauge, "/proc/meminfo MemAvailable: memory that programs can still get"),
    c("memory.kernel_stacks", "Memory", Bytes, Gauge, "/proc/meminfo KernelStack: memory of kernel stacks"),
    c("memory.page_tables", "Memory", Bytes, Gauge, "/proc/meminfo PageTables: memory of page tables"),
    c("memory.slab", "Memory", Bytes, Gauge, "/proc/meminfo Slab: memory of kernel objects"),
    c("memory.swap_in", "Memory", Pages, Cumulative, "/proc/vmstat pswpin: pages read from swap"),
    c("memory.swap_out", "Memory", Pages, Cumulative, "/proc/vmstat pswpout: pages written to swap"),
    c(
        "memory.refaults",
        "Memory",
        Pages,
        Cumulative,
        "/proc/vmstat workingset_refault_file: pages of files read again after the kernel evicted them",
    ),
    // Limits on the sockets of the client's host.
    c("ports.range", "Ports", Count, Gauge, "net/ipv4/ip_local_port_range: local ports of an address pair"),
    // Counters of loadline's own observer process.
    c("probe.cpu", "Probe", Microseconds, Cumulative, "CPU time spent on taking samples"),
    c("probe.samples", "Probe", Count, Cumulative, "samples taken"),
    c("probe.late", "Probe", Count, Cumulative, "samples taken more than half an interval late"),
    // Media (simulated networks) of a testbed. The instance is the medium's name.
    c("medium.bytes", "Medium", Bytes, Cumulative, "bytes on the wire, preamble, check sequence and gap included"),
    c("medium.frames", "Medium", Count, Cumulative, "frames on the wire"),
    c("medium.busy", "Medium", Microseconds, Cumulative, "time in which the wire was in use"),
    c("medium.deferrals", "Medium", Count, Cumulative, "frames that had to wait for the wire"),
    c("medium.drops", "Medium", Count, Cumulative, "frames dropped because a queue was full"),
    c("medium.lost", "Medium", Count, Cumulative, "frames that the medium lost on purpose (its loss rate)"),
    c("medium.queue", "Medium", Bytes, Gauge, "bytes that wait for the wire"),
    c("medium.rate", "Medium", BytesPerSecond, Gauge, "rate of the wire, both directions together if it is shared")
        .largest(),
    // The record server of an experiment counts the values of the kind `Records` itself. No kernel file shows if a
    // record came from the cache.
    c("record.cache_hits", "Records", Count, Cumulative, "records read from the page cache"),
    c("record.disk_reads", "Records", Count, Cumulative, "records read from the disk, in whole or in part"),
    c("record.large_reads", "Records", Count, Cumulative, "reads above 4096 bytes that got a large buffer"),
    c("record.large_refused", "Records", Count, Cumulative, "reads above 4096 bytes without a large buffer, split"),
    // The server of an experiment counts the values of the kind `Server` itself.
    c("server.connections", "Server", Count, Gauge, "open connections that the server accepted"),
    c("server.threads", "Server", Count, Gauge, "threads that serve requests"),
    c("server.bytes_in", "Server", Bytes, Cumulative, "bytes that the server read from sockets"),
    c("server.bytes_out", "Server", Bytes, Cumulative, "bytes that the server wrote to sockets"),
];
