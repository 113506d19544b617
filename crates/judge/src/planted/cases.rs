//! Runs with a planted bottleneck (invented counters, known verdict): at least one run for each bottleneck.

use run::{ErrorKind, Trial};

use super::Planted;
use super::planted_run::{PlantedRun, Who};

use Who::{Client, Server};

/// Makes a run over a long distance, in which each answer is many TCP windows long. Each client has its own connection
/// and receive window, so the rate grows with the number of clients.
pub(crate) fn held_by_a_window() -> PlantedRun {
    windows_up_to(1e9)
}

/// Makes a run in which the TCP window is the limit, like [`held_by_a_window`], with the given highest rate.
pub(crate) fn windows_up_to(x_max: f64) -> PlantedRun {
    PlantedRun::new(400_000.0, x_max)
        .rates(&[])
        .level(Server, "connection.rwnd_limited", "", 0.93)
        .per_s(Server, "connection.waiting", "", |p| p.n * 0.75)
        .level(Server, "connection.rtt", "", 100_000.0)
        .level(Server, "connection.min_rtt", "", 99_000.0)
        .level(Server, "connection.peer_window", "", 65_536.0)
        .level(Server, "connection.delivery_rate", "", 620_000.0)
}

/// Makes a run of a server that answers 500 requests per second, and refuses all further requests.
pub(crate) fn refuses_beyond_500() -> PlantedRun {
    refuses_beyond_500_after(500.0)
}

/// Makes a run like [`refuses_beyond_500`], but with a response time of `r1_us` microseconds without load.
pub(crate) fn refuses_beyond_500_after(r1_us: f64) -> PlantedRun {
    let refuse = |t: &mut Trial, p: &super::Point| {
        let limit = 500.0_f64.min(p.capacity / 3.0);
        let good = (limit.min(p.x) * 2.0) as u64;
        let refused = t.measured.tally.completed.saturating_sub(good);
        t.measured.tally.unexpected_status = refused;
        t.measured.tally.status.insert("2xx".into(), good);
        t.measured.tally.status.insert("5xx".into(), refused);
        t.rates.goodput = good as f64 / 2.0;
    };
    PlantedRun::new(r1_us, 60_000.0)
        .per_s(Server, "process.cpu", "srv:100", |p| p.x * 20.0)
        .per_s(Server, "thread.cpu", "srv:100/101", |p| p.x * 5.0)
        .change(refuse)
}

const fn p(id: &'static str, story: &'static str, plant: fn() -> PlantedRun) -> Planted {
    Planted { id, story, plant }
}

