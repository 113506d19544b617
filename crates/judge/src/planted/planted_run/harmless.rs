//! Made-up run without any planted cause: every counter has a harmless value.

use super::{PlantedRun, Who};

impl PlantedRun {
    /// Makes a server without any planted cause. `r1_us` is the server's response time with one client, and `x_max` its
    /// highest rate.
    pub fn new(r1_us: f64, x_max: f64) -> Self {
        let planted_run = Self {
            r1_us,
            x_max,
            steps: vec![1, 2, 4, 8, 16, 32, 64, 128],
            rates: vec![0.5, 0.9, 1.15],
            rows: Vec::new(),
            changes: Vec::new(),
            plan: |_| {},
            shared: false,
            server: true,
            url: "http://10.0.0.2:8080/".into(),
        };
        let mut harmless = planted_run.harmless();
        harmless.rows.iter_mut().for_each(|row| row.planted = false);
        harmless
    }

    fn harmless(self) -> Self {
        let both = [Who::Client, Who::Server];
        let mut planted_run = self;
        for who in both {
            let own = if who == Who::Client { 4.0 } else { 8.0 };
            planted_run = planted_run
                .level(who, "cpu.online", "", 4.0)
                .per_s(who, "cpu.idle", "total", move |p| 4e6 - p.x * (own + 3.0))
                .per_s(who, "cpu.user", "total", move |p| p.x * own * 0.375)
                .per_s(who, "cpu.system", "total", move |p| p.x * own * 0.625)
                .per_s(who, "cpu.softirq", "total", |p| p.x * 3.0)
                .per_s(who, "cpu.irq", "total", |_| 0.0)
                .per_s(who, "cpu.iowait", "total", |_| 0.0)
                .per_s(who, "tcp.out_segs", "", |p| p.x * 2.0)
                .per_s(who, "tcp.in_segs", "", |p| p.x * 2.0)
                .per_s(who, "tcp.retrans_segs", "", |_| 0.0)
                .per_s(who, "tcp.syn_retrans", "", |_| 0.0)
                .per_s(who, "tcp.delayed_acks", "", |_| 0.5)
                .per_s(who, "system.context_switches", "", |p| 100.0 + p.x)
                .per_s(who, "system.interrupts", "", |p| 250.0 + p.x)
                .per_s(who, "softirq.count", "NET_RX", |p| p.x)
                .level(who, "interface.speed", "eth0", 1.25e9)
                .per_s(who, "interface.tx_bytes", "eth0", |p| p.x * 700.0)
                .per_s(who, "interface.rx_bytes", "eth0", |p| p.x * 700.0)
                .per_s(who, "interface.tx_packets", "eth0", |p| p.x * 2.0)
                .per_s(who, "interface.rx_packets", "eth0", |p| p.x * 2.0)
                .level(who, "connection.rtt", "", 150.0)
                .level(who, "connection.min_rtt", "", 120.0)
                .level(who, "connection.peer_window", "", 65_536.0)
                .level(who, "connection.receive_queue", "", 0.0)
                .level(who, "connection.delivery_rate", "", 5e6)
                .per_s(who, "connection.sampled", "", |p| p.n.min(64.0))
                .level(who, "connection.waiting", "", 0.0)
                .level(who, "connection.write_full", "", 0.0)
                .level(who, "connection.rwnd_limited", "", 0.0)
                .level(who, "connection.sndbuf_limited", "", 0.0);
        }
        planted_run.processes().limits()
    }

    fn processes(self) -> Self {
        self.per_s(Who::Client, "process.cpu", "loadline:50", |p| p.x * 4.0)
            .per_s(Who::Client, "thread.cpu", "shard0:50/51", |p| p.x * 4.0)
            .per_s(Who::Client, "thread.run_delay", "shard0:50/51", |p| p.x * 0.1)
            .level(Who::Client, "process.cpus_allowed", "loadline:50", 4.0)
            .per_s(Who::Server, "process.cpu", "srv:100", |p| p.x * 8.0)
            .per_s(Who::Server, "process.user", "srv:100", |p| p.x * 3.0)
            .per_s(Who::Server, "process.system", "srv:100", |p| p.x * 5.0)
            .per_s(Who::Server, "thread.cpu", "srv:100/101", |p| p.x * 2.0)
            .per_s(Who::Server, "thread.cpu", "srv:100/102", |p| p.x * 2.0)
            .per_s(Who::Server, "thread.cpu", "srv:100/103", |p| p.x * 2.0)
            .per_s(Who::Server, "thread.cpu", "srv:100/104", |p| p.x * 2.0)
            .level(Who::Server, "process.cpus_allowed", "srv:100", 4.0)
            .level(Who::Server, "process.threads", "srv:100", 5.0)
    }

    fn limits(self) -> Self {
        self.level(Who::Server, "process.fds", "srv:100", 200.0)
            .level(Who::Server, "process.fd_limit", "srv:100", 20_000.0)
            .level(Who::Server, "listen.queue", "0.0.0.0:8080", 0.0)
            .level(Who::Server, "listen.limit", "0.0.0.0:8080", 4096.0)
            .per_s(Who::Server, "tcp.listen_overflows", "", |_| 0.0)
            .per_s(Who::Server, "tcp.listen_drops", "", |_| 0.0)
            .per_s(Who::Server, "tcp.passive_opens", "", |_| 0.0)
            .per_s(Who::Server, "disk.busy", "vda", |_| 1000.0)
            .per_s(Who::Server, "process.read_bytes", "srv:100", |_| 0.0)
            .per_s(Who::Server, "process.write_bytes", "srv:100", |_| 0.0)
            .per_s(Who::Server, "pressure.io_some", "", |_| 0.0)
            .per_s(Who::Server, "pressure.memory_some", "", |_| 0.0)
            .per_s(Who::Server, "memory.swap_out", "", |_| 0.0)
            .per_s(Who::Server, "tcp.memory_pressures", "", |_| 0.0)
            .per_s(Who::Server, "process.major_faults", "srv:100", |_| 0.0)
            .per_s(Who::Server, "cgroup.cpu_periods", "/srv", |_| 0.0)
            .per_s(Who::Server, "cgroup.cpu_throttled_periods", "/srv", |_| 0.0)
    }
}
