//! Rows about loadline's reference servers, its clients that only connect, and its event API.

use crate::row::Goal::{AtLeast, AtMost};
use crate::row::{Row, long};
use crate::rows::{connects, echo, event, proxy, server};

pub(super) const ROWS: &[Row] = &[
    long("server-cpu", "CPU us per request of `serve http` over nginx's", AtMost(0.70), 45, server::cpu)
        .aim(AtMost(0.50)),
    long("echo-64", "CPU us per 64-byte echo over the best of tokio, Go, socat", AtMost(0.75), 150, echo::small)
        .aim(AtMost(0.50)),
    long("echo-16k", "CPU us per 16 KiB echo over the best of tokio, Go, socat", AtMost(0.75), 140, echo::large)
        .aim(AtMost(0.50)),
    long(
        "connects",
        "S-Clients' attempts per second against a full accept queue",
        AtLeast(60_000.0),
        30,
        connects::rate,
    )
    .aim(AtLeast(100_000.0)),
    long("connects-cpu", "CPUs that these attempts took", AtMost(1.05), 1, connects::share),
    long(
        "connects-memory",
        "user memory of one of 16,000 descriptors in one process, bytes",
        AtMost(1024.0),
        50,
        connects::memory,
    ),
    long(
        "connects-httperf",
        "S-Clients' attempts per second over httperf's best",
        AtLeast(4.0),
        80,
        connects::over_httperf,
    ),
    long("proxy-cpu", "CPU us per request of `serve proxy` over HAProxy's", AtMost(0.80), 45, proxy::cpu)
        .aim(AtMost(0.60)),
    long(
        "event-slope-epoll",
        "growth of get_next_event on epoll, 0 to 18,000 cold connections",
        AtMost(0.02),
        120,
        event::epoll_slope,
    ),
    long(
        "event-slope-uring",
        "growth of get_next_event on io_uring, 0 to 18,000 cold connections",
        AtMost(0.02),
        1,
        event::uring_slope,
    ),
    long("event-slope-poll", "the same on poll, which must grow", AtLeast(0.5), 1, event::poll_slope),
    long("event-slope-select", "the same on select, which must grow", AtLeast(0.5), 1, event::select_slope),
    long("event-share", "what the event library adds to a bare epoll call of 10 events", AtMost(0.05), 1, event::share),
    long("event-uring", "an event on io_uring over one on epoll, array of 64", AtMost(0.75), 1, event::uring_event),
];
