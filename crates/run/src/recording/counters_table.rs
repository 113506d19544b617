//! Every counter that loadline knows, one row each: the one list that the probe fills, judge reads, and the docs print.
//!
//! To add a counter, add a row here and read it in a file of `probe/src/sources/`.

use crate::recording::counter_spec::Kind::{Cumulative, Gauge};
use crate::recording::counter_spec::Unit::{Bytes, BytesPerSecond, Count, Microseconds, Pages, Processors, Share};
use crate::recording::counter_spec::{CounterSpec, Kind, Together, Unit};

const fn c(id: &'static str, object: &'static str, unit: Unit, kind: Kind, help: &'static str) -> CounterSpec {
    CounterSpec { id, object, unit, kind, together: Together::Sum, help }
}

/// The table.
pub const COUNTERS: &[CounterSpec] = &[
    // Processors: instances `0`, `1`, … and `total`.
    c("cpu.user", "CPU", Microseconds, Cumulative, "/proc/stat user and nice: time in user mode"),
    c("cpu.system", "CPU", Microseconds, Cumulative, "/proc/stat system: time in the kernel, without interrupts"),
    c("cpu.irq", "CPU", Microseconds, Cumulative, "/proc/stat irq: time in hardware interrupts"),
    c(
        "cpu.softirq",
        "CPU",
        Microseconds,
        Cumulative,
        "/proc/stat softirq: time in soft interrupts, most of the network stack",
    ),
    c("cpu.iowait", "CPU", Microseconds, Cumulative, "/proc/stat iowait: idle while a disk request was out"),
    c("cpu.steal", "CPU", Microseconds, Cumulative, "/proc/stat steal: taken by the hypervisor"),
    c("cpu.idle", "CPU", Microseconds, Cumulative, "/proc/stat idle"),
    c("cpu.online", "System", Processors, Gauge, "CPUs that are online"),
    // The whole host.
    c("system.interrupts", "System", Count, Cumulative, "/proc/stat intr: hardware interrupts"),
    c("system.context_switches", "System", Count, Cumulative, "/proc/stat ctxt: context switches of all CPUs"),
    c("system.forks", "System", Count, Cumulative, "/proc/stat processes: processes and threads created"),
    c("system.running", "System", Count, Gauge, "/proc/stat procs_running: threads that run or want to"),
    c("system.blocked", "System", Count, Gauge, "/proc/stat procs_blocked: threads that wait for a disk"),
    c(
        "interrupt.count",
        "Interrupt",
        Count,
        Cumulative,
        "/proc/interrupts: hardware interrupts by line or kind, all CPUs",
    ),
    c(
        "softirq.count",
        "Softirq",
        Count,
        Cumulative,
        "/proc/softirqs: soft interrupts by kind (NET_RX, NET_TX, TIMER, …), all CPUs",
    ),
    // Processes: instance `name:pid`.
    c("process.user", "Process", Microseconds, Cumulative, "/proc/PID/stat utime: time in user mode, all threads"),
    c("process.system", "Process", Microseconds, Cumulative, "/proc/PID/stat stime: time in the kernel, all threads"),
    c(
        "process.cpu",
        "Process",
        Microseconds,
        Cumulative,
        "CPU clock of the process (clock_getcpuclockid): time of all its threads, ended ones too, exact",
    ),
    c(
        "process.run_delay",
        "Process",
        Microseconds,
        Cumulative,
        "/proc/PID/task/*/schedstat field 2: time runnable but not running; ended threads as last seen",
    ),
    c("process.minor_faults", "Process", Count, Cumulative, "/proc/PID/stat minflt: page faults without disk"),
    c("process.major_faults", "Process", Count, Cumulative, "/proc/PID/stat majflt: page faults with disk"),
    c("process.rss", "Process", Bytes, Gauge, "/proc/PID/status VmRSS: resident memory"),
    c("process.pss", "Process", Bytes, Gauge, "/proc/PID/smaps_rollup Pss: resident memory, shared pages divided"),
    c("process.locked", "Process", Bytes, Gauge, "/proc/PID/status VmLck: locked memory"),
    c("process.pinned", "Process", Bytes, Gauge, "/proc/PID/status VmPin: pinned memory"),
    c("process.page_tables", "Process", Bytes, Gauge, "/proc/PID/status VmPTE: page tables"),
    c("process.threads", "Process", Count, Gauge, "/proc/PID/status Threads"),
    c("process.fds", "Process", Count, Gauge, "size of /proc/PID/fd (before Linux 6.2: its entries): open descriptors"),
    c(
        "process.io_workers",
        "Process",
        Count,
        Gauge,
        "threads named iou-wrk: workers that io_uring made, part of process.threads",
    ),
    c("process.fd_limit", "Process", Count, Gauge, "/proc/PID/limits: soft limit of open files").largest(),
    c(
        "process.voluntary_switches",
        "Process",
        Count,
        Cumulative,
        "/proc/PID/task/*/status voluntary_ctxt_switches: threads that waited; ended ones as last seen",
    ),
    c(
        "process.involuntary_switches",
        "Process",
        Count,
        Cumulative,
        "/proc/PID/task/*/status nonvoluntary_ctxt_switches: threads that were displaced; ended ones as last seen",
    ),
    c("process.read_bytes", "Process", Bytes, Cumulative, "/proc/PID/io read_bytes: bytes fetched from a disk"),
    c("process.write_bytes", "Process", Bytes, Cumulative, "/proc/PID/io write_bytes: bytes sent to a disk"),
    c("process.cpus_allowed", "Process", Processors, Gauge, "/proc/PID/status Cpus_allowed: CPUs that it may use")
        .largest(),
    c(
        "process.cpu_mask",
        "Process",
        Count,
        Gauge,
        "/proc/PID/status Cpus_allowed as a number: bit 0 is CPU 0; absent if it may use one above 51",
    )
    .largest(),
    c("process.running", "Process", Count, Gauge, "threads of the process in state R"),
    c("process.sleeping", "Process", Count, Gauge, "threads of the process in state S"),
    c("process.disk_wait", "Process", Count, Gauge, "threads of the process in state D"),
    c("process.stopped", "Process", Count, Gauge, "threads of the process in state T or t"),
    // Threads: instance `name:pid/tid`.
    c("thread.cpu", "Thread", Microseconds, Cumulative, "/proc/PID/task/TID/schedstat field 1: time on a CPU"),
    c(
        "thread.run_delay",
        "Thread",
        Microseconds,
        Cumulative,
        "/proc/PID/task/TID/schedstat field 2: time runnable but not running",
    ),
    c(
        "thread.cpus_allowed",
        "Thread",
        Processors,
        Gauge,
        "/proc/PID/task/TID/status Cpus_allowed: CPUs that it may use",
    )
    .largest(),
    c(
        "thread.cpu_mask",
        "Thread",
        Count,
        Gauge,
        "/proc/PID/task/TID/status Cpus_allowed as a number: bit 0 is CPU 0; absent if it may use one above 51",
    )
    .largest(),
    // Interfaces.
    c("interface.rx_bytes", "Interface", Bytes, Cumulative, "/proc/net/dev receive bytes"),
    c("interface.rx_packets", "Interface", Count, Cumulative, "/proc/net/dev receive packets (merged ones count once)"),
    c("interface.rx_errors", "Interface", Count, Cumulative, "/proc/net/dev receive errs"),
    c("interface.rx_drops", "Interface", Count, Cumulative, "/proc/net/dev receive drop and fifo"),
    c("interface.tx_bytes", "Interface", Bytes, Cumulative, "/proc/net/dev transmit bytes"),
    c(
        "interface.tx_packets",
        "Interface",
        Count,
        Cumulative,
        "/proc/net/dev transmit packets (merged ones count once)",
    ),
    c("interface.tx_errors", "Interface", Count, Cumulative, "/proc/net/dev transmit errs (carrier and fifo included)"),
    c("interface.tx_drops", "Interface", Count, Cumulative, "/proc/net/dev transmit drop"),
    c("interface.collisions", "Interface", Count, Cumulative, "/proc/net/dev colls"),
    c("interface.speed", "Interface", BytesPerSecond, Gauge, "/sys/class/net/IF/speed: what the link carries each way")
        .largest(),
    // IP version 4.
    c("ip.in_receives", "IP", Count, Cumulative, "snmp Ip InReceives: packets in"),
    c("ip.in_discards", "IP", Count, Cumulative, "snmp Ip InDiscards: packets in that were dropped for lack of memory"),
    c("ip.out_requests", "IP", Count, Cumulative, "snmp Ip OutRequests: packets out"),
    c("ip.out_discards", "IP", Count, Cumulative, "snmp Ip OutDiscards: packets out that were dropped"),
    c("ip.in_octets", "IP", Bytes, Cumulative, "netstat IpExt InOctets: bytes in, IP headers included"),
    c("ip.out_octets", "IP", Bytes, Cumulative, "netstat IpExt OutOctets: bytes out, IP headers included"),
    // IP version 6.
    c("ip6.in_receives", "IP", Count, Cumulative, "snmp6 Ip6InReceives: packets in"),
    c(
        "ip6.in_discards",
        "IP",
        Count,
        Cumulative,
        "snmp6 Ip6InDiscards: packets in that were dropped for lack of memory",
    ),
    c("ip6.out_requests", "IP", Count, Cumulative, "snmp6 Ip6OutRequests: packets out"),
    c("ip6.out_discards", "IP", Count, Cumulative, "snmp6 Ip6OutDiscards: packets out that were dropped"),
    c("ip6.in_octets", "IP", Bytes, Cumulative, "snmp6 Ip6InOctets: bytes in, IP headers included"),
    c("ip6.out_octets", "IP", Bytes, Cumulative, "snmp6 Ip6OutOctets: bytes out, IP headers included"),
    // TCP, of both IP versions.
    c("tcp.active_opens", "TCP", Count, Cumulative, "snmp Tcp ActiveOpens: connects begun"),
    c("tcp.passive_opens", "TCP", Count, Cumulative, "snmp Tcp PassiveOpens: connections that a listener began"),
    c("tcp.attempt_fails", "TCP", Count, Cumulative, "snmp Tcp AttemptFails: connects that failed"),
    c("tcp.estab_resets", "TCP", Count, Cumulative, "snmp Tcp EstabResets: established connections that were reset"),
    c("tcp.established", "TCP", Count, Gauge, "snmp Tcp CurrEstab: connections now"),
    c("tcp.in_segs", "TCP", Count, Cumulative, "snmp Tcp InSegs: segments in"),
    c("tcp.out_segs", "TCP", Count, Cumulative, "snmp Tcp OutSegs: segments out, without those sent again"),
    c(
        "tcp.orig_data_sent",
        "TCP",
        Count,
        Cumulative,
        "netstat TCPOrigDataSent: segments out that carry data, without those sent again",
    ),
    c("tcp.retrans_segs", "TCP", Count, Cumulative, "snmp Tcp RetransSegs: segments sent again"),
    c("tcp.in_errs", "TCP", Count, Cumulative, "snmp Tcp InErrs: bad segments in"),
    c("tcp.out_rsts", "TCP", Count, Cumulative, "snmp Tcp OutRsts: resets sent"),
    c("tcp.listen_overflows", "TCP", Count, Cumulative, "netstat ListenOverflows: accept queue was full"),
    c(
        "tcp.listen_drops",
        "TCP",
        Count,
        Cumulative,
        "netstat ListenDrops: connection requests dropped at a listener, overflows included",
    ),
    c("tcp.req_queue_full_drops", "TCP", Count, Cumulative, "netstat TCPReqQFullDrop: SYN queue was full, SYN dropped"),
    c(
        "tcp.req_queue_full_cookies",
        "TCP",
        Count,
        Cumulative,
        "netstat TCPReqQFullDoCookies: SYN queue was full, cookie sent",
    ),
    c("tcp.syncookies_sent", "TCP", Count, Cumulative, "netstat SyncookiesSent"),
    c("tcp.syncookies_received", "TCP", Count, Cumulative, "netstat SyncookiesRecv: valid cookies that came back"),
    c("tcp.syncookies_failed", "TCP", Count, Cumulative, "netstat SyncookiesFailed"),
    c("tcp.timeouts", "TCP", Count, Cumulative, "netstat TCPTimeouts: retransmission timers that ran out"),
    c("tcp.syn_retrans", "TCP", Count, Cumulative, "netstat TCPSynRetrans: SYN and SYN-ACK sent again"),
    c(
        "tcp.lost_retransmits",
        "TCP",
        Count,
        Cumulative,
        "netstat TCPLostRetransmit: segments sent again that were lost again",
    ),
    c("tcp.fast_retrans", "TCP", Count, Cumulative, "netstat TCPFastRetrans"),
    c("tcp.spurious_rtos", "TCP", Count, Cumulative, "netstat TCPSpuriousRTOs"),
    c("tcp.delayed_acks", "TCP", Count, Cumulative, "netstat DelayedACKs: acknowledgements that a timer sent"),
    c("tcp.delayed_ack_lost", "TCP", Count, Cumulative, "netstat DelayedACKLost"),
    c("tcp.pure_acks", "TCP", Count, Cumulative, "netstat TCPPureAcks: acknowledgements without data in"),
    c(
        "tcp.abort_on_memory",
        "TCP",
        Count,
        Cumulative,
        "netstat TCPAbortOnMemory: connections dropped for lack of memory",
    ),
    c("tcp.abort_on_data", "TCP", Count, Cumulative, "netstat TCPAbortOnData: closed with unread data"),
    c("tcp.abort_on_close", "TCP", Count, Cumulative, "netstat TCPAbortOnClose"),
    c(
        "tcp.memory_pressures",
        "TCP",
        Count,
        Cumulative,
        "netstat TCPMemoryPressures: times that TCP ran short of memory",
    ),
    c("tcp.backlog_drops", "TCP", Count, Cumulative, "netstat TCPBacklogDrop: socket backlog was full"),
    c("tcp.rcvq_drops", "TCP", Count, Cumulative, "netstat TCPRcvQDrop: receive queue was full"),
    c("tcp.zero_window_drops", "TCP", Count, Cumulative, "netstat TCPZeroWindowDrop"),
    c("tcp.to_zero_window", "TCP", Count, Cumulative, "netstat TCPToZeroWindowAdv: times that our window closed"),
    c("tcp.time_waited", "TCP", Count, Cumulative, "netstat TW: sockets that left TIME_WAIT"),
    c("tcp.time_wait_overflows", "TCP", Count, Cumulative, "netstat TCPTimeWaitOverflow"),
    c("tcp.auto_corking", "TCP", Count, Cumulative, "netstat TCPAutoCorking"),
    // UDP.
    c("udp.in_datagrams", "UDP", Count, Cumulative, "snmp Udp InDatagrams"),
    c("udp.out_datagrams", "UDP", Count, Cumulative, "snmp Udp OutDatagrams"),
    c("udp.no_ports", "UDP", Count, Cumulative, "snmp Udp NoPorts"),
    c("udp.in_errors", "UDP", Count, Cumulative, "snmp Udp InErrors"),
    c("udp.rcvbuf_errors", "UDP", Count, Cumulative, "snmp Udp RcvbufErrors"),
    c("udp.sndbuf_errors", "UDP", Count, Cumulative, "snmp Udp SndbufErrors"),
    // Sockets.
    c("socket.used", "Socket", Count, Gauge, "sockstat sockets used"),
    c("socket.tcp_in_use", "Socket", Count, Gauge, "sockstat TCP inuse and sockstat6 TCP6 inuse"),
    c(
        "socket.tcp_orphans",
        "Socket",
        Count,
        Gauge,
        "sockstat TCP orphan: closed by their process, not yet by TCP; of all namespaces",
    ),
    c("socket.tcp_time_wait", "Socket", Count, Gauge, "sockstat TCP tw: sockets in TIME_WAIT"),
    c("socket.tcp_allocated", "Socket", Count, Gauge, "sockstat TCP alloc: TCP sockets of all namespaces"),
    c(
        "socket.tcp_memory",
        "Socket",
        Pages,
        Gauge,
        "sockstat TCP mem: pages of memory in socket buffers, all namespaces",
    ),
    // Listeners: instance `address:port`; further sockets of one address (SO_REUSEPORT) `address:port#2`, ….
    // What the server is connected to: instances are addresses (`127.0.0.1:5432`) and paths of unix sockets.
    c(
        "behind.connections",
        "Behind",
        Count,
        Gauge,
        "sock_diag: connections that the server's processes, or those behind it, hold to this address",
    ),
    c(
        "behind.cpu_quota",
        "Behind",
        Processors,
        Gauge,
        "CPUs that the quotas of the control groups behind this address give",
    ),
    c(
        "behind.cpu_periods",
        "Behind",
        Count,
        Cumulative,
        "cpu.stat nr_periods of these groups: enforcement periods with a quota",
    ),
    c(
        "behind.cpu_throttled_periods",
        "Behind",
        Count,
        Cumulative,
        "cpu.stat nr_throttled of these groups: periods in which a quota ran out",
    ),
    c("listen.queue", "Listener", Count, Gauge, "sock_diag rqueue: connections that wait to be accepted"),
    c(
        "listen.limit",
        "Listener",
        Count,
        Gauge,
        "sock_diag wqueue: limit of that queue, the smaller of backlog and somaxconn; it holds one more",
    )
    .largest(),
    c(
        "listen.drops",
        "Listener",
        Count,
        Cumulative,
        "sock_diag skmeminfo drops: connection requests dropped at this listener",
    ),
    // Read where an experiment asks for it: the kernel describes each connection.
    c("listen.accepted", "Listener", Count, Gauge, "sock_diag inode: established connections that were accepted"),
    c("listen.waiting", "Listener", Count, Gauge, "sock_diag inode: established connections that wait to be accepted"),
    // TCP_INFO over a sample of the connections of this side; instance empty.
    c("connection.sampled", "Connection", Count, Gauge, "connections that sock_diag described in this sample"),
    c("connection.rtt", "Connection", Microseconds, Gauge, "tcp_info rtt: smoothed round-trip time, mean").largest(),
    c("connection.cwnd", "Connection", Count, Gauge, "tcp_info snd_cwnd: congestion window in segments, mean")
        .largest(),
    c("connection.unacked", "Connection", Count, Gauge, "tcp_info unacked: segments in flight, mean").largest(),
    c(
        "connection.retrans",
        "Connection",
        Count,
        Gauge,
        "tcp_info total_retrans: segments sent again, mean a connection",
    )
    .largest(),
    c("connection.send_queue", "Connection", Bytes, Gauge, "sock_diag wqueue: bytes not yet acknowledged, mean")
        .largest(),
    c("connection.receive_queue", "Connection", Bytes, Gauge, "sock_diag rqueue: bytes not yet read, mean").largest(),
    c(
        "connection.rwnd_limited",
        "Connection",
        Share,
        Gauge,
        "tcp_info rwnd_limited over busy_time: share of time stopped by the peer's window",
    )
    .largest(),
    c(
        "connection.sndbuf_limited",
        "Connection",
        Share,
        Gauge,
        "tcp_info sndbuf_limited over busy_time: share of time stopped by the send buffer",
    )
    .largest(),
    c("connection.min_rtt", "Connection", Microseconds, Gauge, "tcp_info min_rtt: smallest round-trip time seen, mean")
        .largest(),
    c("connection.mss", "Connection", Bytes, Gauge, "tcp_info snd_mss: largest segment sent, mean").largest(),
    c(
        "connection.peer_window",
        "Connection",
        Bytes,
        Gauge,
        "tcp_info snd_wnd: window that the other end advertised, mean",
    )
    .largest(),
    c(
        "connection.delivery_rate",
        "Connection",
        BytesPerSecond,
        Gauge,
        "tcp_info delivery_rate: newest measured rate, mean a connection",
    )
    .largest(),
    c(
        "connection.waiting",
        "Connection",
        Count,
        Gauge,
        "tcp_info notsent_bytes: connections of the sample with bytes that TCP does not send yet",
    )
    .largest(),
    c(
        "connection.write_full",
        "Connection",
        Count,
        Gauge,
        "sock_diag skmeminfo: connections of the sample whose writer waits for room in the send buffer",
    )
    .largest(),
    c("connection.ato", "Connection", Microseconds, Gauge, "tcp_info ato: delayed-acknowledgement timer, mean")
        .largest(),
    // softnet: instances by processor.
    c(
        "softnet.processed",
        "Softnet",
        Count,
        Cumulative,
        "/proc/net/softnet_stat column 1: packets that the backlog and NAPI took",
    ),
    c(
        "softnet.dropped",
        "Softnet",
        Count,
        Cumulative,
        "/proc/net/softnet_stat column 2: packets dropped, backlog full",
    ),
    c(
        "softnet.time_squeeze",
        "Softnet",
        Count,
        Cumulative,
        "/proc/net/softnet_stat column 3: softirq ran out of its budget",
    ),
    // Slab: instances by cache name; a cache that the kernel merged with another of its size has no row.
    c("slab.objects", "Slab", Count, Gauge, "/proc/slabinfo active objects of socket caches"),
    c("slab.bytes", "Slab", Bytes, Gauge, "/proc/slabinfo pages of socket caches"),
    // Disks.
    c("disk.reads", "Disk", Count, Cumulative, "/proc/diskstats reads completed"),
    c("disk.read_bytes", "Disk", Bytes, Cumulative, "/proc/diskstats sectors read"),
    c("disk.writes", "Disk", Count, Cumulative, "/proc/diskstats writes completed"),
    c("disk.write_bytes", "Disk", Bytes, Cumulative, "/proc/diskstats sectors written"),
    c("disk.busy", "Disk", Microseconds, Cumulative, "/proc/diskstats time with a request out"),
    c("disk.in_flight", "Disk", Count, Gauge, "/proc/diskstats requests out now"),
    c("disk.flushes", "Disk", Count, Cumulative, "/proc/diskstats flush requests completed"),
    c(
        "disk.flushing",
        "Disk",
        Microseconds,
        Cumulative,
        "/proc/diskstats time of flush requests, which is not part of the time with a request out",
    ),
    // Pressure (PSI).
    c(
        "pressure.cpu_some",
        "Pressure",
        Microseconds,
        Cumulative,
        "/proc/pressure/cpu some total: a thread waited for a CPU",
    ),
    c("pressure.memory_some", "Pressure", Microseconds, Cumulative, "/proc/pressure/memory some total"),
    c(
        "pressure.memory_full",
        "Pressure",
        Microseconds,
        Cumulative,
        "/proc/pressure/memory full total: all threads waited for memory",
    ),
    c("pressure.io_some", "Pressure", Microseconds, Cumulative, "/proc/pressure/io some total"),
    c("pressure.io_full", "Pressure", Microseconds, Cumulative, "/proc/pressure/io full total"),
    // Control groups: instance is the path of a group that holds a process of this side. Quota, periods, limits and limit
    // events are those of the group up the tree that binds (the smallest quota or limit).
    c("cgroup.cpu_time", "Cgroup", Microseconds, Cumulative, "cpu.stat usage_usec (v1: cpuacct.usage)"),
    c("cgroup.cpu_periods", "Cgroup", Count, Cumulative, "cpu.stat nr_periods: enforcement periods with a quota"),
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
        "cpu.stat throttled_usec: time threads were held",
    ),
    c(
        "cgroup.cpu_quota",
        "Cgroup",
        Processors,
        Gauge,
        "cpu.max quota over period, the tightest up the tree (v1: cfs_quota_us)",
    )
    .largest(),
    c("cgroup.memory", "Cgroup", Bytes, Gauge, "memory.current (v1: memory.usage_in_bytes)").largest(),
    c(
        "cgroup.memory_limit",
        "Cgroup",
        Bytes,
        Gauge,
        "memory.max, the tightest up the tree (v1: memory.limit_in_bytes)",
    )
    .largest(),
    c(
        "cgroup.memory_max_events",
        "Cgroup",
        Count,
        Cumulative,
        "memory.events max: times that the limit was hit (v1: memory.failcnt)",
    ),
    c("cgroup.oom_kills", "Cgroup", Count, Cumulative, "memory.events oom_kill"),
    c("cgroup.pids", "Cgroup", Count, Gauge, "pids.current").largest(),
    c("cgroup.pids_limit", "Cgroup", Count, Gauge, "pids.max").largest(),
    // Connection tracking.
    c("conntrack.entries", "Conntrack", Count, Gauge, "net/netfilter/nf_conntrack_count"),
    c("conntrack.limit", "Conntrack", Count, Gauge, "net/netfilter/nf_conntrack_max"),
    // Queueing disciplines: instance `device kind handle` for the one at the root of the device (`eth0 tbf 8001:`), and
    // `device kind handle in parent` for inner ones, whose packets the root counts too.
    c("qdisc.bytes", "Qdisc", Bytes, Cumulative, "rtnetlink TCA_STATS2 basic bytes"),
    c("qdisc.packets", "Qdisc", Count, Cumulative, "rtnetlink TCA_STATS2 basic packets"),
    c("qdisc.backlog", "Qdisc", Bytes, Gauge, "rtnetlink TCA_STATS2 queue backlog"),
    c("qdisc.drops", "Qdisc", Count, Cumulative, "rtnetlink TCA_STATS2 queue drops"),
    c("qdisc.overlimits", "Qdisc", Count, Cumulative, "rtnetlink TCA_STATS2 queue overlimits"),
    c("qdisc.requeues", "Qdisc", Count, Cumulative, "rtnetlink TCA_STATS2 queue requeues"),
    // Memory of the host.
    c("memory.total", "Memory", Bytes, Gauge, "/proc/meminfo MemTotal"),
    c("memory.available", "Memory", Bytes, Gauge, "/proc/meminfo MemAvailable"),
    c("memory.kernel_stacks", "Memory", Bytes, Gauge, "/proc/meminfo KernelStack"),
    c("memory.page_tables", "Memory", Bytes, Gauge, "/proc/meminfo PageTables"),
    c("memory.slab", "Memory", Bytes, Gauge, "/proc/meminfo Slab"),
    c("memory.swap_in", "Memory", Pages, Cumulative, "/proc/vmstat pswpin"),
    c("memory.swap_out", "Memory", Pages, Cumulative, "/proc/vmstat pswpout"),
    // Limits of the client's side.
    c("ports.range", "Ports", Count, Gauge, "net/ipv4/ip_local_port_range: local ports an address pair may use"),
    // The observer.
    c("probe.cpu", "Probe", Microseconds, Cumulative, "CPU time that taking the samples cost"),
    c("probe.samples", "Probe", Count, Cumulative, "samples taken"),
    c("probe.late", "Probe", Count, Cumulative, "samples that were taken later than half an interval after their time"),
    // Media of the testbed: instance is the medium's name.
    c("medium.bytes", "Medium", Bytes, Cumulative, "bytes on the wire, preamble, check sequence and gap included"),
    c("medium.frames", "Medium", Count, Cumulative, "frames on the wire"),
    c("medium.busy", "Medium", Microseconds, Cumulative, "time that the wire was in use"),
    c("medium.deferrals", "Medium", Count, Cumulative, "frames that had to wait for the wire"),
    c("medium.drops", "Medium", Count, Cumulative, "frames dropped, queue full"),
    c("medium.lost", "Medium", Count, Cumulative, "frames lost on purpose, as the medium was asked to"),
    c("medium.queue", "Medium", Bytes, Gauge, "bytes that wait for the wire"),
    c(
        "medium.rate",
        "Medium",
        BytesPerSecond,
        Gauge,
        "what the wire carries, both directions together where it is shared",
    )
    .largest(),
    // The record server of an experiment counts these itself: no file of the kernel tells one record's origin.
    c("record.cache_hits", "Records", Count, Cumulative, "records that came out of the page cache"),
    c("record.disk_reads", "Records", Count, Cumulative, "records that came from the disk, all or in part"),
    c("record.large_reads", "Records", Count, Cumulative, "reads above 4096 bytes that had a buffer"),
    c("record.large_refused", "Records", Count, Cumulative, "reads above 4096 bytes that had none, and were split"),
    // So does the server of another experiment: its own view of its load.
    c("server.connections", "Server", Count, Gauge, "connections that it has accepted and not closed"),
    c("server.threads", "Server", Count, Gauge, "threads that serve"),
    c("server.bytes_in", "Server", Bytes, Cumulative, "bytes that it read from sockets"),
    c("server.bytes_out", "Server", Bytes, Cumulative, "bytes that its sockets took"),
];

/// Objects whose counters no source of the probe fills: media and reference servers tell them themselves.
pub const EXPORTED: &[&str] = &["Medium", "Records", "Server"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_dotted() {
        for (i, spec) in COUNTERS.iter().enumerate() {
            assert!(spec.id.contains('.') && spec.id.is_ascii(), "{}", spec.id);
            assert!(COUNTERS[i + 1..].iter().all(|other| other.id != spec.id), "{} twice", spec.id);
            assert!(!spec.help.is_empty());
        }
    }
}
