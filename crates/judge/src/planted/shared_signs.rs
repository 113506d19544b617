//! Signs of bottlenecks that another program on the host may also cause. Each sign has a run in which only another
//! program causes the sign. For each sign, a function adds to the run the symptom that the bottleneck has under the
//! measured load.

use super::{PlantedRun, Who};

use Who::{Client, Server};

/// A sign of a bottleneck that another program on the host may also cause.
pub(super) struct Shared {
    pub(super) rule: &'static str,
    /// Counters, for the whole machine or network namespace, that the other program changes.
    pub(super) counters: &'static [&'static str],
    /// Description of the other program's effect on the host.
    pub(super) story: &'static str,
    /// Makes a run of a healthy server, in which another program causes the sign.
    pub(super) theirs: fn() -> PlantedRun,
    /// Adds the symptom that the bottleneck has under the measured load.
    pub(super) ours: fn(PlantedRun) -> PlantedRun,
}

/// Makes a run of a healthy server whose rate grows with the load.
pub(super) fn healthy() -> PlantedRun {
    PlantedRun::new(1000.0, 1e9).rates(&[])
}

/// Makes a run of a server whose limit is its four sleeping workers.
pub(super) fn limited() -> PlantedRun {
    PlantedRun::new(20_000.0, 200.0)
}

/// Makes a run of a server whose control group is full of cached files.
fn full_group() -> PlantedRun {
    limited().level(Server, "cgroup.memory", "/srv", 1e9).level(Server, "cgroup.memory_limit", "/srv", 1e9).per_s(
        Server,
        "cgroup.memory_max_events",
        "/srv",
        |_| 400.0,
    )
}

/// Makes a run like [`full_group`], on a host whose threads wait for memory for a fifth of the time.
fn beside_reclaim() -> PlantedRun {
    full_group().per_s(Server, "pressure.memory_some", "", |_| 2e5)
}

/// Sets the connect times of clients that had to repeat a SYN.
fn slow_connects(t: &mut run::Trial, _: &super::Point) {
    (t.connect_us.p99, t.connect_us.max) = (1_040_000.0, 3_100_000.0);
}

/// Makes a run in which the process `process` uses little of its control group's CPU quota. Another program in the
/// control group uses up the CPU quota.
fn used_up_quota(who: Who, group: &str, process: &str) -> PlantedRun {
    healthy()
        .level(who, "cgroup.cpu_quota", group, 0.5)
        .per_s(who, "cgroup.cpu_time", group, |_| 0.5e6)
        .per_s(who, "process.cpu", process, |_| 0.02e6)
        .per_s(who, "cgroup.cpu_periods", group, |_| 10.0)
        .per_s(who, "cgroup.cpu_throttled_periods", group, |_| 9.0)
}