/// All runs with a planted (known) bottleneck, at least one for each bottleneck.
pub const PLANTED: &[Planted] = &[
    p("client-fds", "connects fail with EMFILE in the last steps", || {
        let full = |t: &mut Trial, p: &super::Point| {
            if p.n >= 32.0 {
                t.tally.attempted += 4000;
                t.tally.errors.0.insert(ErrorKind::ClientFds, 4000);
            }
        };
        PlantedRun::new(1000.0, 1e9).rates(&[]).change(full)
    }),
    p("client-ports", "one connection per request from one address: 28,232 ports are soon in TIME_WAIT", || {
        let full = |t: &mut Trial, p: &super::Point| {
            if p.n >= 32.0 {
                t.tally.attempted += 900;
                t.tally.errors.0.insert(ErrorKind::ClientPorts, 900);
            }
        };
        PlantedRun::new(1000.0, 1e9)
            .rates(&[])
            .level(Client, "ports.range", "", 28_232.0)
            .level(Client, "socket.tcp_time_wait", "", 28_230.0)
            .change(full)
    }),
    p("client-connects", "a pause, and a pool that grew to 8,000 connections for a rate that 200 carry", || {
        let storm = |t: &mut Trial, p: &super::Point| {
            if p.offered >= 0.5 * p.capacity {
                (t.tally.attempted, t.tally.connected, t.tally.connects_past_need) = (8200, 8100, 7900);
                t.rates.completed_rate = 0.1 * p.offered;
                t.latency_us.p99 = 2e6;
            }
        };
        PlantedRun::new(1000.0, 4000.0).steps(&[]).rates(&[1.0]).change(storm)
    }),
    p("client-cpu", "the generator's one thread is full, the server half idle", || {
        PlantedRun::new(100.0, 100_000.0).per_s(Client, "process.cpu", "loadline:50", |p| p.x * 9.95).per_s(
            Client,
            "thread.cpu",
            "shard0:50/51",
            |p| p.x * 9.95,
        )
    }),
    p("server-rate-limit", "500 answers a second are good, the rest are 503 and cheap", refuses_beyond_500),
    p("server-cpu-quota", "half a CPU of quota on a host of four", || {
        PlantedRun::new(1000.0, 5000.0)
            .level(Server, "cgroup.cpu_quota", "/srv", 0.5)
            .per_s(Server, "process.cpu", "srv:100", |p| p.x * 100.0)
            .per_s(Server, "thread.cpu", "srv:100/101", |p| p.x * 50.0)
            .per_s(Server, "thread.cpu", "srv:100/102", |p| p.x * 50.0)
            .per_s(Server, "cgroup.cpu_periods", "/srv", |_| 10.0)
            .per_s(Server, "cgroup.cpu_throttled_periods", "/srv", |p| (p.x / 500.0).min(9.5).floor())
    }),
    p("server-memory", "the server's host swaps", || {
        PlantedRun::new(5000.0, 800.0)
            .per_s(Server, "pressure.memory_some", "", |p| 500.0 * p.x)
            .per_s(Server, "memory.swap_out", "", |p| p.x * 2.0)
            .per_s(Server, "process.major_faults", "srv:100", |p| p.x * 3.0)
    }),
    p("server-fds", "1024 descriptors, all used, the rest waits to be accepted", || {
        PlantedRun::new(1000.0, 30_000.0)
            .per_s(Server, "process.fds", "srv:100", |p| (12.0 + p.n * 32.0).min(1024.0))
            .level(Server, "process.fd_limit", "srv:100", 1024.0)
            .per_s(Server, "listen.queue", "0.0.0.0:8080", |p| (p.n - 25.0).max(0.0) * 12.0)
            .steps(&[1, 4, 16, 64, 256])
            .rates(&[])
            .change(|t, p| t.tally.unanswered = if p.n > 31.0 { 200 } else { 0 })
    }),
    p("tcp-delayed-ack", "header and body in two writes with Nagle on: 41 ms per request", || {
        PlantedRun::new(41_000.0, 1e9)
            .shared()
            .per_s(Client, "tcp.delayed_acks", "", |p| p.x)
            .per_s(Server, "tcp.delayed_acks", "", |p| p.x)
            .nagle(1400.0)
            .rates(&[])
    }),
    p("server-cpu", "four threads on four CPUs, all full", || {
        let mut planted_run = PlantedRun::new(500.0, 20_000.0)
            .per_s(Server, "process.cpu", "srv:100", |p| p.x * 198.0)
            .per_s(Server, "process.user", "srv:100", |p| p.x * 60.0)
            .per_s(Server, "process.system", "srv:100", |p| p.x * 138.0)
            .per_s(Server, "cpu.idle", "total", |p| 4e6 - p.x * 199.0)
            .per_s(Server, "cpu.system", "total", |p| p.x * 130.0)
            .per_s(Server, "cpu.user", "total", |p| p.x * 60.0)
            .per_s(Server, "cpu.softirq", "total", |p| p.x * 9.0);
        for thread in ["srv:100/101", "srv:100/102", "srv:100/103", "srv:100/104"] {
            planted_run = planted_run.per_s(Server, "thread.cpu", thread, |p| p.x * 49.5);
        }
        planted_run
    }),
    p(
        "server-cpu",
        "a connection with a full TLS handshake for each request, and four threads that are full of them",
        || {
            let one_each = |t: &mut Trial, _: &super::Point| {
                t.measured.tally.handshakes = t.measured.tally.completed;
            };
            let mut planted_run = PlantedRun::new(1500.0, 2000.0)
                .per_s(Server, "process.cpu", "srv:100", |p| p.x * 1980.0)
                .per_s(Server, "cpu.idle", "total", |p| 4e6 - p.x * 1990.0)
                .per_s(Server, "cpu.user", "total", |p| p.x * 1700.0)
                .per_s(Server, "cpu.system", "total", |p| p.x * 200.0)
                .change(one_each);
            for thread in ["srv:100/101", "srv:100/102", "srv:100/103", "srv:100/104"] {
                planted_run = planted_run.per_s(Server, "thread.cpu", thread, |p| p.x * 495.0);
            }
            planted_run.plan(|plan| {
                plan.load.tls = Some(run::TlsPlan::default());
                plan.load.new_connections = true;
            })
        },
    ),
    p("server-single-thread", "one of four threads does all the work", || {
        PlantedRun::new(60.0, 20_000.0)
            .per_s(Server, "process.cpu", "srv:100", |p| p.x * 51.0)
            .per_s(Server, "thread.cpu", "srv:100/101", |p| p.x * 49.5)
            .per_s(Server, "thread.cpu", "srv:100/102", |p| p.x * 0.5)
            .per_s(Server, "thread.cpu", "srv:100/103", |p| p.x * 0.5)
            .per_s(Server, "thread.cpu", "srv:100/104", |p| p.x * 0.5)
            .per_s(Server, "cpu.idle", "total", |p| 4e6 - p.x * 52.0)
            .per_s(Server, "cpu.user", "total", |p| p.x * 43.0)
    }),
    p("server-interrupts", "a network card with one queue: CPU 0 handles all packets", || {
        PlantedRun::new(400.0, 5000.0)
            .per_s(Server, "cpu.softirq", "0", |p| p.x * 198.0)
            .per_s(Server, "cpu.softirq", "total", |p| p.x * 198.0)
            .per_s(Server, "cpu.idle", "total", |p| 4e6 - p.x * 207.0)
    }),
    p("server-disk", "each request is written and flushed", || {
        PlantedRun::new(2000.0, 900.0)
            .per_s(Server, "disk.busy", "vda", |p| p.x * 1080.0)
            .per_s(Server, "process.write_bytes", "srv:100", |p| p.x * 4096.0)
            .per_s(Server, "pressure.io_some", "", |p| p.x * 1000.0)
            .per_s(Server, "cpu.iowait", "total", |p| p.x * 900.0)
    }),
    p("network-medium", "one shared segment of 10 Mbit/s, as in source 0", || {
        PlantedRun::new(5113.8, 514.252)
            .steps(&[1, 2, 3, 4, 5])
            .rates(&[])
            .level(Server, "medium.rate", "ethernet10", 1.25e6)
            .per_s(Server, "medium.bytes", "ethernet10", |p| p.x * 2266.793)
            .per_s(Server, "medium.deferrals", "ethernet10", |p| p.x * 0.2)
            .per_s(Server, "connection.rtt", "", |p| p.r_us * 0.4)
    }),
    p("network-loss", "a policer drops three segments in a hundred of a high rate", || {
        let high = |p: &super::Point| if p.x >= 0.5 * p.capacity { p.x } else { 0.0 };
        PlantedRun::new(3000.0, 2000.0)
            .per_s(Server, "tcp.retrans_segs", "", move |p| high(p) * 0.07)
            .per_s(Server, "tcp.timeouts", "", move |p| high(p) * 0.01)
            .per_s(Server, "connection.retrans", "", move |p| high(p) * 0.14 / p.n)
    }),
    p("tcp-window", "64 KiB a round trip of 100 ms", held_by_a_window),
    p("accept-queue", "a backlog of 4, accepted in batches every 50 ms", || {
        let slow = |t: &mut Trial, p: &super::Point| {
            t.measured.tally.attempted = t.measured.tally.completed;
            t.measured.tally.connected = t.measured.tally.completed;
            if p.n > 5.0 {
                t.connect_us.p99 = 1_040_000.0;
                t.connect_us.max = 3_100_000.0;
            }
        };
        PlantedRun::new(50_000.0, 100.0)
            .steps(&[1, 2, 4, 8, 16, 32])
            .rates(&[0.5, 1.1])
            .per_s(Server, "tcp.passive_opens", "", |p| p.x)
            .per_s(Server, "tcp.listen_overflows", "", |p| if p.n > 5.0 { p.n } else { 0.0 })
            .per_s(Server, "tcp.listen_drops", "", |p| if p.n > 5.0 { p.n } else { 0.0 })
            .per_s(Client, "tcp.syn_retrans", "", |p| if p.n > 5.0 { p.n } else { 0.0 })
            .level(Server, "listen.queue", "0.0.0.0:8080", 5.0)
            .level(Server, "listen.limit", "0.0.0.0:8080", 4.0)
            .change(slow)
    }),
    p("server-concurrency", "four workers that sleep 20 ms per request", || {
        PlantedRun::new(20_000.0, 200.0).level(Server, "connection.receive_queue", "", 60.0)
    }),
    p("server-concurrency", "sixteen requests a connection for a server that takes eight", || {
        let eight = |t: &mut Trial, p: &super::Point| {
            let (connections, think) = ((p.n / 16.0).max(1.0) as u32, run::ThinkTime::default());
            t.intensity = run::Intensity::Closed { connections, pipeline: 16, think };
            t.stream_limit = Some(8);
        };
        let flat = PlantedRun::new(20_000.0, 200.0).steps(&[16, 32, 64, 128]).rates(&[]);
        flat.level(Server, "connection.receive_queue", "", 60.0).change(eight)
    }),
    p("not-saturated", "the rate grows to the last step", || PlantedRun::new(1000.0, 1e9).rates(&[])),
    p("unknown", "the rate goes flat, and nothing of the server can be read", || {
        PlantedRun::new(1000.0, 4000.0).no_server()
    }),
];
