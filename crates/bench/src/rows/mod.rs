//! The rows of the benchmark table. Each file contains the rows of one subject, and [`ROWS`] lists all rows.

mod arena;
mod capacity;
mod connects;
mod echo;
mod event;
mod generator;
mod growth;
mod hosts;
mod hosts_ready;
mod kept_run;
mod latency;
mod million;
mod mix;
mod probe;
mod proxy;
mod server;
mod shared;
mod speed;
mod told_apart;
mod transports;
mod waits;

use anyhow::Result;

use crate::compare::Compared;

/// Limit on the ratio of a row (loadline's figure divided by the peer's). For a row without a peer, the limit is on
/// loadline's figure.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal {
    /// The ratio must be at most this value.
    AtMost(f64),
    /// The ratio must be at least this value.
    AtLeast(f64),
}

impl Goal {
    /// Returns true if a ratio meets the goal.
    pub(crate) fn met(self, ratio: f64) -> bool {
        match self {
            Self::AtMost(limit) => ratio <= limit,
            Self::AtLeast(limit) => ratio >= limit,
        }
    }
}

/// One row of the benchmark table.
pub(crate) struct Row {
    /// ID of the row on the command line.
    pub(crate) id: &'static str,
    /// Description of the row's comparison.
    pub(crate) what: &'static str,
    /// Goal that the row must meet.
    pub(crate) goal: Goal,
    /// Goal that the row should reach in the long run.
    pub(crate) aim: Option<Goal>,
    /// Function that measures this row. The function's argument is the number of rounds.
    pub(crate) measure: fn(usize) -> Result<Compared>,
}

use Goal::{AtLeast, AtMost};

const fn row(
    id: &'static str,
    what: &'static str,
    goal: Goal,
    aim: Option<Goal>,
    measure: fn(usize) -> Result<Compared>,
) -> Row {
    Row { id, what, goal, aim, measure }
}

