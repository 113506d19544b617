//! Rows about the load generator.

use crate::row::Goal::{AtLeast, AtMost};
use crate::row::{Row, long, row};
use crate::rows::{generator, growth, latency, million, mix, pacing, release, speed};

pub(super) const ROWS: &[Row] = &[
    row("generator-cpu", "CPU us per request of `load` over wrk's, 64 connections", AtMost(0.50), 55, generator::cpu),
    row("generator-cpu-4096", "the same with 4,096 connections", AtMost(0.60), 60, generator::cpu_4096),
    long("generator-cpu-12000", "the same with 12,000 connections", AtMost(0.80), 80, generator::cpu_12000)
        .aim(AtMost(0.70)),
    long(
        "generator-floor",
        "CPU us per request of `load` over a bare epoll loop's in C",
        AtMost(1.0),
        55,
        speed::floor,
    ),
    long(
        "mix-cpu",
        "CPU us per request of a mix of 100 requests of 1 KiB over the same loop with one of them",
        AtMost(1.10),
        70,
        mix::cpu,
    ),
    long(
        "generator-user-growth",
        "user CPU us per request at 100,000 connections over that at 64",
        AtMost(1.5),
        250,
        growth::own,
    )
    .shortened(2, 120),
    long(
        "generator-growth",
        "growth of CPU per request from 64 to 12,000 connections over that of wrk's; curves to 100,000, hot and cold",
        AtMost(1.0),
        900,
        growth::ratio,
    ),
    row(
        "million",
        "user memory of the generator for one of a million held connections, bytes",
        AtMost(150.0),
        120,
        million::generator_memory,
    ),
    row("million-server", "user memory of the server for one of them, bytes", AtMost(100.0), 1, million::server_memory),
    row("million-opened", "s until a million are up", AtMost(40.0), 1, million::opened),
    row(
        "million-messages",
        "messages a second on random ones of them over the 10,000 that are asked",
        AtLeast(0.99),
        1,
        million::answered,
    ),
    row(
        "pacing-rate",
        "rate of an open loop of 100,000/s from one thread, over the planned rate",
        AtLeast(0.999),
        50,
        pacing::rate,
    ),
    row("pacing-lag", "p99 of the delay from due to sent in that loop, us", AtMost(100.0), 1, pacing::lag),
    long("start-error", "p99 of the delay from due to sent at 5,000/s, us", AtMost(100.0), 25, latency::start_error)
        .aim(AtMost(50.0)),
    long(
        "uring-p50-1",
        "p50 of one connection, io_uring driver over epoll driver",
        AtMost(1.05),
        55,
        latency::uring_p50_1,
    )
    .shortened(3, 36),
    long("uring-p50-8", "the same of 8 connections", AtMost(1.05), 55, latency::uring_p50_8).shortened(3, 36),
    long("generator-rate", "completed rate of `load` over wrk's", AtLeast(1.0), 55, generator::rate),
    long("generator-threads", "rate of two threads over one's, null driver", AtLeast(1.9), 55, speed::threads),
    long(
        "generator-merge",
        "s a thread from the end of a window until all is collected, 16 threads over one, null driver",
        AtMost(1.0),
        55,
        speed::merge,
    ),
    long("build", "seconds of a build from nothing", AtMost(90.0), 200, speed::build),
    long(
        "release-full-cpu",
        "CPU us per request of the release (`make release`) over that of the quick build",
        AtMost(1.0),
        700,
        release::load_cpu,
    ),
    long("release-full-judging", "CPU ms of judging a kept run, the same", AtMost(1.0), 60, release::judging_cpu),
];
