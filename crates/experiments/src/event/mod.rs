//! Experiments of the paper by G. Banga, J. Mogul and P. Druschel (USENIX 1999), which the texts call source 2. The
//! experiments measure the cost of calls of an event API, and how this cost affects a proxy with many idle connections.

mod across;
mod api;
mod bench;
mod callers;
mod conclude;
mod declares;
mod figures;
mod hot;
mod proxy;
mod rate;
mod relay;
mod rounds;
mod stand;
mod sweeps;
mod values;

use super::Experiment;

/// The experiment `lab event-api`.
pub(super) const API: Experiment = Experiment {
    name: "event-api",
    help: "cost of get_next_event and declare_interest, by backend and number of cold connections (source 2)",
    page: "\
Source: G. Banga, J. Mogul, P. Druschel, A Scalable and Explicit Event Delivery Mechanism for UNIX (USENIX 1999),
figures 6 and 7.

Figure 6: `clients` clients fetch a 40 MB file through a proxy, each time on a new connection, while agents hold 750
cold connections. The proxy times its calls of get_next_event. Its receive window is about 8 KiB, so a file takes
thousands of events, and the proxy is the bottleneck. Each client has one transfer at a time, as in the paper's figure.
S-Clients are unsuitable, because they connect again during a transfer and the proxy accepts every connection. With such
a proxy, 4, 12 and 32 S-Clients had more than 1,000 concurrent transfers after two seconds, and only the descriptor
limit stopped them.

Several rounds measure each value of `array_max`. With few clients, they cover only the values that these clients can
fill, and two more. A round is rejected if a call would have blocked. Points of the paper's figure (up to 10) with too
few calls get further rounds. A point without a valid round is shown, but not used in fits and checks. Figures are
medians, because network interrupts extend some calls. All sockets use the congestion control reno. An algorithm that
paces can slow such small windows very much, which would make the web server the bottleneck.

Figure 7: 32 S-Clients (sockets that always connect, T 500 ms) fetch a 1 KB file; each file is one declaration and one
revocation.

Cost by cold connections: 32 connections always have data to read. One thread writes to each served connection (not
timed), takes events with get_next_event (timed), and reads the data (not timed). Interest is declared in `cold` further
connections, too. No call blocks. Hot rate: calls alternate between 1, 2, 4 and 8 arrivals per event. Further arrivals
go to connections without declared interest, so that the work between two calls stays equal. The system calls of epoll
are timed beside the declarations. `across` cold connections, more than a process may have descriptors, are divided
among proxies in several processes. Each process times its own calls.

Times come from the cycle counter, minus the cost of reading it. Each point has `calls` calls, or fewer if its time is
over first. The table shows the number of calls. Checks of the cost by cold connections use the mean without the highest
and the lowest twentieth, because a preempted call includes the time of other programs.

Published: the cost of a call grows linearly with array_max until there are no more clients. It changes by at most 0.005
% from 0 to 2000 cold connections. It does not grow with the hot rate. A declaration costs more than a revocation.

Checked: the cost of a call by returned events is a line. With epoll and uring, the cost does not grow with cold
connections (the 95 % interval of the slope contains zero, or the slope is below 2 %). With select and poll, it grows
visibly. The library's overhead over the system call is measured at array_max 10, on the same connections in turn. uring
is compared with epoll at array_max 64. The cost is independent of the hot rate. A declaration costs more than a
revocation.",
    toml: include_str!("../../plans/event-api.toml"),
    unset: "figures = true\nupstream_buffer = 8192",
    on_hosts: false,
    planned_s: api::planned_s,
    run: api::run,
    figures: figures::EVENT_API,
};

/// The experiment `lab proxy`.
pub(super) const PROXY: Experiment = Experiment {
    name: "proxy",
    help: "a proxy on each backend of the event API with an increasing number of cold connections (source 2)",
    page: "\
Source: the paper of `event-api`, section on the proxy's throughput with the event API and with select().

`loadline serve proxy` runs with one thread on a CPU of its own, with `loadline serve http` behind it. `connections`
keep-alive clients load it, and `cold` connections to it are silent. Each of `backends` is measured with an increasing
number of cold connections. The report shows throughput, response time, and the proxy's CPU time per request in user
mode and in the kernel.

Checked: with the most cold connections, epoll and uring have the same throughput as without any, and select and poll
have less.",
    toml: include_str!("../../plans/proxy.toml"),
    unset: "",
    on_hosts: false,
    planned_s: proxy::planned_s,
    run: proxy::run,
    figures: figures::PROXY,
};