/// Signs that another program on the host may cause.
pub(super) const SHARED: &[Shared] = &[
    Shared {
        rule: "accept-queue",
        counters: &["tcp.listen_overflows", "tcp.listen_drops", "tcp.passive_opens"],
        story: "another listener overflows, and that of the server was not read",
        theirs: || {
            healthy()
                .none(Server, "listen.queue")
                .none(Server, "listen.limit")
                .per_s(Server, "tcp.listen_overflows", "", |_| 400.0)
                .per_s(Server, "tcp.listen_drops", "", |_| 400.0)
                .per_s(Server, "tcp.passive_opens", "", |_| 400.0)
        },
        ours: |run| run.change(slow_connects),
    },
    Shared {
        rule: "accept-queue",
        counters: &["tcp.syn_retrans", "tcp.retrans_segs", "tcp.active_opens"],
        story: "another program of the generator's host connects to a host that is down, and the server's side is not read",
        theirs: || {
            healthy()
                .no_server()
                .per_s(Client, "tcp.syn_retrans", "", |_| 100.0)
                .per_s(Client, "tcp.retrans_segs", "", |_| 100.0)
                .per_s(Client, "tcp.active_opens", "", |_| 300.0)
        },
        ours: |run| run.change(slow_connects),
    },
    Shared {
        rule: "network-loss",
        counters: &["tcp.retrans_segs", "tcp.out_segs", "tcp.timeouts", "tcp.lost_retransmits"],
        story: "a backup over a bad line loses segments, and few of the load's connections do",
        theirs: || {
            limited()
                .per_s(Server, "tcp.retrans_segs", "", |_| 900.0)
                .per_s(Server, "tcp.out_segs", "", |_| 20_000.0)
                .per_s(Server, "tcp.timeouts", "", |_| 90.0)
                .per_s(Server, "tcp.lost_retransmits", "", |_| 9.0)
                .per_s(Server, "connection.retrans", "", |p| 1.0 / p.n)
        },
        ours: |run| run.per_s(Server, "connection.retrans", "", |p| if p.n > 2.0 { p.x * 0.2 / p.n } else { 0.0 }),
    },
    Shared {
        rule: "network-loss",
        counters: &["qdisc.drops", "interface.rx_drops", "interface.tx_drops", "softnet.dropped", "medium.drops"],
        story: "on loopback: a capture program drops packets, and a transfer is shaped",
        theirs: || {
            let drops = ["qdisc.drops", "interface.rx_drops", "interface.tx_drops", "softnet.dropped", "medium.drops"];
            let run = limited().shared().per_s(Server, "tcp.retrans_segs", "", |p| p.x * 0.3);
            drops.into_iter().fold(run, |run, id| run.per_s(Server, id, "lo", |_| 400.0))
        },
        ours: |run| {
            let grows = |p: &super::Point| if p.n > 2.0 { p.x * 0.3 } else { 0.0 };
            run.per_s(Server, "tcp.retrans_segs", "", grows).change(|t, _| t.latency_us.max = 240_000.0)
        },
    },
    Shared {
        rule: "network-loss",
        counters: &["tcp.syn_retrans", "tcp.active_opens"],
        story: "another program of the generator's host connects to a host that is down",
        theirs: || {
            healthy()
                .per_s(Client, "tcp.syn_retrans", "", |_| 400.0)
                .per_s(Client, "tcp.retrans_segs", "", |_| 400.0)
                .per_s(Client, "tcp.active_opens", "", |_| 100.0)
        },
        ours: |run| run.change(slow_connects),
    },
    Shared {
        rule: "network-medium",
        counters: &["interface.tx_bytes", "interface.rx_bytes"],
        story: "a backup fills the link of the server's host",
        theirs: || {
            let both = ["interface.tx_bytes", "interface.rx_bytes"];
            let full = both.into_iter().fold(limited(), |run, id| run.per_s(Server, id, "eth0", |_| 1.2e9));
            full.change(|t, _| {
                let tally = &mut t.measured.tally;
                (tally.bytes_sent, tally.bytes_received) = (69 * tally.sent, 126 * tally.completed);
            })
        },
        ours: |run| run.level(Server, "connection.rtt", "", 4000.0),
    },
    Shared {
        rule: "network-medium",
        counters: &[
            "medium.bytes",
            "medium.deferrals",
            "medium.drops",
            "interface.collisions",
            "tcp.retrans_segs",
            "cpu.idle",
        ],
        story: "hosts that are no part of the run fill a shared segment",
        theirs: || {
            let run = limited()
                .level(Server, "medium.rate", "hub", 1.25e6)
                .per_s(Server, "medium.bytes", "hub", |_| 1.0e6)
                .per_s(Server, "cpu.idle", "total", |_| 3.8e6)
                .per_s(Server, "tcp.retrans_segs", "", |_| 90.0);
            let rising = ["medium.deferrals", "medium.drops", "interface.collisions"];
            rising.into_iter().fold(run, |run, id| run.per_s(Server, id, "hub", |_| 40.0))
        },
        ours: |run| run.level(Server, "connection.rtt", "", 9000.0),
    },
    Shared {
        rule: "network-medium",
        counters: &["qdisc.backlog", "qdisc.overlimits"],
        story: "a shaper delays the packets of another program",
        theirs: || {
            limited().level(Server, "qdisc.backlog", "eth0 htb 1:", 60_000.0).per_s(
                Server,
                "qdisc.overlimits",
                "eth0 htb 1:",
                |_| 500.0,
            )
        },
        ours: |run| run.level(Server, "connection.rtt", "", 9000.0),
    },
    Shared {
        rule: "server-interrupts",
        counters: &["cpu.softirq"],
        story: "the packets of another program fill a CPU",
        theirs: || limited().per_s(Server, "cpu.softirq", "0", |_| 0.99e6),
        ours: |run| run.per_s(Server, "cpu.softirq", "0", |p| p.x / 200.0 * 0.99e6),
    },
    Shared {
        rule: "server-memory",
        counters: &["pressure.memory_some", "memory.swap_out"],
        story: "a build on the host swaps",
        theirs: || {
            limited()
                .per_s(Server, "pressure.memory_some", "", |_| 6e5)
                .per_s(Server, "memory.swap_out", "", |_| 4000.0)
                .per_s(Server, "process.major_faults", "srv:100", |_| 1.0)
        },
        ours: |run| run.per_s(Server, "process.major_faults", "srv:100", |p| p.x * 2.0),
    },
    Shared {
        rule: "server-memory",
        counters: &["pressure.memory_some", "memory.swap_out"],
        story: "a build on the host swaps, and the pages of the server's processes were not counted",
        theirs: || {
            limited().none(Server, "process.major_faults").per_s(Server, "pressure.memory_some", "", |_| 6e5).per_s(
                Server,
                "memory.swap_out",
                "",
                |_| 4000.0,
            )
        },
        ours: |run| run.per_s(Server, "process.major_faults", "srv:100", |p| p.x * 2.0),
    },
    Shared {
        rule: "server-memory",
        counters: &["tcp.memory_pressures", "tcp.abort_on_memory"],
        story: "the connections of another program use up the memory of TCP",
        theirs: || {
            limited().per_s(Server, "tcp.memory_pressures", "", |_| 40.0).per_s(
                Server,
                "tcp.abort_on_memory",
                "",
                |_| 40.0,
            )
        },
        ours: |run| run.level(Server, "connection.rwnd_limited", "", 0.4),
    },
    Shared {
        rule: "server-disk",
        counters: &["disk.busy", "disk.flushing", "pressure.io_some"],
        story: "a backup fills the disk to which the server writes its log",
        theirs: || {
            limited()
                .per_s(Server, "disk.busy", "vda", |_| 0.9e6)
                .per_s(Server, "disk.flushing", "vda", |_| 0.08e6)
                .per_s(Server, "pressure.io_some", "", |_| 0.9e6)
                .per_s(Server, "disk.write_bytes", "vda", |_| 90e6)
                .per_s(Server, "disk.read_bytes", "vda", |_| 90e6)
                .per_s(Server, "process.write_bytes", "srv:100", |p| p.x * 120.0)
                .level(Server, "process.disk_wait", "srv:100", 0.0)
        },
        ours: |run| run.level(Server, "process.disk_wait", "srv:100", 1.0),
    },
    Shared {
        rule: "tcp-delayed-ack",
        counters: &["tcp.delayed_acks", "tcp.orig_data_sent"],
        story: "a server that sleeps 40 ms, beside a program that delays acknowledgements and sends data",
        theirs: || {
            PlantedRun::new(41_000.0, 40_000.0)
                .rates(&[])
                .per_s(Client, "tcp.delayed_acks", "", |_| 400.0)
                .per_s(Server, "tcp.orig_data_sent", "", |_| 900.0)
                .level(Server, "connection.send_queue", "", 0.0)
        },
        ours: |run| run.nagle(1400.0),
    },
    Shared {
        rule: "server-cpu",
        counters: &["cpu.idle"],
        story: "a build fills the host, and the server's processes were not read",
        theirs: || {
            healthy()
                .none(Server, "process.cpu")
                .none(Server, "process.user")
                .none(Server, "process.system")
                .none(Server, "thread.cpu")
                .per_s(Server, "cpu.user", "total", |_| 3.9e6)
                .per_s(Server, "cpu.idle", "total", |_| 0.0)
        },
        ours: |run| {
            run.rates(&[0.5, 1.2]).change(|t, p| {
                if t.kind == run::TrialKind::Search && p.offered > p.capacity {
                    t.latency_us.p50 = 9e6;
                }
            })
        },
    },
    Shared {
        rule: "server-single-thread",
        counters: &["cpu.idle", "cpu.softirq"],
        story: "the packets of another program fill a CPU",
        theirs: || limited().per_s(Server, "cpu.softirq", "0", |_| 0.9e6).per_s(Server, "cpu.idle", "0", |_| 0.02e6),
        ours: |run| {
            run.none(Server, "thread.cpu").per_s(Server, "thread.cpu", "srv:100/101", |_| 0.08e6).level(
                Server,
                "thread.cpu_mask",
                "srv:100/101",
                1.0,
            )
        },
    },
    Shared {
        rule: "client-cpu",
        counters: &["cpu.idle"],
        story: "a build fills the CPUs that server and generator share",
        theirs: || {
            limited().shared().per_s(Server, "cpu.user", "total", |_| 3.9e6).per_s(Server, "cpu.idle", "total", |_| 0.0)
        },
        ours: |run| {
            run.per_s(Client, "process.cpu", "loadline:50", |_| 0.98e6).per_s(
                Client,
                "thread.cpu",
                "shard0:50/51",
                |_| 0.98e6,
            )
        },
    },
    Shared {
        rule: "client-ports",
        counters: &["socket.tcp_time_wait"],
        story: "another program leaves connections in TIME_WAIT",
        theirs: || healthy().level(Client, "socket.tcp_time_wait", "", 28_000.0),
        ours: |run| {
            run.change(|t, _| {
                t.tally.errors.0.insert(run::ErrorKind::ClientPorts, 900);
            })
        },
    },
];

