//! Table of all counters, one row each. The probe fills the counters, judge reads them, and the docs print them.
//!
//! To add a counter, add a row here and read it in a file of `probe/src/sources/`.

use crate::recording::counter_spec::Kind::{Cumulative, Gauge};
use crate::recording::counter_spec::Unit::{Bytes, BytesPerSecond, Count, Cpus, Microseconds, Pages, Share};
use crate::recording::counter_spec::{Aggregation, CounterSpec, Kind, Unit};

const fn c(id: &'static str, object: &'static str, unit: Unit, kind: Kind, help: &'static str) -> CounterSpec {
    CounterSpec { id, object, unit, kind, together: Aggregation::Sum, help }
}

/// All counters of loadline.
pub const COUNTERS: &[CounterSpec] = &[
    // CPUs: instances `0`, `1`, … and `total`.
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
    c("cpu.iowait", "CPU", Microseconds, Cumulative, "/proc/stat iowait: idle time while a disk request was in flight"),
    c("cpu.steal", "CPU", Microseconds, Cumulative, "/proc/stat steal: time taken by the hypervisor"),
    c("cpu.idle", "CPU", Microseconds, Cumulative, "/proc/stat idle: idle time"),
    c("cpu.online", "System", Cpus, Gauge, "CPUs that are online"),
    // Counters of the whole host.
    c("system.interrupts", "System", Count, Cumulative, "/proc/stat intr: hardware interrupts"),
    c("system.context_switches", "System", Count, Cumulative, "/proc/stat ctxt: context switches of all CPUs"),
    c("system.forks", "System", Count, Cumulative, "/proc/stat processes: processes and threads created"),
    c("system.running", "System", Count, Gauge, "/proc/stat procs_running: threads that run or are ready to run"),
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
        "/proc/PID/task/*/schedstat field 2: time ready to run without a CPU; ended threads as last seen",
    ),
    c(
        "process.instructions",
        "Process",
        Count,
        Cumulative,
        "perf_event_open: instructions of all threads, without the kernel's where perf_event_paranoid is 2 or more",
    ),
    c("process.minor_faults", "Process", Count, Cumulative, "/proc/PID/stat minflt: page faults that read no disk"),
    c("process.major_faults", "Process", Count, Cumulative, "/proc/PID/stat majflt: page faults that read a disk"),
    c("process.rss", "Process", Bytes, Gauge, "/proc/PID/status VmRSS: resident memory"),
    c("process.pss", "Process", Bytes, Gauge, "/proc/PID/smaps_rollup Pss: resident memory, shared pages divided"),
    c("process.locked", "Process", Bytes, Gauge, "/proc/PID/status VmLck: locked memory"),
    c("process.pinned", "Process", Bytes, Gauge, "/proc/PID/status VmPin: pinned memory"),
    c("process.page_tables", "Process", Bytes, Gauge, "/proc/PID/status VmPTE: page tables"),
    c("process.threads", "Process", Count, Gauge, "/proc/PID/status Threads: threads of the process"),
    c("process.fds", "Process", Count, Gauge, "size of /proc/PID/fd (its entries before Linux 6.2): descriptors"),
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
    c("process.read_bytes", "Process", Bytes, Cumulative, "/proc/PID/io read_bytes: bytes read from a disk"),
    c("process.write_bytes", "Process", Bytes, Cumulative, "/proc/PID/io write_bytes: bytes written to a disk"),
    c("process.cpus_allowed", "Process", Cpus, Gauge, "/proc/PID/status Cpus_allowed: CPUs that it may use").largest(),
    c(
        "process.cpu_mask",
        "Process",
        Count,
        Gauge,
        "/proc/PID/status Cpus_allowed as a number: bit 0 is CPU 0; absent if it may use one above 51",
    )
    .largest(),
    c("process.parent", "Process", Count, Gauge, "/proc/PID/stat ppid: number of the parent process").largest(),
    c("process.running", "Process", Count, Gauge, "threads of the process in state R (running or ready)"),
    c("process.sleeping", "Process", Count, Gauge, "threads of the process in state S (sleeping)"),
    c("process.disk_wait", "Process", Count, Gauge, "threads of the process in state D (waiting for a disk)"),
    c("process.stopped", "Process", Count, Gauge, "threads of the process in state T or t (stopped)"),
    // Threads: instance `name:pid/tid`.
    c("thread.cpu", "Thread", Microseconds, Cumulative, "/proc/PID/task/TID/schedstat field 1: time on a CPU"),
    c(
        "thread.run_delay",
        "Thread",
        Microseconds,
        Cumulative,
        "/proc/PID/task/TID/schedstat field 2: time ready to run without a CPU",
    ),
    c("thread.cpus_allowed", "Thread", Cpus, Gauge, "/proc/PID/task/TID/status Cpus_allowed: CPUs that it may use")
        .largest(),
    c(
        "thread.cpu_mask",
        "Thread",
        Count,
        Gauge,
        "/proc/PID/task/TID/status Cpus_allowed as a number: bit 0 is CPU 0; absent if it may use one above 51",
    )
    .largest(),
    // Network interfaces.
    c("interface.rx_bytes", "Interface", Bytes, Cumulative, "/proc/net/dev receive bytes: bytes in"),
    c("interface.rx_packets", "Interface", Count, Cumulative, "/proc/net/dev receive packets (merged ones count once)"),
    c("interface.rx_errors", "Interface", Count, Cumulative, "/proc/net/dev receive errs: packets in with errors"),
    c("interface.rx_drops", "Interface", Count, Cumulative, "/proc/net/dev receive drop and fifo: packets dropped"),
    c("interface.tx_bytes", "Interface", Bytes, Cumulative, "/proc/net/dev transmit bytes: bytes out"),
    c(
        "interface.tx_packets",
        "Interface",
        Count,
        Cumulative,
        "/proc/net/dev transmit packets (merged ones count once)",
    ),
    c("interface.tx_errors", "Interface", Count, Cumulative, "/proc/net/dev transmit errs, carrier and fifo included"),
    c("interface.tx_drops", "Interface", Count, Cumulative, "/proc/net/dev transmit drop: packets dropped"),
    c("interface.collisions", "Interface", Count, Cumulative, "/proc/net/dev colls: collisions on the wire"),
    c("interface.speed", "Interface", BytesPerSecond, Gauge, "/sys/class/net/IF/speed: rate of the link each way")
        .largest(),
    // Counters of IP version 4.
    c("ip.in_receives", "IP", Count, Cumulative, "snmp Ip InReceives: packets in"),
    c("ip.in_discards", "IP", Count, Cumulative, "snmp Ip InDiscards: packets in that were dropped for lack of memory"),
    c("ip.out_requests", "IP", Count, Cumulative, "snmp Ip OutRequests: packets out"),
    c("ip.out_discards", "IP", Count, Cumulative, "snmp Ip OutDiscards: packets out that were dropped"),
    c("ip.in_octets", "IP", Bytes, Cumulative, "netstat IpExt InOctets: bytes in, IP headers included"),
    c("ip.out_octets", "IP", Bytes, Cumulative, "netstat IpExt OutOctets: bytes out, IP headers included"),
    // Counters of IP version 6.
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
    // Counters of TCP over both IP versions.
    c("tcp.active_opens", "TCP", Count, Cumulative, "snmp Tcp ActiveOpens: connects begun"),
    c("tcp.passive_opens", "TCP", Count, Cumulative, "snmp Tcp PassiveOpens: connections accepted by a listener"),
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
    c("tcp.listen_overflows", "TCP", Count, Cumulative, "netstat ListenOverflows: times that an accept queue was full"),
    c(
        "tcp.listen_drops",
        "TCP",
        Count,
        Cumulative,
        "netstat ListenDrops: connection requests dropped at a listener, overflows included",
    ),
    c("tcp.req_queue_full_drops", "TCP", Count, Cumulative, "netstat TCPReqQFullDrop: SYNs dropped, SYN queue full"),
    c(
        "tcp.req_queue_full_cookies",
        "TCP",
        Count,
        Cumulative,
        "netstat TCPReqQFullDoCookies: SYNs answered with a cookie because the SYN queue was full",
    ),
    c("tcp.syncookies_sent", "TCP", Count, Cumulative, "netstat SyncookiesSent: cookies sent"),
    c("tcp.syncookies_received", "TCP", Count, Cumulative, "netstat SyncookiesRecv: valid cookies that came back"),
    c("tcp.syncookies_failed", "TCP", Count, Cumulative, "netstat SyncookiesFailed: invalid cookies that came back"),
    c("tcp.timeouts", "TCP", Count, Cumulative, "netstat TCPTimeouts: retransmission timers that ran out"),
    c("tcp.syn_retrans", "TCP", Count, Cumulative, "netstat TCPSynRetrans: SYN and SYN-ACK sent again"),
    c(
        "tcp.lost_retransmits",
        "TCP",
        Count,
        Cumulative,
        "netstat TCPLostRetransmit: retransmissions that were lost again",
    ),
    c("tcp.fast_retrans", "TCP", Count, Cumulative, "netstat TCPFastRetrans: segments sent again without a timer"),
    c("tcp.spurious_rtos", "TCP", Count, Cumulative, "netstat TCPSpuriousRTOs: unnecessary retransmission timeouts"),
    c("tcp.delayed_acks", "TCP", Count, Cumulative, "netstat DelayedACKs: acknowledgements sent by the delay timer"),
    c(
        "tcp.delayed_ack_lost",
        "TCP",
        Count,
        Cumulative,
        "netstat DelayedACKLost: segments received again, ACK too late",
    ),
    c("tcp.pure_acks", "TCP", Count, Cumulative, "netstat TCPPureAcks: acknowledgements without data in"),
    c(
        "tcp.abort_on_memory",
        "TCP",
        Count,
        Cumulative,
        "netstat TCPAbortOnMemory: connections dropped for lack of memory",
    ),
    c("tcp.abort_on_data", "TCP", Count, Cumulative, "netstat TCPAbortOnData: resets because data came after close"),
    c("tcp.abort_on_close", "TCP", Count, Cumulative, "netstat TCPAbortOnClose: resets by close with unread data"),
    c(
        "tcp.memory_pressures",
        "TCP",
        Count,
        Cumulative,
        "netstat TCPMemoryPressures: times that TCP ran short of memory",
    ),
    c("tcp.backlog_drops", "TCP", Count, Cumulative, "netstat TCPBacklogDrop: segments dropped, backlog full"),
    c("tcp.rcvq_drops", "TCP", Count, Cumulative, "netstat TCPRcvQDrop: segments dropped, receive queue full"),
    c("tcp.zero_window_drops", "TCP", Count, Cumulative, "netstat TCPZeroWindowDrop: segments dropped, window closed"),
    c("tcp.to_zero_window", "TCP", Count, Cumulative, "netstat TCPToZeroWindowAdv: times that our window closed"),
    c("tcp.time_waited", "TCP", Count, Cumulative, "netstat TW: sockets that left TIME_WAIT"),
    c("tcp.time_wait_overflows", "TCP", Count, Cumulative, "netstat TCPTimeWaitOverflow: no room in TIME_WAIT"),
    c("tcp.auto_corking", "TCP", Count, Cumulative, "netstat TCPAutoCorking: small writes that the kernel joined"),
    // Counters of UDP.
    c("udp.in_datagrams", "UDP", Count, Cumulative, "snmp Udp InDatagrams: datagrams in"),
    c("udp.out_datagrams", "UDP", Count, Cumulative, "snmp Udp OutDatagrams: datagrams out"),
    c("udp.no_ports", "UDP", Count, Cumulative, "snmp Udp NoPorts: datagrams to a port without a receiver"),
    c("udp.in_errors", "UDP", Count, Cumulative, "snmp Udp InErrors: datagrams in that could not be delivered"),
    c("udp.rcvbuf_errors", "UDP", Count, Cumulative, "snmp Udp RcvbufErrors: datagrams dropped, receive buffer full"),
    c("udp.sndbuf_errors", "UDP", Count, Cumulative, "snmp Udp SndbufErrors: datagrams not sent, send buffer full"),
    // Counters of sockets.
    c("socket.used", "Socket", Count, Gauge, "sockstat sockets used"),
    c("socket.tcp_in_use", "Socket", Count, Gauge, "sockstat TCP inuse and sockstat6 TCP6 inuse"),
    c(
        "socket.tcp_orphans",
        "Socket",
        Count,
        Gauge,
        "sockstat TCP orphan: sockets closed by their process but not yet by TCP; of all namespaces",
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
    // Listeners: instance `address:port`; other sockets with the same address (SO_REUSEPORT) are `address:port#2`, ….
    // For upstream services, the instances are addresses (`127.0.0.1:5432`) and paths of unix sockets.
    c(
        "behind.connections",
        "Behind",
        Count,
        Gauge,
        "sock_diag: connections of the server, or of its upstream services, to this address",
    ),
    c("behind.queue", "Behind", Count, Gauge, "sock_diag: connections that wait to be accepted at this address"),
    c("behind.unread", "Behind", Bytes, Gauge, "sock_diag rqueue: bytes that the upstream service has not read yet"),
    c(
        "behind.busy",
        "Behind",
        Count,
        Gauge,
        "tcp_info last_data_sent, last_data_recv: connections to this address whose last data is a request",
    ),
    c(
        "behind.data_out",
        "Behind",
        Count,
        Cumulative,
        "tcp_info data_segs_out: segments with data to this address; those of ended connections as last seen",
    ),
    c(
        "behind.data_in",
        "Behind",
        Count,
        Cumulative,
        "tcp_info data_segs_in: segments with data from this address; those of ended connections as last seen",
    ),
    c("behind.cpu_quota", "Behind", Cpus, Gauge, "CPU quotas of the control groups of the upstream service, in CPUs"),
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
    c("listen.queue", "Listener", Count, Gauge, "sock_diag rqueue: connections in the accept queue"),
    c(
        "listen.limit",
        "Listener",
        Count,
        Gauge,
        "sock_diag wqueue: limit of the accept queue, the smaller of backlog and somaxconn; the queue holds one more",
    )
    .largest(),
    c(
        "listen.drops",
        "Listener",
        Count,
        Cumulative,
        "sock_diag skmeminfo drops: connection requests dropped at this listener",
    ),
    // These counters are read only if an experiment needs them, because the kernel must describe each connection.
    c("listen.accepted", "Listener", Count, Gauge, "sock_diag inode: established connections that were accepted"),
    c("listen.waiting", "Listener", Count, Gauge, "sock_diag inode: established connections that wait to be accepted"),
    // TCP_INFO from a sample of this side's connections; the instance is empty.
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
        "tcp_info total_retrans: segments sent again, mean per connection",
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
        "tcp_info rwnd_limited over busy_time: share of time in which the peer's window stopped the sender",
    )
    .largest(),
    c(
        "connection.sndbuf_limited",
        "Connection",
        Share,
        Gauge,
        "tcp_info sndbuf_limited over busy_time: share of time in which the send buffer stopped the sender",
    )
    .largest(),
    c("connection.min_rtt", "Connection", Microseconds, Gauge, "tcp_info min_rtt: smallest round-trip time seen, mean")
        .largest(),
    c("connection.mss", "Connection", Bytes, Gauge, "tcp_info snd_mss: largest segment size, mean").largest(),
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
        "tcp_info delivery_rate: latest measured rate, mean per connection",
    )
    .largest(),
    c(
        "connection.waiting",
        "Connection",
        Count,
        Gauge,
        "tcp_info notsent_bytes: connections of the sample with bytes that TCP has not sent yet",
    )
    .largest(),
    c(
        "connection.write_full",
        "Connection",
        Count,
        Gauge,
        "sock_diag skmeminfo: connections of the sample whose send buffer is full",
    )
    .largest(),
    c("connection.ato", "Connection", Microseconds, Gauge, "tcp_info ato: timer of delayed acknowledgements, mean")
        .largest(),
    // Softnet counters: instances by CPU.
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
    // Slab caches: instances by cache name. A cache that the kernel merged with another cache of equal size has no
    // instance.
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
    // Pressure (PSI).
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
    // Control groups: the instance is the path of a group with a process of this side. Quota, periods, limits and limit
    // events come from the ancestor with the smallest quota or limit.
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
        "cgroup.memory_max_events",
        "Cgroup",
        Count,
        Cumulative,
        "memory.events max (v1: memory.failcnt): times that the memory limit was hit",
    ),
    c("cgroup.oom_kills", "Cgroup", Count, Cumulative, "memory.events oom_kill: processes killed for lack of memory"),
    c("cgroup.pids", "Cgroup", Count, Gauge, "pids.current: processes and threads").largest(),
    c("cgroup.pids_limit", "Cgroup", Count, Gauge, "pids.max: most processes and threads").largest(),
    // Counters of connection tracking.
    c("conntrack.entries", "Conntrack", Count, Gauge, "net/netfilter/nf_conntrack_count: tracked connections"),
    c("conntrack.limit", "Conntrack", Count, Gauge, "net/netfilter/nf_conntrack_max: most tracked connections"),
    // Queueing disciplines: instance `device kind handle` for the root of a device (`eth0 tbf 8001:`), and `device kind
    // handle in parent` for those below it. The counters of the root include the packets of those below it.
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
    // Limits of the client's side.
    c("ports.range", "Ports", Count, Gauge, "net/ipv4/ip_local_port_range: local ports of an address pair"),
    // Counters of the observer itself.
    c("probe.cpu", "Probe", Microseconds, Cumulative, "CPU time spent on taking samples"),
    c("probe.samples", "Probe", Count, Cumulative, "samples taken"),
    c("probe.late", "Probe", Count, Cumulative, "samples taken more than half an interval late"),
    // Media of a testbed: the instance is the medium's name.
    c("medium.bytes", "Medium", Bytes, Cumulative, "bytes on the wire, preamble, check sequence and gap included"),
    c("medium.frames", "Medium", Count, Cumulative, "frames on the wire"),
    c("medium.busy", "Medium", Microseconds, Cumulative, "time in which the wire was in use"),
    c("medium.deferrals", "Medium", Count, Cumulative, "frames that had to wait for the wire"),
    c("medium.drops", "Medium", Count, Cumulative, "frames dropped because a queue was full"),
    c("medium.lost", "Medium", Count, Cumulative, "frames that the medium lost on purpose (its loss rate)"),
    c("medium.queue", "Medium", Bytes, Gauge, "bytes that wait for the wire"),
    c("medium.rate", "Medium", BytesPerSecond, Gauge, "rate of the wire, both directions together if it is shared")
        .largest(),
    // An experiment's record server counts these itself, because no kernel file shows whether a record came from the
    // cache.
    c("record.cache_hits", "Records", Count, Cumulative, "records read from the page cache"),
    c("record.disk_reads", "Records", Count, Cumulative, "records read from the disk, in whole or in part"),
    c("record.large_reads", "Records", Count, Cumulative, "reads above 4096 bytes that got a large buffer"),
    c("record.large_refused", "Records", Count, Cumulative, "reads above 4096 bytes without a large buffer, split"),
    // The server of an experiment counts these itself.
    c("server.connections", "Server", Count, Gauge, "open connections that the server accepted"),
    c("server.threads", "Server", Count, Gauge, "threads that serve requests"),
    c("server.bytes_in", "Server", Bytes, Cumulative, "bytes that the server read from sockets"),
    c("server.bytes_out", "Server", Bytes, Cumulative, "bytes that the server wrote to sockets"),
];

/// Kinds of instances that the probe does not read. Media and reference servers export their counters themselves.
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