/// All rows, in the order in which they run.
pub(crate) const ROWS: &[Row] = &[
    row("generator-cpu", "CPU us per request of `load` over wrk's", AtMost(0.50), None, generator::cpu),
    row("generator-cpu-4096", "the same with 4,096 connections", AtMost(0.60), None, generator::cpu_4096),
    row(
        "generator-cpu-12000",
        "the same with 12,000 connections",
        AtMost(0.80),
        Some(AtMost(0.70)),
        generator::cpu_12000,
    ),
    row(
        "generator-floor",
        "CPU us per request of `load` over a bare epoll loop's in C",
        AtMost(1.0),
        None,
        speed::floor,
    ),
    row(
        "mix-cpu",
        "CPU us per request of a mix of 100 requests of 1 KiB over the same loop with one of them",
        AtMost(1.10),
        None,
        mix::cpu,
    ),
    row(
        "generator-growth",
        "growth of CPU per request from 64 to 12,000 connections over that of wrk's; curves to 100,000, hot and cold",
        AtMost(1.0),
        None,
        growth::ratio,
    ),
    row(
        "million",
        "user memory of the generator for one of a million held connections, bytes",
        AtMost(150.0),
        None,
        million::generator_memory,
    ),
    row(
        "million-server",
        "user memory of the server for one of them, bytes",
        AtMost(100.0),
        None,
        million::server_memory,
    ),
    row("million-opened", "s until a million are up", AtMost(40.0), None, million::opened),
    row(
        "million-messages",
        "messages a second on random ones of them over the 10,000 that are asked",
        AtLeast(0.99),
        None,
        million::answered,
    ),
    row("generator-threads", "rate of two threads over one's, null driver", AtLeast(1.9), None, speed::threads),
    row(
        "generator-merge",
        "s a thread from the end of a window until all is collected, 16 threads over one, null driver",
        AtMost(1.0),
        None,
        speed::merge,
    ),
    row("find-unmeasured", "share of a `find` of 10 s that measures nothing", AtMost(0.15), None, speed::unmeasured),
    row("build", "seconds of a build from nothing", AtMost(90.0), None, speed::build),
    row("generator-rate", "completed rate of `load` over wrk's", AtLeast(1.0), None, generator::rate),
    row(
        "https-cpu",
        "CPU us per request of `load` within TLS over wrk's",
        AtMost(0.80),
        Some(AtMost(0.60)),
        transports::https,
    ),
    row(
        "tls-handshakes",
        "full TLS 1.3 handshakes per CPU second of `load` over openssl s_time's",
        AtLeast(1.0),
        None,
        transports::handshakes,
    ),
    row(
        "http2-cpu",
        "CPU us per request of `load --http2` over h2load's",
        AtMost(1.0),
        Some(AtMost(0.70)),
        transports::http2,
    ),
    row(
        "http3-cpu",
        "CPU us per request of `load --http3` over that of `load --http2` without TLS",
        AtMost(3.0),
        None,
        transports::http3,
    ),
    row("http3-cpu-oha", "CPU us per request of `load --http3` over oha's", AtMost(0.80), None, transports::http3_oha),
    row("redis-cpu", "CPU us per PING of `load` over redis-benchmark's", AtMost(0.70), None, transports::redis),
    row("postgres-cpu", "CPU us per SELECT 1 of `load` over pgbench's", AtMost(0.80), None, transports::postgres),
    row(
        "start-error",
        "p99 of the intended-start error at 5,000/s, us",
        AtMost(100.0),
        Some(AtMost(50.0)),
        latency::start_error,
    ),
    row(
        "uring-p50-1",
        "p50 of one connection, io_uring driver over epoll driver",
        AtMost(1.05),
        None,
        latency::uring_p50_1,
    ),
    row("uring-p50-8", "the same of 8 connections", AtMost(1.05), None, latency::uring_p50_8),
    row("server-cpu", "CPU us per request of `serve http` over nginx's", AtMost(0.70), Some(AtMost(0.50)), server::cpu),
    row(
        "echo-64",
        "CPU us per 64-byte echo over the best of tokio, Go, socat",
        AtMost(0.75),
        Some(AtMost(0.50)),
        echo::small,
    ),
    row(
        "echo-16k",
        "CPU us per 16 KiB echo over the best of tokio, Go, socat",
        AtMost(0.75),
        Some(AtMost(0.50)),
        echo::large,
    ),
    row(
        "connects",
        "S-Clients' attempts per second against a full accept queue",
        AtLeast(60_000.0),
        Some(AtLeast(100_000.0)),
        connects::rate,
    ),
    row("connects-cpu", "CPUs that these attempts took", AtMost(1.05), None, connects::share),
    row(
        "connects-memory",
        "user memory of one of 16,000 descriptors in one process, bytes",
        AtMost(1024.0),
        None,
        connects::memory,
    ),
    row(
        "connects-httperf",
        "S-Clients' attempts per second over httperf's best",
        AtLeast(4.0),
        None,
        connects::over_httperf,
    ),
    row(
        "proxy-cpu",
        "CPU us per request of `serve proxy` over HAProxy's",
        AtMost(0.80),
        Some(AtMost(0.60)),
        proxy::cpu,
    ),
    row(
        "event-slope-epoll",
        "growth of get_next_event on epoll, 0 to 18,000 cold connections",
        AtMost(0.02),
        None,
        event::epoll_slope,
    ),
    row(
        "event-slope-uring",
        "growth of get_next_event on io_uring, 0 to 18,000 cold connections",
        AtMost(0.02),
        None,
        event::uring_slope,
    ),
    row("event-slope-poll", "the same on poll, which must grow", AtLeast(0.5), None, event::poll_slope),
    row("event-slope-select", "the same on select, which must grow", AtLeast(0.5), None, event::select_slope),
    row(
        "event-share",
        "what the event library adds to a bare epoll call of 10 events",
        AtMost(0.05),
        None,
        event::share,
    ),
    row("event-uring", "an event on io_uring over one on epoll, array of 64", AtMost(0.75), None, event::uring_event),
    row(
        "capacity-variation",
        "coefficient of variation of ten capacities of `find` in 30 s, %",
        AtMost(3.0),
        Some(AtMost(2.0)),
        capacity::variation,
    ),
    row("capacity-covers", "of those, intervals that hold the median, %", AtLeast(90.0), None, capacity::covers),
    row(
        "proof-interval",
        "half of the interval of the main elasticity of nginx in 12 s of `prove`",
        AtMost(0.10),
        Some(AtMost(0.05)),
        capacity::proof,
    ),
    row(
        "compare-same",
        "comparisons of a live server with itself that tell them apart, %",
        AtMost(10.0),
        None,
        told_apart::equal,
    ),
    row(
        "compare-5",
        "comparisons in 60 s that find 5 % more CPU per request, %",
        AtLeast(90.0),
        None,
        told_apart::by_5_percent,
    ),
    row("compare-2", "the same of 2 %, in CPU per request, %", AtLeast(80.0), None, told_apart::by_2_percent),
    row("arena-time", "s of an arena of ten servers, with their builds", AtMost(600.0), None, arena::seconds),
    row("arena-ranked", "of these ten, servers that get a rank", AtLeast(9.0), None, arena::ranked),
    row("run-size", "kB of run.json of a `find` of 30 s", AtMost(500.0), None, kept_run::size),
    row("run-reading", "CPU ms to read it", AtMost(10.0), None, kept_run::reading),
    row("run-judging", "CPU ms to judge it", AtMost(50.0), None, kept_run::judging),
    row("probe-cpu", "CPU share of the probe at 2 samples per second, %", AtMost(0.5), None, probe::share),
    row("waits-rate", "rate of nginx with sampled threads over that without", AtLeast(0.99), None, waits::throughput),
    row(
        "waits-rate-threads",
        "the same of a server with a thread per connection, without root",
        AtLeast(0.99),
        None,
        waits::throughput_of_threads,
    ),
    row("hosts-apart-0", "windows of two agents apart at no delay, us", AtMost(1000.0), None, hosts::apart_0),
    row("hosts-apart-20", "the same with one of them 20 ms away", AtMost(1000.0), None, hosts::apart_20),
    row("hosts-apart-100", "the same with one of them 100 ms away", AtMost(1000.0), None, hosts::apart_100),
    row("hosts-ready-local", "s until 12 agents begin a load, started here", AtMost(0.5), None, hosts_ready::local),
    row("hosts-ready-ssh", "the same by ssh over a connection that is up", AtMost(1.5), None, hosts_ready::ssh),
    row("hosts-ready-ssh-cold", "the same with a connection of its own each", AtMost(8.0), None, hosts_ready::ssh_cold),
    row("hosts-ready-podman", "the same by podman, in an empty container", AtMost(1.5), None, hosts_ready::podman),
    row("hosts-ready-runc", "the same by runc exec", AtMost(1.5), None, hosts_ready::runc),
    row("hosts-ready-crun", "the same by crun exec", AtMost(1.5), None, hosts_ready::crun),
    row("hosts-ready-slurm", "the same by srun, on a node", AtMost(1.0), None, hosts_ready::slurm),
    row(
        "hosts-ready-own",
        "the same by an engine of one's own (BENCH_VIA, BENCH_HOST)",
        AtMost(1.5),
        None,
        hosts_ready::own,
    ),
    row("hosts-twelve", "what 12 agents add to a run of one, s", AtMost(1.0), None, hosts::twelve),
    row("hosts-sample", "CPU of a sample by a remote observer, us", AtMost(2000.0), None, hosts::sample),
];