/// Signs in a control group that the server or the generator shares with other programs.
pub(super) const SHARED_GROUPS: &[Shared] = &[
    Shared {
        rule: "server-cpu-quota",
        counters: &[],
        story: "another program of the server's control group uses up its quota",
        theirs: || used_up_quota(Server, "/srv", "srv:100"),
        ours: |run| run.per_s(Server, "process.cpu", "srv:100", |_| 0.48e6),
    },
    Shared {
        rule: "client-cpu",
        counters: &[],
        story: "another program of the generator's control group uses up its quota",
        theirs: || used_up_quota(Client, "/load", "loadline:50"),
        ours: |run| run.per_s(Client, "process.cpu", "loadline:50", |_| 0.48e6),
    },
    Shared {
        rule: "server-memory",
        counters: &[],
        story: "files that a backup reads fill the server's control group to its limit",
        theirs: full_group,
        ours: |run| {
            let faults = run.per_s(Server, "process.major_faults", "srv:100", |p| p.x * 2.0);
            faults.per_s(Server, "pressure.memory_some", "", |_| 3e5)
        },
    },
    Shared {
        rule: "server-memory",
        counters: &[],
        story: "files that a container reads fill it to its limit, and another container makes the host reclaim memory",
        theirs: || beside_reclaim().level(Server, "process.disk_wait", "srv:100", 0.0),
        ours: |run| run.level(Server, "process.disk_wait", "srv:100", 1.0),
    },
    Shared {
        rule: "server-memory",
        counters: &[],
        story: "files fill the container, the host reclaims memory, and the threads of the server were not read",
        theirs: beside_reclaim,
        ours: |run| run.per_s(Server, "process.major_faults", "srv:100", |p| p.x * 2.0),
    },
    Shared {
        rule: "server-memory",
        counters: &[],
        story: "the kernel kills another process of the server's control group",
        theirs: || limited().per_s(Server, "cgroup.oom_kills", "/srv", |_| 1.0),
        ours: |run| {
            run.change(|t, _| {
                t.tally.errors.0.insert(run::ErrorKind::Reset, 40);
            })
        },
    },
];

/// Pairs of a rule (the test for one bottleneck) and a counter that this rule never uses as a sign. Such a counter can
/// only exclude the bottleneck, or add a remark to the result.
pub(super) const NEVER_FOR: &[(&str, &str)] = &[
    ("not-saturated", "cpu.idle"),
    ("not-saturated", "interface.tx_bytes"),
    ("not-saturated", "interface.rx_bytes"),
    // Datagrams that do not fit into a receive buffer only rule out a loss on the way.
    ("network-loss", "udp.rcvbuf_errors"),
    ("network-loss", "udp6.rcvbuf_errors"),
    ("server-concurrency", "disk.busy"),
    ("server-concurrency", "pressure.io_some"),
];
